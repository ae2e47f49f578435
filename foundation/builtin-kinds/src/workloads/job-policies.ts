// Validation of a Job's policies: pod failure, pod replacement, success (pkg/apis/batch/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, goQuote, qualifiedName } from '@fairlead/kube'
import { invalidWith, nonNegative, oneOf, repeatedIndices } from '../checks.ts'
import { has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { invalidInternal } from '../go-types/internal-form.ts'

/** Validates the pod failure policy and the success policy of a Job. */
export function policyErrors(path: string, spec: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  const containers = new Set(
    ['containers', 'initContainers'].flatMap((list) =>
      objectsAt(spec, 'template', 'spec', list).map((container) => stringAt(container, 'name')),
    ),
  )
  if (has(spec, 'podFailurePolicy')) {
    const rules = objectsAt(spec, 'podFailurePolicy', 'rules')
    const field = `${path}.podFailurePolicy.rules`
    if (rules.length > 20) errors.push(fieldErrors.tooMany(field, rules.length, 20))
    for (const [index, rule] of rules.entries())
      errors.push(...failureRuleErrors(fieldPath(field, index), rule, has(spec, 'backoffLimitPerIndex'), containers))
  }
  if (has(spec, 'successPolicy')) {
    const field = `${path}.successPolicy`
    const policy = objectAt(spec, 'successPolicy')
    if (stringAt(spec, 'completionMode') !== 'Indexed')
      errors.push(
        invalidInternal(field, 'k8s.io.api.batch.v1.SuccessPolicy', policy, 'requires indexed completion mode'),
      )
    else errors.push(...successErrors(field, policy, numberAt(spec, 'completions') ?? 0))
  }
  if (has(spec, 'podReplacementPolicy')) {
    const choices = has(spec, 'podFailurePolicy') ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
    errors.push(...oneOf(`${path}.podReplacementPolicy`, stringAt(spec, 'podReplacementPolicy'), choices))
  }
  return errors
}

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']

function failureRuleErrors(
  path: string,
  rule: JsonObject,
  hasIndexLimit: boolean,
  containers: ReadonlySet<string>,
): FieldError[] {
  const action = stringAt(rule, 'action')
  const conditions = objectsAt(rule, 'onPodConditions')
  const errors: FieldError[] = []
  if (action === '') errors.push(fieldErrors.required(`${path}.action`, `valid values: ${quotedList(actions)}`))
  else if (action === 'FailIndex' && !hasIndexLimit)
    errors.push(fieldErrors.invalid(`${path}.action`, action, 'requires the backoffLimitPerIndex to be set'))
  else errors.push(...oneOf(`${path}.action`, action, actions))
  if (has(rule, 'onExitCodes'))
    errors.push(...exitCodeErrors(`${path}.onExitCodes`, objectAt(rule, 'onExitCodes'), containers))
  if (conditions.length > 20) errors.push(fieldErrors.tooMany(`${path}.onPodConditions`, conditions.length, 20))
  for (const [index, pattern] of conditions.entries()) {
    const place = fieldPath(path, 'onPodConditions', index)
    const type = stringAt(pattern, 'type')
    errors.push(
      ...invalidWith(`${place}.type`, type, qualifiedName(type)),
      ...oneOf(`${place}.status`, stringAt(pattern, 'status'), ['False', 'True', 'Unknown'], 'required'),
    )
  }
  if (has(rule, 'onExitCodes') && conditions.length > 0)
    errors.push(
      fieldErrors.invalid(path, undefined, 'specifying both OnExitCodes and OnPodConditions is not supported'),
    )
  if (!has(rule, 'onExitCodes') && conditions.length === 0)
    errors.push(fieldErrors.invalid(path, undefined, 'specifying one of OnExitCodes and OnPodConditions is required'))
  return errors
}

function exitCodeErrors(path: string, requirement: JsonObject, containers: ReadonlySet<string>): FieldError[] {
  const operator = stringAt(requirement, 'operator')
  const name = stringAt(requirement, 'containerName')
  const values = (requirement['values'] ?? []) as readonly number[]
  const errors: FieldError[] =
    operator === ''
      ? [fieldErrors.required(`${path}.operator`, `valid values: ${quotedList(['In', 'NotIn'])}`)]
      : oneOf(`${path}.operator`, operator, ['In', 'NotIn'])
  if (has(requirement, 'containerName') && !containers.has(name))
    errors.push(
      fieldErrors.invalid(
        `${path}.containerName`,
        name,
        'must be one of the container or initContainer names in the pod template',
      ),
    )
  if (values.length === 0)
    errors.push(fieldErrors.invalid(`${path}.values`, requirement['values'] ?? null, 'at least one value is required'))
  if (values.length > 255) errors.push(fieldErrors.tooMany(`${path}.values`, values.length, 255))
  const repeated = repeatedIndices(values)
  for (const [index, value] of values.entries()) {
    const place = fieldPath(path, 'values', index)
    if (operator === 'In' && value === 0)
      errors.push(fieldErrors.invalid(place, value, 'must not be 0 for the In operator'))
    if (repeated.has(index)) errors.push(fieldErrors.duplicate(place, value))
  }
  if (values.some((value, index) => index > 0 && (values[index - 1] ?? 0) > value))
    errors.push(fieldErrors.invalid(`${path}.values`, values, 'must be ordered'))
  return errors
}

function successErrors(path: string, policy: JsonObject, completions: number): FieldError[] {
  const rules = objectsAt(policy, 'rules')
  const field = `${path}.rules`
  if (rules.length === 0)
    return [fieldErrors.required(field, 'at least one rules must be specified when the successPolicy is specified')]
  const errors = rules.length > 20 ? [fieldErrors.tooMany(field, rules.length, 20)] : []
  for (const [index, rule] of rules.entries())
    errors.push(...successRuleErrors(fieldPath(field, index), rule, completions))
  return errors
}

function successRuleErrors(path: string, rule: JsonObject, completions: number): FieldError[] {
  const count = numberAt(rule, 'succeededCount')
  const hasIndexes = has(rule, 'succeededIndexes')
  const indexes = stringAt(rule, 'succeededIndexes')
  const errors: FieldError[] = []
  if (count === undefined && !hasIndexes)
    errors.push(fieldErrors.required(path, 'at least one of succeededCount or succeededIndexes must be specified'))
  if (Buffer.byteLength(indexes) > longestIndexes)
    errors.push(fieldErrors.tooLong(`${path}.succeededIndexes`, longestIndexes))
  const intervals = parseIndexes(indexes, completions)
  if (typeof intervals === 'string') {
    const detail = `error parsing succeededIndexes: ${intervals}`
    errors.push(fieldErrors.invalid(`${path}.succeededIndexes`, indexes, detail))
  }
  if (count === undefined) return errors
  errors.push(...nonNegative(`${path}.succeededCount`, count))
  const atMost = (limit: number, what: string): void => {
    if (count > limit)
      errors.push(
        fieldErrors.invalid(
          `${path}.succeededCount`,
          count,
          `must be less than or equal to ${limit} (the number of ${what})`,
        ),
      )
  }
  atMost(completions, 'specified completions')
  const total = typeof intervals === 'string' ? 0 : intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0)
  if (hasIndexes) atMost(total, 'indexes in the specified succeededIndexes field')
  return errors
}

const longestIndexes = 64 * 1024

/** The first and the last index of an interval. */
export type IndexInterval = readonly [first: number, last: number]

/** Returns the intervals of a list such as `1,3-5`, or why it is not valid. */
export function parseIndexes(text: string, completions: number): readonly IndexInterval[] | string {
  const intervals: IndexInterval[] = []
  for (const interval of text === '' ? [] : text.split(',')) {
    const limits = interval.split('-')
    if (limits.length > 2)
      return `the fragment ${goQuote(interval)} violates the requirement that an index interval can have at most two parts separated by '-'`
    for (const limit of limits) {
      if (!/^[+-]?\d+$/.test(limit)) return `cannot convert string to integer for index: ${goQuote(limit)}`
      if (Number(limit) >= completions) return `too large index: ${goQuote(limit)}`
    }
    const [first, end = first] = limits.map(Number) as [number, number?]
    if (limits.length === 2 && first >= end) return `non-increasing order, previous: ${first}, current: ${end}`
    const last = intervals.at(-1)?.[1]
    if (last !== undefined && last >= first) return `non-increasing order, previous: ${last}, current: ${first}`
    intervals.push([first, end])
  }
  return intervals
}

function quotedList(values: readonly string[]): string {
  return `[${values.map(goQuote).join(' ')}]`
}
