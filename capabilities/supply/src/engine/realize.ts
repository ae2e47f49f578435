// The decision pass: realizes the resources of a blueprint for one owner over the Cluster port. Each resource is
// stamped as soon as its inputs have values; independent branches run concurrently (specs/supply-chains.md §2.3). The
// controller and `fairlead supply render` run this very pass. Start with realize.
import { longLabelValue } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Blueprint, BlueprintResource, Owner, OwnerKind, Template } from '../api.ts'
import { ApplyError } from './apply-error.ts'
import type { Cluster } from './cluster.ts'
import { incompleteness } from './completion.ts'
import { verdict } from './conditions/condition.ts'
import type { Verdict } from './conditions/condition.ts'
import { cyclicResources, inputsOf } from './blueprints/graph.ts'
import type { Input } from './blueprints/graph.ts'
import { healthOf, ruleOf } from './health/health.ts'
import type { HealthInput } from './health/health.ts'
import type { RealizedResource } from './realized-resource.ts'
import { reconcileRuns } from './run-history.ts'
import { newestFirst, newestHealthyRun } from './runs/runs.ts'
import { stampContext } from './templates/context.ts'
import type { ResolvedInput } from './templates/context.ts'
import { mergeParams } from './templates/params.ts'
import { StampError, labelsFor, renderTemplate, stampLabel, stamped, withDigest } from './templates/stamp.ts'
import { chooseTemplate } from './templates/template-choice.ts'
import { outputPaths, readOutputs } from './values/output.ts'
import type { Outputs } from './values/output.ts'

/** An owner with its blueprint. */
export interface Chain {
  readonly owner: Owner
  readonly ownerKind: OwnerKind
  readonly blueprint: Blueprint
}

interface Step {
  readonly chain: Chain
  readonly resource: BlueprintResource
  readonly cluster: Cluster
}

interface TemplateStep extends Step {
  readonly template: Template
  readonly inputs: readonly ResolvedInput[]
}

/**
 * Realizes every resource of the blueprint; the result is in the order of the blueprint. Errors of one resource are
 * part of its result, with the error to retry; throws what concerns the whole pass: templates that cannot be read.
 */
export async function realize(chain: Chain, cluster: Cluster): Promise<RealizedResource[]> {
  const { resources } = chain.blueprint.spec
  const cyclic = cyclicResources(resources)
  const running = new Map<string, Promise<RealizedResource>>()
  const realized = (resource: BlueprintResource): Promise<RealizedResource> => {
    let run = running.get(resource.name)
    if (run === undefined) running.set(resource.name, (run = realizeOne({ chain, resource, cluster }, provided)))
    return run
  }
  const provided = async (input: Input, of: BlueprintResource): Promise<ResolvedInput | Verdict> => {
    const provider = resources.find(({ name }) => name === input.resource)
    if (provider === undefined) return waiting(`the blueprint has no resource ${input.resource}`, input)
    if (cyclic.has(of.name) && cyclic.has(provider.name))
      return waiting(`the resources [${[...cyclic].join(', ')}] wait for each other`, input)
    const { outputs } = gated(await realized(provider))
    return outputs === undefined ? waiting(undefined, input) : { ...input, outputs }
  }
  return Promise.all(resources.map(realized))
}

async function realizeOne(
  step: Step,
  provided: (input: Input, of: BlueprintResource) => Promise<ResolvedInput | Verdict>,
): Promise<RealizedResource> {
  const { chain, resource, cluster } = step
  const name = chain.blueprint.metadata.name ?? ''
  const choice = chooseTemplate(resource, chain.owner, name)
  if (choice.kind === 'none') return failed(step, undefined, choice.submitted)
  let template: Template | undefined
  if (choice.kind === 'template') {
    template = await cluster.template(resource.templateRef.kind, choice.name)
    if (template === undefined) {
      const reference = `${resource.templateRef.kind}/${choice.name}`
      return failed(
        step,
        undefined,
        verdict(
          'False',
          'TemplateObjectRetrievalFailure',
          `unable to get template [${reference}] for resource [${resource.name}] in supply chain [${name}]`,
        ),
      )
    }
  }
  const inputs = await Promise.all(inputsOf(resource).map((input) => provided(input, resource)))
  const pending = inputs.find((input): input is Verdict => 'status' in input)
  if (pending !== undefined)
    return { resource, template, submitted: pending, healthy: verdict('Unknown', 'NoStampedObject'), evaluated: false }
  const resolved = inputs as ResolvedInput[]
  if (template !== undefined) return realizeTemplate({ ...step, template, inputs: resolved })
  const passedThrough =
    choice.kind === 'pass-through' ? resolved.find((input) => input.name === choice.input) : undefined
  if (passedThrough !== undefined)
    return { resource, outputs: passedThrough.outputs, submitted: verdict('True', 'PassThrough'), evaluated: true }
  return failed(
    step,
    undefined,
    verdict(
      'False',
      'ResolveTemplateOptionsError',
      `resource [${resource.name}] has no input that its passThrough names`,
    ),
  )
}

async function realizeTemplate(step: TemplateStep): Promise<RealizedResource> {
  const { chain, resource, cluster, template } = step
  const { owner, ownerKind, blueprint } = chain
  const labels = labelsFor({ owner, ownerKind, blueprint, resource: resource.name, template })
  try {
    const desired = await stampedObject(step, labels)
    const isMutable = (template.spec.lifecycle ?? 'mutable') === 'mutable'
    return await (isMutable ? realizeMutable(step, desired) : realizeRun(step, desired, labels))
  } catch (error) {
    const where = `for resource [${resource.name}] for template [${template.kind}/${template.metadata.name}] in supply chain [${blueprint.metadata.name}]`
    if (error instanceof StampError)
      return failed(
        step,
        template,
        verdict('False', 'TemplateStampFailure', `unable to stamp object ${where}: ${error.message}`),
      )
    // Errors of the server are about this resource alone: the others go on, and the status says so.
    if (!(error instanceof ApplyError))
      return {
        ...failed(
          step,
          template,
          verdict('Unknown', 'TemplateRejectedByAPIServer', `unable to apply object ${where}: ${messageOf(error)}`),
        ),
        retry: error,
      }
    const operation = error.code === 'TemplateRejectedByAPIServer' ? 'apply object' : 'list objects'
    const failure = failed(
      step,
      template,
      verdict('False', error.code, `unable to ${operation} ${where}: ${error.message}`),
    )
    if (error.retry === 'denied') return { ...failure, denied: true }
    return error.retry === 'backoff' ? { ...failure, retry: error.cause ?? error } : failure
  }

  async function stampedObject({ inputs }: TemplateStep, all: Record<string, string>): Promise<KubeObject> {
    const params = mergeParams({
      template: template.spec.params,
      blueprint: blueprint.spec.params,
      resource: resource.params,
      owner: owner.spec.params,
    })
    const context: JsonObject = stampContext({ owner, params, inputs, labels: all })
    const { ytt } = template.spec
    const rendered = ytt === undefined ? renderTemplate(template.spec, context) : await cluster.renderYtt(ytt, context)
    return stamped(rendered, owner, all)
  }
}

async function realizeMutable(step: TemplateStep, desired: KubeObject): Promise<RealizedResource> {
  const { resource, template, inputs, cluster } = step
  const object = await cluster.apply(desired)
  const objectResource = await cluster.groupResourceOf(object)
  const incomplete =
    template.kind === 'ClusterDeploymentTemplate' ? incompleteness(resource.name, template.spec, object) : undefined
  const read = incomplete === undefined ? readFrom(template, object, inputs) : undefined
  const outputs = read !== undefined && 'outputs' in read ? read.outputs : undefined
  const healthy = await health(step, object, Object.keys(outputs ?? {}))
  const base = { resource, template, object, objectResource, healthy, evaluated: true }
  if (incomplete !== undefined) return { ...base, submitted: incomplete }
  if (outputs !== undefined) return { ...base, outputs, submitted: verdict('True', 'ResourceSubmissionComplete') }
  const path = read !== undefined && 'missing' in read ? read.missing.path : ''
  return { ...base, submitted: missingValue(path, healthy, `${objectResource}/${object.metadata.name}`, object) }
}

async function realizeRun(
  step: TemplateStep,
  desired: KubeObject,
  labels: Readonly<Record<string, string>>,
): Promise<RealizedResource> {
  const { resource, template, cluster } = step
  const identity = [stampLabel.resource, stampLabel.templateKind, stampLabel.templateName]
  const { current, runs, undeleted } = await reconcileRuns(cluster, withDigest(desired), {
    labels: Object.fromEntries(identity.map((label) => [label, longLabelValue(labels[label]!)])),
    retention: template.spec.retentionPolicy,
    healthOf: (object) => runHealth(step, object),
  })
  const objectResource = await cluster.groupResourceOf(current)
  const provider = newestHealthyRun(runs)
  const read = provider === undefined ? undefined : outputsOfRun(step, provider.object)
  const outputs = read !== undefined && 'outputs' in read ? read.outputs : undefined
  const healthy = await health(step, current, Object.keys(outputs ?? {}))
  const base = { resource, template, object: current, objectResource, healthy, evaluated: true, retry: undeleted }
  if (template.kind === 'ClusterTemplate')
    return { ...base, outputs: {}, submitted: verdict('True', 'ResourceSubmissionComplete') }
  if (outputs !== undefined) return { ...base, outputs, submitted: verdict('True', 'ResourceSubmissionComplete') }
  if (read !== undefined && 'incomplete' in read) return { ...base, submitted: read.incomplete }
  const [path = ''] = outputPaths(template).map(([, one]) => one)
  const newest = newestFirst(runs)[0]?.object ?? current
  return { ...base, submitted: missingValue(path, healthy, `${objectResource}/${newest.metadata.name}`, newest) }
}

/** Without a health rule, every run may provide the outputs (originals/cartographer.md §2.7). */
function runHealth(step: TemplateStep, object: KubeObject): Promise<Verdict> | Verdict {
  return ruleOf(step.template.spec).rule === undefined ? verdict('True', 'AlwaysHealthy') : health(step, object, [])
}

function outputsOfRun(
  { resource, template, inputs }: TemplateStep,
  object: KubeObject,
): { readonly outputs: Outputs } | { readonly incomplete: Verdict } | undefined {
  const incomplete =
    template.kind === 'ClusterDeploymentTemplate' ? incompleteness(resource.name, template.spec, object) : undefined
  if (incomplete !== undefined) return { incomplete }
  const read = readFrom(template, object, inputs)
  return 'outputs' in read ? read : undefined
}

function readFrom(
  template: Template,
  object: KubeObject,
  inputs: readonly ResolvedInput[],
): ReturnType<typeof readOutputs> {
  if (template.kind === 'ClusterDeploymentTemplate')
    return { outputs: inputs.find(({ kind }) => kind === 'deployment')?.outputs ?? {} }
  return readOutputs(object, outputPaths(template))
}

/** Returns the health of a stamped object; `outputs` are the names of the outputs that were read. */
async function health(
  { template, cluster }: TemplateStep,
  object: KubeObject,
  outputs: readonly string[],
): Promise<Verdict> {
  const { spelling, rule } = ruleOf(template.spec)
  const realized = { stamped: true, outputs }
  const input: HealthInput = { spelling, rule, templateKind: template.kind, object, realized, now: cluster.now }
  return healthOf(rule?.auto === undefined ? input : { ...input, defaults: await cluster.clusterHealthRules() })
}

/** Withholds the outputs of an unhealthy resource that has `gate: healthy`. */
function gated(realized: RealizedResource): Pick<RealizedResource, 'outputs'> {
  const { resource, healthy, outputs } = realized
  return resource.gate === 'healthy' && healthy !== undefined && healthy.status !== 'True' ? {} : { outputs }
}

function failed({ resource }: Step, template: Template | undefined, submitted: Verdict): RealizedResource {
  const hasRule = template !== undefined && ruleOf(template.spec).rule !== undefined
  const healthy = verdict('Unknown', hasRule ? 'NoStampedObject' : 'NoResource')
  return { resource, template, submitted, healthy, evaluated: false }
}

function waiting(cause: string | undefined, { kind, resource }: Input): Verdict {
  const message = `waiting for [${kind === 'deployment' ? 'source' : kind}] of resource [${resource}]`
  return verdict('Unknown', 'MissingValueAtPath', cause === undefined ? message : `${message}: ${cause}`)
}

function missingValue(path: string, healthy: Verdict, name: string, { metadata }: KubeObject): Verdict {
  const where = `in namespace [${metadata.namespace ?? ''}]`
  const messages = {
    Unknown: `waiting to read value [${path}] from object [${name}] ${where}`,
    True: `cannot read value [${path}] from healthy object [${name}] ${where}, contact Platform Eng`,
    False: `cannot read value [${path}] from unhealthy object [${name}] ${where}, examine object, particularly whether it is receiving proper inputs`,
  }
  return verdict('Unknown', 'MissingValueAtPath', messages[healthy.status])
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
