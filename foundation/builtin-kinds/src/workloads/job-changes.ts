// Validation of updates of a Job and of its status (pkg/apis/batch/validation, v1.35).
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, jsonEqual } from '@fairlead/kube'
import { immutable, invalidStruct, nonNegative } from '../checks.ts'
import { flagAt, has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { parseIndexes } from './job-policies.ts'
import type { IndexInterval } from './job-policies.ts'
import { internalPodTemplate } from '../pods/pod-spec-difference.ts'

/** Validates that the immutable fields of a Job are unchanged. */
export function jobChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  return [
    ...completionChangeErrors(spec, old),
    ...immutable('spec.selector', spec['selector'], old['selector']),
    ...templateChangeErrors(spec, old),
    ...immutable('spec.completionMode', spec['completionMode'], old['completionMode']),
    ...immutablePolicy('podFailurePolicy', 'PodFailurePolicy', spec, old),
    ...['backoffLimitPerIndex', 'managedBy'].flatMap((field) => immutable(`spec.${field}`, spec[field], old[field])),
    ...immutablePolicy('successPolicy', 'SuccessPolicy', spec, old),
  ]
}

/** Validates that a policy is unchanged; it is shown in its internal form. */
function immutablePolicy(field: string, type: string, spec: JsonObject, old: JsonObject): FieldError[] {
  const errors = immutable(`spec.${field}`, spec[field], old[field])
  const isSet = has(spec, field)
  return errors.map((error) =>
    isSet
      ? invalidInternal(error.field, `k8s.io.api.batch.v1.${type}`, objectAt(spec, field), 'field is immutable')
      : error,
  )
}

/** Validates changes of completions, which are allowed for an indexed Job when parallelism changes alike. */
function completionChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const [completions, before] = [numberAt(spec, 'completions'), numberAt(old, 'completions')]
  if (stringAt(spec, 'completionMode') !== 'Indexed')
    return immutable('spec.completions', spec['completions'], old['completions'])
  if (completions === before || completions === undefined) return []
  return completions === numberAt(spec, 'parallelism')
    ? []
    : [fieldErrors.invalid('spec.completions', completions, 'can only be modified in tandem with spec.parallelism')]
}

/** Validates changes of the template: a suspended Job's scheduling directives are mutable. */
function templateChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const { template } = spec
  if (!flagAt(old, 'suspend'))
    return jsonEqual(template ?? null, old['template'] ?? null) ? [] : [invalidTemplate(objectAt(spec, 'template'))]
  const fixed = (value: JsonObject): JsonObject => {
    const pod = objectAt(value, 'template', 'spec')
    const {
      nodeSelector: _selector,
      tolerations: _tolerations,
      schedulingGates: _gates,
      affinity: _affinity,
      ...rest
    } = pod
    const { nodeAffinity: _nodes, ...affinity } = objectAt(pod, 'affinity')
    return { ...rest, affinity }
  }
  return jsonEqual(fixed(spec), fixed(old)) ? [] : [invalidTemplate(objectAt(spec, 'template'))]
}

function invalidTemplate(template: JsonObject): FieldError {
  return invalidStruct('spec.template', internalPodTemplate(template), 'field is immutable')
}

/** Validates an update of the status of a Job. */
export function jobStatusErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const [status, before] = [objectAt(object, 'status'), objectAt(old, 'status')]
  return [
    ...['active', 'succeeded', 'failed', 'ready', 'terminating'].flatMap((field) =>
      nonNegative(`status.${field}`, numberAt(status, field)),
    ),
    ...uncountedPodErrors(objectAt(status, 'uncountedTerminatedPods')),
    ...finishedErrors(status),
    ...indexErrors(objectAt(object, 'spec'), status),
    ...successErrors(status),
    ...statusChangeErrors(status, before, objectAt(object, 'spec')),
  ]
}

function isTrue(status: JsonObject, type: string): boolean {
  return objectsAt(status, 'conditions').some(
    (condition) => condition['type'] === type && condition['status'] === 'True',
  )
}

function conditionError(detail: string): FieldError {
  return fieldErrors.invalid('status.conditions', undefined, detail)
}

/** Each terminated pod that the counters lack is named once. */
function uncountedPodErrors(uncounted: JsonObject): FieldError[] {
  const known = new Set<string>()
  return ['succeeded', 'failed'].flatMap((list) =>
    stringsAt(uncounted, list).flatMap((uid, index) => {
      const field = fieldPath('status.uncountedTerminatedPods', list, index)
      if (uid === '') return [fieldErrors.invalid(field, uid, 'must not be empty')]
      if (known.has(uid)) return [fieldErrors.duplicate(field, uid)]
      known.add(uid)
      return []
    }),
  )
}

/** Validates what the conditions of a finished Job say about the rest of its status. */
function finishedErrors(status: JsonObject): FieldError[] {
  const [complete, failed] = [isTrue(status, 'Complete'), isTrue(status, 'Failed')]
  const isFinished = complete || failed
  const active = numberAt(status, 'active') ?? 0
  const errors: FieldError[] = []
  if (complete && failed) errors.push(conditionError('cannot set Complete=True and Failed=true conditions'))
  if (complete && isTrue(status, 'FailureTarget'))
    errors.push(conditionError('cannot set Complete=True and FailureTarget=true conditions'))
  const time = (detail: string): FieldError =>
    fieldErrors.invalid('status.completionTime', status['completionTime'], detail)
  if (has(status, 'completionTime') && !complete)
    errors.push(time('cannot set completionTime when there is no Complete=True condition'))
  if (!has(status, 'completionTime') && complete)
    errors.push(fieldErrors.required('status.completionTime', 'completionTime is required for Complete jobs'))
  if (Date.parse(stringAt(status, 'completionTime')) < Date.parse(stringAt(status, 'startTime')))
    errors.push(time('must be equal to or after `startTime`'))
  if (failed && !isTrue(status, 'FailureTarget'))
    errors.push(conditionError('cannot set Failed=True condition without the FailureTarget=true condition'))
  if (complete && !isTrue(status, 'SuccessCriteriaMet'))
    errors.push(conditionError('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'))
  if (isFinished && active > 0)
    errors.push(fieldErrors.invalid('status.active', active, 'active>0 is invalid for finished job'))
  if (isFinished && !has(status, 'startTime'))
    errors.push(fieldErrors.required('status.startTime', 'startTime is required for finished job'))
  const uncounted = objectAt(status, 'uncountedTerminatedPods')
  if (isFinished && ['succeeded', 'failed'].some((list) => stringsAt(uncounted, list).length > 0)) {
    const [field, type] = ['status.uncountedTerminatedPods', 'k8s.io.api.batch.v1.UncountedTerminatedPods']
    errors.push(invalidInternal(field, type, uncounted, 'must be empty for finished job'))
  }
  const ready = numberAt(status, 'ready') ?? 0
  if (ready > active) errors.push(fieldErrors.invalid('status.ready', ready, 'cannot set more ready pods than active'))
  return errors
}

/** Validates the completed and the failed indexes: only an indexed Job has them, and none is in both lists. */
function indexErrors(spec: JsonObject, status: JsonObject): FieldError[] {
  const completions = numberAt(spec, 'completions') ?? 0
  const errors: FieldError[] = []
  const parsed = (field: string): readonly IndexInterval[] => {
    const text = stringAt(status, field)
    const intervals = parseIndexes(text, completions)
    if (typeof intervals !== 'string') return intervals
    errors.push(fieldErrors.invalid(`status.${field}`, text, `error parsing ${field}: ${intervals}`))
    return []
  }
  const completed = parsed('completedIndexes')
  if (stringAt(status, 'completedIndexes') !== '' && stringAt(spec, 'completionMode') !== 'Indexed') {
    const detail = 'cannot set non-empty completedIndexes when non-indexed completion mode'
    errors.push(fieldErrors.invalid('status.completedIndexes', stringAt(status, 'completedIndexes'), detail))
  }
  if (!has(status, 'failedIndexes')) return errors
  const invalid = (detail: string): FieldError =>
    fieldErrors.invalid('status.failedIndexes', stringAt(status, 'failedIndexes'), detail)
  if (!has(spec, 'backoffLimitPerIndex'))
    return [...errors, invalid('cannot set non-null failedIndexes when backoffLimitPerIndex is null')]
  const common = parsed('failedIndexes').flatMap(([first, last]) =>
    completed.flatMap(([start, end]) => (start <= last && first <= end ? [Math.max(first, start)] : [])),
  )
  return common.length === 0
    ? errors
    : [...errors, invalid(`failedIndexes and completedIndexes overlap at index: ${Math.min(...common)}`)]
}

function successErrors(status: JsonObject): FieldError[] {
  if (!isTrue(status, 'SuccessCriteriaMet')) return []
  return ['Failed', 'FailureTarget']
    .filter((type) => isTrue(status, type))
    .map((type) => conditionError(`cannot set SuccessCriteriaMet=True and ${type}=true conditions`))
}

/** Validates the change of a status: what is final stays, and counters only rise. */
function statusChangeErrors(status: JsonObject, before: JsonObject, spec: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (isTrue(before, type) && !isTrue(status, type))
      errors.push(conditionError(`cannot disable the terminal ${type}=True condition`))
  for (const counter of ['failed', 'succeeded']) {
    const [now, then] = [numberAt(status, counter) ?? 0, numberAt(before, counter) ?? 0]
    if (now < then) errors.push(fieldErrors.invalid(`status.${counter}`, now, `cannot decrease the ${counter} counter`))
  }
  if (has(before, 'completionTime') && has(status, 'completionTime') && isTrue(status, 'Complete'))
    errors.push(...immutable('status.completionTime', status['completionTime'], before['completionTime']))
  if (has(before, 'startTime') && !flagAt(spec, 'suspend') && status['startTime'] !== before['startTime'])
    errors.push(fieldErrors.required('status.startTime', 'startTime cannot be removed for unsuspended job'))
  if (isTrue(before, 'SuccessCriteriaMet') && !isTrue(status, 'SuccessCriteriaMet'))
    errors.push(conditionError('cannot disable the SuccessCriteriaMet=True condition'))
  return errors
}
