// One pass over the resources of a blueprint for one owner: each is stamped as soon as its inputs have values; branches that do not depend on
// each other run together (specs/supply-chains.md §2.3). Start with realize.
import { longLabelValue } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Blueprint, BlueprintResource, Owner, OwnerKind, Template } from '../api.ts'
import { incompleteness } from './completion.ts'
import { verdict } from './condition.ts'
import type { Verdict } from './condition.ts'
import { stampContext } from './templates/context.ts'
import type { ResolvedInput } from './templates/context.ts'
import { circular, inputsOf } from './graph.ts'
import type { Input } from './graph.ts'
import { healthOf, ruleOf } from './health/health.ts'
import type { HealthQuestion } from './health/health.ts'
import { outputPaths, readOutputs } from './values/output.ts'
import type { Outputs } from './values/output.ts'
import { mergeParams } from './templates/params.ts'
import type { RealizedResource } from './realized-resource.ts'
import { runOrder } from './runs/run-number.ts'
import { defaultRetention, newestFirst, providingRun, surplusRuns } from './runs/runs.ts'
import type { Run } from './runs/runs.ts'
import { StampError, fillIn, labelsFor, stampLabel, stamped, withDigest } from './templates/stamp.ts'
import { chooseTemplate } from './templates/template-choice.ts'
import { ApplyError } from './cluster.ts'
import type { Ground } from './cluster.ts'

/** Whose resources are realized, and by what. */
export interface Chain {
  readonly owner: Owner
  readonly ownerKind: OwnerKind
  readonly blueprint: Blueprint
}

interface Step {
  readonly chain: Chain
  readonly resource: BlueprintResource
  readonly ground: Ground
}

interface TemplateStep extends Step {
  readonly template: Template
  readonly inputs: readonly ResolvedInput[]
}

/** Realizes every resource; the result is in the order of the blueprint. Throws only what has nothing to do with one resource. */
export async function realize(chain: Chain, ground: Ground): Promise<RealizedResource[]> {
  const { resources } = chain.blueprint.spec
  const inCircle = circular(resources)
  const running = new Map<string, Promise<RealizedResource>>()
  const realized = (resource: BlueprintResource): Promise<RealizedResource> => {
    let run = running.get(resource.name)
    if (run === undefined) running.set(resource.name, (run = realizeOne({ chain, resource, ground }, provided)))
    return run
  }
  const provided = async (input: Input, of: BlueprintResource): Promise<ResolvedInput | Verdict> => {
    const provider = resources.find(({ name }) => name === input.resource)
    if (provider === undefined) return waiting(`${input.resource} is no resource of the blueprint`, input)
    if (inCircle.has(of.name) && inCircle.has(provider.name))
      return waiting(`the resources [${[...inCircle].join(', ')}] wait for each other`, input)
    const { outputs } = gated(await realized(provider))
    return outputs === undefined ? waiting(undefined, input) : { ...input, outputs }
  }
  return Promise.all(resources.map(realized))
}

async function realizeOne(
  step: Step,
  provided: (input: Input, of: BlueprintResource) => Promise<ResolvedInput | Verdict>,
): Promise<RealizedResource> {
  const { chain, resource, ground } = step
  const name = chain.blueprint.metadata.name ?? ''
  const choice = chooseTemplate(resource, chain.owner, name)
  if (choice.kind === 'none') return failed(step, undefined, choice.why)
  let template: Template | undefined
  if (choice.kind === 'template') {
    template = await ground.template(resource.templateRef.kind, choice.name)
    if (template === undefined) {
      const what = `${resource.templateRef.kind}/${choice.name}`
      return failed(
        step,
        undefined,
        verdict(
          'False',
          'TemplateObjectRetrievalFailure',
          `unable to get template [${what}] for resource [${resource.name}] in supply chain [${name}]`,
        ),
      )
    }
  }
  const inputs = await Promise.all(inputsOf(resource).map((input) => provided(input, resource)))
  const waits = inputs.find((input): input is Verdict => 'status' in input)
  if (waits !== undefined)
    return { resource, template, submitted: waits, healthy: verdict('Unknown', 'NoStampedObject'), evaluated: false }
  const resolved = inputs as ResolvedInput[]
  if (template !== undefined) return realizeTemplate({ ...step, template, inputs: resolved })
  const passed = choice.kind === 'pass-through' ? resolved.find((input) => input.name === choice.input) : undefined
  if (passed !== undefined)
    return { resource, outputs: passed.outputs, submitted: verdict('True', 'PassThrough'), evaluated: true }
  return failed(
    step,
    undefined,
    verdict(
      'False',
      'ResolveTemplateOptionsError',
      `resource [${resource.name}] has no input with the name of its passThrough`,
    ),
  )
}

async function realizeTemplate(step: TemplateStep): Promise<RealizedResource> {
  const { chain, resource, ground, template } = step
  const { owner, ownerKind, blueprint } = chain
  const labels = labelsFor({ owner, ownerKind, blueprint, resource: resource.name, template })
  try {
    const wanted = await stampedObject(step, labels)
    const isMutable = (template.spec.lifecycle ?? 'mutable') === 'mutable'
    return await (isMutable ? realizeMutable(step, wanted) : realizeRun(step, wanted, labels))
  } catch (error) {
    const where = `for resource [${resource.name}] for template [${template.kind}/${template.metadata.name}] in supply chain [${blueprint.metadata.name}]`
    if (error instanceof StampError)
      return failed(
        step,
        template,
        verdict('False', 'TemplateStampFailure', `unable to stamp object ${where}: ${error.message}`),
      )
    if (!(error instanceof ApplyError)) throw error
    const what = error.code === 'TemplateRejectedByAPIServer' ? 'apply object' : 'list objects'
    const failure = failed(step, template, verdict('False', error.code, `unable to ${what} ${where}: ${error.message}`))
    return error.settled ? failure : { ...failure, retry: error.cause ?? error }
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
    return stamped(ytt === undefined ? fillIn(template.spec, context) : await ground.ytt(ytt, context), owner, all)
  }
}

async function realizeMutable(step: TemplateStep, wanted: KubeObject): Promise<RealizedResource> {
  const { resource, template, inputs, ground } = step
  const object = await ground.apply(wanted)
  const objectResource = await ground.resourceOf(object)
  const incomplete =
    template.kind === 'ClusterDeploymentTemplate' ? incompleteness(resource.name, template.spec, object) : undefined
  const read = incomplete === undefined ? readFrom(template, object, inputs) : undefined
  const outputs = read !== undefined && 'outputs' in read ? read.outputs : undefined
  const healthy = await judge(step, object, Object.keys(outputs ?? {}))
  const base = { resource, template, object, objectResource, healthy, evaluated: true }
  if (incomplete !== undefined) return { ...base, submitted: incomplete }
  if (outputs !== undefined) return { ...base, outputs, submitted: verdict('True', 'ResourceSubmissionComplete') }
  const path = read !== undefined && 'missing' in read ? read.missing.path : ''
  return { ...base, submitted: missingValue(path, healthy, `${objectResource}/${object.metadata.name}`, object) }
}

interface ObservedRun extends Run {
  readonly object: KubeObject
  readonly verdict: Verdict
}

async function realizeRun(
  step: TemplateStep,
  wanted: KubeObject,
  labels: Readonly<Record<string, string>>,
): Promise<RealizedResource> {
  const { resource, template, inputs, ground } = step
  const current = await ground.ensureRun(withDigest(wanted))
  const identity = [stampLabel.resource, stampLabel.templateKind, stampLabel.templateName]
  const owned = await ground.owned(
    current,
    Object.fromEntries(identity.map((label) => [label, longLabelValue(labels[label]!)])),
  )
  const all = owned.some(({ metadata }) => metadata.uid === current.metadata.uid) ? owned : [...owned, current]
  const runs = await Promise.all(all.map((object) => observedRun(step, object)))
  for (const run of surplusRuns(runs, template.spec.retentionPolicy ?? defaultRetention)) {
    if (run.object.metadata.uid !== current.metadata.uid) await ground.discard(run.object)
  }
  const objectResource = await ground.resourceOf(current)
  const providing = providingRun(runs)
  const outputs = providing === undefined ? undefined : outputsOfRun(step, providing.object, inputs)
  const read = outputs !== undefined && 'outputs' in outputs ? outputs.outputs : undefined
  const healthy = await judge(step, current, Object.keys(read ?? {}))
  const base = { resource, template, object: current, objectResource, healthy, evaluated: true }
  if (template.kind === 'ClusterTemplate')
    return { ...base, outputs: {}, submitted: verdict('True', 'ResourceSubmissionComplete') }
  if (read !== undefined) return { ...base, outputs: read, submitted: verdict('True', 'ResourceSubmissionComplete') }
  if (outputs !== undefined && 'why' in outputs) return { ...base, submitted: outputs.why }
  const [path] = outputPaths(template).map(([, one]) => one)
  const newest = newestFirst(runs)[0]?.object ?? current
  return { ...base, submitted: missingValue(path ?? '', healthy, `${objectResource}/${newest.metadata.name}`, newest) }
}

async function observedRun(step: TemplateStep, object: KubeObject): Promise<ObservedRun> {
  const { rule } = ruleOf(step.template.spec)
  // Without a rule every run counts as healthy when it comes to outputs (originals/cartographer.md §2.7).
  const health = rule === undefined ? verdict('True', 'AlwaysHealthy') : await judge(step, object, [])
  return { name: object.metadata.name ?? '', created: runOrder(object), health: health.status, verdict: health, object }
}

function outputsOfRun(
  { resource, template }: TemplateStep,
  object: KubeObject,
  inputs: readonly ResolvedInput[],
): { readonly outputs: Outputs } | { readonly why: Verdict } | undefined {
  const incomplete =
    template.kind === 'ClusterDeploymentTemplate' ? incompleteness(resource.name, template.spec, object) : undefined
  if (incomplete !== undefined) return { why: incomplete }
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

/** The health of an object; `outputs` are the names of those that were read. */
async function judge(
  { template, ground }: TemplateStep,
  object: KubeObject,
  outputs: readonly string[],
): Promise<Verdict> {
  const { spelling, rule } = ruleOf(template.spec)
  const realized = { stamped: true, outputs }
  const question: HealthQuestion = { spelling, rule, templateKind: template.kind, object, realized, now: ground.now }
  return healthOf(rule?.auto === undefined ? question : { ...question, defaults: await ground.healthDefaults() })
}

/** With `gate: healthy` outputs flow on only while the resource is healthy. */
function gated(realized: RealizedResource): Pick<RealizedResource, 'outputs'> {
  const { resource, healthy, outputs } = realized
  return resource.gate === 'healthy' && healthy !== undefined && healthy.status !== 'True' ? {} : { outputs }
}

function failed({ resource }: Step, template: Template | undefined, submitted: Verdict): RealizedResource {
  const hasRule = template !== undefined && ruleOf(template.spec).rule !== undefined
  const healthy = verdict('Unknown', hasRule ? 'NoStampedObject' : 'NoResource')
  return { resource, template, submitted, healthy, evaluated: false }
}

function waiting(why: string | undefined, { kind, resource }: Input): Verdict {
  const what = `waiting for [${kind === 'deployment' ? 'source' : kind}] of resource [${resource}]`
  return verdict('Unknown', 'MissingValueAtPath', why === undefined ? what : `${what}: ${why}`)
}

function missingValue(path: string, healthy: Verdict, name: string, { metadata }: KubeObject): Verdict {
  const where = `in namespace [${metadata.namespace ?? ''}]`
  const texts = {
    Unknown: `waiting to read value [${path}] from object [${name}] ${where}`,
    True: `cannot read value [${path}] from healthy object [${name}] ${where}, contact Platform Eng`,
    False: `cannot read value [${path}] from unhealthy object [${name}] ${where}, examine object, particularly whether it is receiving proper inputs`,
  }
  return verdict('Unknown', 'MissingValueAtPath', texts[healthy.status])
}
