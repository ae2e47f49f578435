// One resource whose inputs have values: stamps its object, reads its outputs, evaluates its health. Start with
// realizeTemplate.
import { isTerminating, longLabelValue, parseApiVersion } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Template } from '../api.ts'
import { ApplyError } from './apply-error.ts'
import { incompleteness } from './completion.ts'
import { verdict } from './conditions/condition.ts'
import type { Verdict } from './conditions/condition.ts'
import { ruleOf } from './health/health.ts'
import type { RealizedResource } from './realized-resource.ts'
import { reconcileRuns } from './run-history.ts'
import { newestHealthyRun, submittedFromRuns } from './runs/runs.ts'
import { stampedHealth } from './stamped-health.ts'
import type { TemplateStep } from './step.ts'
import { stampContext } from './templates/context.ts'
import type { ResolvedInput } from './templates/context.ts'
import { mergeParams } from './templates/params.ts'
import { StampError, labelsFor, renderTemplate, stampLabel, stamped, withDigest } from './templates/stamp.ts'
import { withEarlierObject } from './unstamped.ts'
import { outputPaths, readOutputs } from './values/output.ts'

/** Realizes one resource. Its errors are part of the result. */
export async function realizeTemplate(step: TemplateStep): Promise<RealizedResource> {
  const { chain, resource, cluster, template } = step
  const { owner, ownerKind, blueprint } = chain
  const labels = labelsFor({ owner, ownerKind, blueprint, resource: resource.name, template })
  try {
    const desired = await stampedObject(step, labels)
    const isMutable = (template.spec.lifecycle ?? 'mutable') === 'mutable'
    return await (isMutable ? realizeMutable(step, desired) : realizeRun(step, desired, labels))
  } catch (error) {
    const where = `for resource [${resource.name}] for template [${template.kind}/${template.metadata.name}] in supply chain [${blueprint.metadata.name}]`
    const { submitted, ...retry } = failureOf(error, where)
    return { ...(await withEarlierObject({ resource, template, submitted }, cluster)), ...retry }
  }
}

/** Errors of the server are about one resource alone: the others go on, and the status says so. */
function failureOf(error: unknown, where: string): Pick<RealizedResource, 'submitted' | 'retry' | 'denied'> {
  if (error instanceof StampError) {
    const message = `unable to stamp object ${where}: ${error.message}`
    if (error.isTransient) return { submitted: verdict('Unknown', 'TemplateStampFailure', message), retry: error }
    return { submitted: verdict('False', 'TemplateStampFailure', message) }
  }
  if (!(error instanceof ApplyError)) {
    const message = `unable to apply object ${where}: ${messageOf(error)}`
    return { submitted: verdict('Unknown', 'TemplateRejectedByAPIServer', message), retry: error }
  }
  const operation = error.code === 'TemplateRejectedByAPIServer' ? 'apply object' : 'list objects'
  const submitted = verdict('False', error.code, `unable to ${operation} ${where}: ${error.message}`)
  if (error.retry === 'denied') return { submitted, denied: true }
  return error.retry === 'backoff' ? { submitted, retry: error.cause ?? error } : { submitted }
}

async function stampedObject(
  { chain: { owner, blueprint }, resource, template, inputs, cluster }: TemplateStep,
  labels: Record<string, string>,
): Promise<KubeObject> {
  const params = mergeParams({
    template: template.spec.params,
    blueprint: blueprint.spec.params,
    resource: resource.params,
    owner: owner.spec.params,
  })
  const context: JsonObject = stampContext({ owner, params, inputs, labels })
  const { ytt } = template.spec
  const rendered = ytt === undefined ? renderTemplate(template.spec, context) : await cluster.renderYtt(ytt, context)
  return stamped(rendered, owner, labels)
}

async function realizeMutable(step: TemplateStep, desired: KubeObject): Promise<RealizedResource> {
  const { resource, template, inputs, cluster } = step
  claim(step, desired)
  const object = await cluster.apply(desired)
  const objectResource = await cluster.groupResourceOf(object)
  const incomplete = incompletenessOf(step, object)
  const read = incomplete === undefined ? readFrom(template, object, inputs) : undefined
  const outputs = read !== undefined && 'outputs' in read ? read.outputs : undefined
  const health = await stampedHealth(template, cluster, object, Object.keys(outputs ?? {}))
  const base = { resource, template, object, objectResource, ...health, stamped: true }
  if (incomplete !== undefined) return { ...base, submitted: incomplete }
  if (outputs !== undefined) return { ...base, outputs, submitted: verdict('True', 'ResourceSubmissionComplete') }
  const path = read !== undefined && 'missing' in read ? read.missing.path : ''
  return { ...base, submitted: missingValue(path, health.healthy, objectResource, object) }
}

/** Throws StampError when another resource stamped the object in this pass: their values would flip. */
function claim({ resource, stampedBy }: TemplateStep, { apiVersion, kind, metadata }: KubeObject): void {
  if (!metadata.name) return
  const id = `${parseApiVersion(apiVersion).group}/${kind}/${metadata.name}`
  const other = stampedBy.get(id) ?? resource.name
  stampedBy.set(id, other)
  if (other !== resource.name)
    throw new StampError(`resource [${other}] stamps ${kind} [${metadata.name}], too; name one of them differently`)
}

async function realizeRun(
  step: TemplateStep,
  desired: KubeObject,
  labels: Readonly<Record<string, string>>,
): Promise<RealizedResource> {
  const { resource, template, inputs, cluster } = step
  const identity = [stampLabel.resource, stampLabel.templateKind, stampLabel.templateName]
  const { current, runs, undeleted } = await reconcileRuns(cluster, withDigest(desired), {
    labels: Object.fromEntries(identity.map((label) => [label, longLabelValue(labels[label]!)])),
    retention: template.spec.retentionPolicy,
    healthOf: (object) => runHealth(step, object),
  })
  const objectResource = await cluster.groupResourceOf(current)
  const provider = newestHealthyRun(runs)?.object
  const incomplete = provider === undefined ? undefined : incompletenessOf(step, provider)
  const read = provider === undefined || incomplete !== undefined ? undefined : readFrom(template, provider, inputs)
  const outputs = read !== undefined && 'outputs' in read ? read.outputs : undefined
  const health = await stampedHealth(template, cluster, current, Object.keys(outputs ?? {}))
  const base = { resource, template, object: current, objectResource, ...health, stamped: true, retry: undeleted }
  if (template.kind === 'ClusterTemplate')
    return { ...base, outputs: {}, submitted: verdict('True', 'ResourceSubmissionComplete') }
  if (incomplete !== undefined) return { ...base, submitted: incomplete }
  if (provider === undefined || read === undefined || 'outputs' in read)
    return { ...base, outputs, submitted: submittedFromRuns(runs) }
  // Without a rule every run may provide the outputs, so that it has none yet means waiting.
  const { healthy } = await stampedHealth(template, cluster, provider, [])
  return { ...base, submitted: missingValue(read.missing.path, healthy, objectResource, provider) }
}

/** Without a health rule, every run may provide the outputs (originals/cartographer.md §2.7). */
async function runHealth({ template, cluster }: TemplateStep, object: KubeObject): Promise<Verdict> {
  if (ruleOf(template.spec).rule === undefined && !isTerminating(object)) return verdict('True', 'AlwaysHealthy')
  return (await stampedHealth(template, cluster, object, [])).healthy
}

function incompletenessOf({ resource, template }: TemplateStep, object: KubeObject): Verdict | undefined {
  return template.kind === 'ClusterDeploymentTemplate'
    ? incompleteness(resource.name, template.spec, object)
    : undefined
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

function missingValue(path: string, healthy: Verdict, resource: string, { metadata }: KubeObject): Verdict {
  // Offline, objects with generateName have no name.
  const [name, where] = [
    `${resource}/${metadata.name ?? metadata.generateName}`,
    `in namespace [${metadata.namespace ?? ''}]`,
  ]
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
