// The completion of a deployment (originals/cartographer.md §2.8): pairs of fields that must be equal, or a field that
// must have a value.
import { asJson, isJsonObject, jsonEqual } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { TemplateSpec } from '../api.ts'
import { verdict } from './conditions/condition.ts'
import type { Verdict } from './conditions/condition.ts'
import { lookup } from './values/path.ts'
import type { LookupResult } from './values/path.ts'
import { formatValue } from './values/value-format.ts'

/**
 * Returns why the deployment of a resource is incomplete; undefined when it is complete or the template has no
 * criteria.
 */
export function incompleteness(resource: string, spec: TemplateSpec, object: KubeObject): Verdict | undefined {
  const value = asJson(object)
  for (const match of spec.observedMatches ?? []) {
    const problem = mismatch(match, value)
    if (problem !== undefined) return notMet(resource, problem)
  }
  return spec.observedCompletion === undefined ? undefined : unfinished(resource, spec.observedCompletion, value)
}

function mismatch(
  { input, output }: { readonly input: string; readonly output: string },
  object: JsonObject,
): string | undefined {
  const [expected, actual] = [lookup(input, object), lookup(output, object)]
  if (expected.kind !== 'value') return `could not find value on input [${input}]: ${reasonOf(input, expected)}`
  if (actual.kind !== 'value') return `could not find value on output [${output}]: ${reasonOf(output, actual)}`
  if (jsonEqual(expected.value, actual.value)) return undefined
  return `input [${input}] and output [${output}] do not match: ${formatValue(expected.value)} != ${formatValue(actual.value)}`
}

function unfinished(
  resource: string,
  { succeeded, failed }: NonNullable<TemplateSpec['observedCompletion']>,
  object: JsonObject,
): Verdict | undefined {
  const { generation } = object['metadata'] as JsonObject
  const status = object['status']
  const observed = isJsonObject(status) ? status['observedGeneration'] : undefined
  if (generation === undefined) return notMet(resource, 'metadata.generation is missing')
  if (observed === undefined) return notMet(resource, 'status.observedGeneration is not set yet')
  if (observed !== generation)
    return notMet(
      resource,
      `status.observedGeneration: ${formatValue(observed)} does not equal metadata.generation: ${formatValue(generation)}`,
    )
  if (failed !== undefined && valueAt(failed.key, object) === failed.value) {
    return verdict(
      'False',
      'FailedConditionMet',
      `resource [${resource}] failed condition met: deployment failure condition [${failed.key}] was: ${failed.value}`,
    )
  }
  const actual = valueAt(succeeded.key, object)
  if (actual === succeeded.value) return undefined
  return notMet(
    resource,
    actual === undefined
      ? `failed to evaluate succeededCondition.Key [${succeeded.key}]: jsonpath returned empty list: ${succeeded.key}`
      : `deployment success condition [${succeeded.key}] was: ${actual}, expected: ${succeeded.value}`,
  )
}

function notMet(resource: string, problem: string): Verdict {
  return verdict('Unknown', 'ConditionNotMet', `resource [${resource}] condition not met: ${problem}`)
}

function valueAt(path: string, object: JsonObject): string | undefined {
  const found = lookup(path, object)
  return found.kind === 'value' ? formatValue(found.value) : undefined
}

function reasonOf(path: string, found: Exclude<LookupResult, { kind: 'value' }>): string {
  return found.kind === 'absent' ? `jsonpath returned empty list: ${path}` : found.message
}
