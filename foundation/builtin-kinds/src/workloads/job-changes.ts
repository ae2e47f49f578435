// Validation of updates of a Job and of its status (pkg/apis/batch/validation, v1.35).
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, jsonEqual } from '@fairlead/kube'
import { immutable, invalidStruct, nonNegative } from '../checks.ts'
import { flagAt, has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
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
  const is = (of: JsonObject, type: string): boolean =>
    objectsAt(of, 'conditions').some((condition) => condition['type'] === type && condition['status'] === 'True')
  const errors = ['active', 'succeeded', 'failed', 'ready', 'terminating'].flatMap((field) =>
    nonNegative(`status.${field}`, numberAt(status, field)),
  )
  const conditions = (detail: string): number =>
    errors.push(fieldErrors.invalid('status.conditions', undefined, detail))
  const [complete, failed] = [is(status, 'Complete'), is(status, 'Failed')]
  if (complete && failed) conditions('cannot set Complete=True and Failed=true conditions')
  if (complete && is(status, 'FailureTarget')) conditions('cannot set Complete=True and FailureTarget=true conditions')
  if (has(status, 'completionTime') && !complete)
    errors.push(
      fieldErrors.invalid(
        'status.completionTime',
        status['completionTime'],
        'cannot set completionTime when there is no Complete=True condition',
      ),
    )
  if (!has(status, 'completionTime') && complete)
    errors.push(fieldErrors.required('status.completionTime', 'completionTime is required for Complete jobs'))
  if (has(status, 'startTime') && has(status, 'completionTime')) {
    if (Date.parse(stringAt(status, 'completionTime')) < Date.parse(stringAt(status, 'startTime')))
      errors.push(
        fieldErrors.invalid('status.completionTime', status['completionTime'], 'must be equal to or after `startTime`'),
      )
  }
  if (failed && !is(status, 'FailureTarget'))
    conditions('cannot set Failed=True condition without the FailureTarget=true condition')
  if (complete && !is(status, 'SuccessCriteriaMet'))
    conditions('cannot set Complete=True condition without the SuccessCriteriaMet=true condition')
  const active = numberAt(status, 'active') ?? 0
  if (active > 0 && (complete || failed))
    errors.push(fieldErrors.invalid('status.active', active, 'active>0 is invalid for finished job'))
  if (!has(status, 'startTime') && (complete || failed))
    errors.push(fieldErrors.required('status.startTime', 'startTime is required for finished job'))
  if (has(status, 'ready') && (numberAt(status, 'ready') ?? 0) > active)
    errors.push(
      fieldErrors.invalid('status.ready', numberAt(status, 'ready'), 'cannot set more ready pods than active'),
    )
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (is(before, type) && !is(status, type)) conditions(`cannot disable the terminal ${type}=True condition`)
  const isIndexed = stringAt(object, 'spec', 'completionMode') === 'Indexed'
  for (const counter of isIndexed ? ['failed'] : ['failed', 'succeeded']) {
    const [now, then] = [numberAt(status, counter) ?? 0, numberAt(before, counter) ?? 0]
    if (now < then) errors.push(fieldErrors.invalid(`status.${counter}`, now, `cannot decrease the ${counter} counter`))
  }
  return errors
}
