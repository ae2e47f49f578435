// When a deployment is done (originals/cartographer.md §2.8): by pairs of values that must be equal, or by a field that says so.
import { asJson, isJsonObject, jsonEqual } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { TemplateSpec } from '../api.ts'
import { verdict } from './condition.ts'
import type { Verdict } from './condition.ts'
import { lookup } from './values/path.ts'
import type { LookupResult } from './values/path.ts'
import { formatValue } from './values/value-format.ts'

/** Why the deployment of a resource is not done; undefined when it is, or when the template has no criteria. */
export function incompleteness(resource: string, spec: TemplateSpec, object: KubeObject): Verdict | undefined {
  const value = asJson(object)
  for (const match of spec.observedMatches ?? []) {
    const why = mismatch(match, value)
    if (why !== undefined) return notMet(resource, why)
  }
  return spec.observedCompletion === undefined ? undefined : unfinished(resource, spec.observedCompletion, value)
}

function mismatch(
  { input, output }: { readonly input: string; readonly output: string },
  object: JsonObject,
): string | undefined {
  const [wanted, done] = [lookup(input, object), lookup(output, object)]
  if (wanted.kind !== 'value') return `could not find value on input [${input}]: ${reasonOf(input, wanted)}`
  if (done.kind !== 'value') return `could not find value on output [${output}]: ${reasonOf(output, done)}`
  if (jsonEqual(wanted.value, done.value)) return undefined
  return `input [${input}] and output [${output}] do not match: ${formatValue(wanted.value)} != ${formatValue(done.value)}`
}

function unfinished(
  resource: string,
  { succeeded, failed }: NonNullable<TemplateSpec['observedCompletion']>,
  object: JsonObject,
): Verdict | undefined {
  const { generation } = object['metadata'] as JsonObject
  const status = object['status']
  const observed = isJsonObject(status) ? status['observedGeneration'] : undefined
  if (generation === undefined) return notMet(resource, 'metadata.generation is not there')
  if (observed === undefined) return notMet(resource, 'status.observedGeneration is not there yet')
  if (observed !== generation)
    return notMet(
      resource,
      `status.observedGeneration: ${formatValue(observed)} does not equal metadata.generation: ${formatValue(generation)}`,
    )
  if (failed !== undefined && textAt(failed.key, object) === failed.value) {
    return verdict(
      'False',
      'FailedConditionMet',
      `resource [${resource}] failed condition met: deployment failure condition [${failed.key}] was: ${failed.value}`,
    )
  }
  const came = textAt(succeeded.key, object)
  if (came === succeeded.value) return undefined
  return notMet(
    resource,
    came === undefined
      ? `failed to evaluate succeededCondition.Key [${succeeded.key}]: jsonpath returned empty list: ${succeeded.key}`
      : `deployment success condition [${succeeded.key}] was: ${came}, expected: ${succeeded.value}`,
  )
}

function notMet(resource: string, why: string): Verdict {
  return verdict('Unknown', 'ConditionNotMet', `resource [${resource}] condition not met: ${why}`)
}

function textAt(path: string, object: JsonObject): string | undefined {
  const found = lookup(path, object)
  return found.kind === 'value' ? formatValue(found.value) : undefined
}

function reasonOf(path: string, found: Exclude<LookupResult, { kind: 'value' }>): string {
  return found.kind === 'absent' ? `jsonpath returned empty list: ${path}` : found.message
}
