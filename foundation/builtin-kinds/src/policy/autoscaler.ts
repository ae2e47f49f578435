// HorizontalPodAutoscalers (v2 stored, v1 served from it) and PodDisruptionBudgets.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { asJson, fieldErrors, fieldPath, pathSegmentName } from '@fairlead/kube'
import { autoscalerBodyIn, autoscalingV1 } from './autoscaler-versions.ts'
import type { Strategy } from '../definition/strategy.ts'
import { conditionErrors, countOrPercent, invalidWith, labelSelectorErrors, nonNegative, oneOf } from '../checks.ts'
import { draftAt, ensureAt, fill, has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { metricErrors, scalingErrors } from './metric-validation.ts'

const atMostFour = { type: 'Pods', value: 4, periodSeconds: 15 }
const double = { type: 'Percent', value: 100, periodSeconds: 15 }

/** The strategy of HorizontalPodAutoscalers in both versions. */
export const autoscalerStrategy: Strategy = {
  applyDefaults(object) {
    if (object['apiVersion'] !== autoscalingV1) {
      defaultAutoscaler(object)
      return
    }
    // Like the real server, whose defaults are those of the internal version: annotations of v1 that cannot be read go.
    const body = autoscalerBodyIn('autoscaling/v2', object)
    defaultAutoscaler(body)
    const { metadata, ...rest } = autoscalerBodyIn(autoscalingV1, body)
    Object.assign(object, rest)
    for (const name of Object.keys(object.metadata)) delete object.metadata[name]
    Object.assign(object.metadata, metadata)
  },
  validate: (object) => autoscalerErrors(specOf(object)),
  validateUpdate: (object, old) =>
    autoscalerErrors(specOf(object), !namesGroup(objectAt(old, 'spec', 'scaleTargetRef'))),
  validateStatusUpdate: (object) =>
    ['currentReplicas', 'desiredReplicas'].flatMap((field) =>
      nonNegative(`status.${field}`, numberAt(object, 'status', field)),
    ),
}

function defaultAutoscaler(object: MutableJsonObject): void {
  const spec = ensureAt(object, 'spec')
  fill(spec, { minReplicas: 1 })
  if (objectsAt(spec, 'metrics').length === 0)
    spec['metrics'] = [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
    ]
  const behavior = draftAt(spec, 'behavior')
  if (behavior === undefined) return
  fill(ensureAt(behavior, 'scaleUp'), {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [atMostFour, double],
  })
  fill(ensureAt(behavior, 'scaleDown'), { selectPolicy: 'Max', policies: [double] })
}

/** Returns the spec as v2 has it. */
function specOf(object: KubeObject): JsonObject {
  return objectAt(
    object.apiVersion === autoscalingV1 ? autoscalerBodyIn('autoscaling/v2', asJson(object)) : object,
    'spec',
  )
}

/** The strategy of PodDisruptionBudgets. */
export const disruptionBudgetStrategy: Strategy = {
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  validate: (object) => budgetErrors(objectAt(object, 'spec')),
  validateUpdate: (object) => budgetErrors(objectAt(object, 'spec')),
  // Any name that fits into a path, unlike other kinds.
  validateName: (name) => pathSegmentName(name),
  validateStatusUpdate: (object) => [
    ...conditionErrors('status.conditions', objectsAt(object, 'status', 'conditions')),
    ...['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'].flatMap((field) =>
      nonNegative(`status.${field}`, numberAt(object, 'status', field)),
    ),
  ],
}

/** Reports whether a reference names an API group; `v1` and none at all do not. */
function namesGroup(reference: JsonObject): boolean {
  return stringAt(reference, 'apiVersion').includes('/')
}

/** `mayLackGroup`: the stored object has a target without an API group, so that it can still be updated. */
function autoscalerErrors(spec: JsonObject, mayLackGroup = false): FieldError[] {
  const errors: FieldError[] = []
  const min = numberAt(spec, 'minReplicas')
  const max = numberAt(spec, 'maxReplicas') ?? 0
  if (min !== undefined && min < 1)
    errors.push(fieldErrors.invalid('spec.minReplicas', min, 'must be greater than or equal to 1'))
  if (max < 1) errors.push(fieldErrors.invalid('spec.maxReplicas', max, 'must be greater than 0'))
  if (min !== undefined && max < min)
    errors.push(fieldErrors.invalid('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`'))
  const target = objectAt(spec, 'scaleTargetRef')
  for (const field of ['kind', 'name']) {
    const value = stringAt(target, field)
    if (value === '') errors.push(fieldErrors.required(`spec.scaleTargetRef.${field}`))
    else errors.push(...invalidWith(`spec.scaleTargetRef.${field}`, value, pathSegmentName(value)))
  }
  if (!mayLackGroup && !namesGroup(target)) {
    const detail = 'apiVersion must specify API group'
    errors.push(fieldErrors.invalid('spec.scaleTargetRef.apiVersion', stringAt(target, 'apiVersion'), detail))
  }
  const metrics = objectsAt(spec, 'metrics')
  errors.push(...metrics.flatMap((metric, index) => metricErrors(fieldPath('spec.metrics', index), metric)))
  if (min === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External'))
    errors.push(
      fieldErrors.forbidden(
        'spec.metrics',
        'must specify at least one Object or External metric to support scaling to zero replicas',
      ),
    )
  for (const direction of ['scaleUp', 'scaleDown'])
    if (has(objectAt(spec, 'behavior'), direction))
      errors.push(...scalingErrors(`spec.behavior.${direction}`, objectAt(spec, 'behavior', direction)))
  return errors
}

function budgetErrors(spec: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  if (has(spec, 'minAvailable') && has(spec, 'maxUnavailable')) {
    const detail = 'minAvailable and maxUnavailable cannot be both set'
    errors.push(invalidInternal('spec', 'k8s.io.api.policy.v1.PodDisruptionBudgetSpec', spec, detail))
  }
  for (const field of ['minAvailable', 'maxUnavailable']) errors.push(...countOrPercent(`spec.${field}`, spec[field]))
  errors.push(...labelSelectorErrors('spec.selector', objectAt(spec, 'selector')))
  if (!has(spec, 'unhealthyPodEvictionPolicy')) return errors
  return [
    ...errors,
    ...oneOf('spec.unhealthyPodEvictionPolicy', stringAt(spec, 'unhealthyPodEvictionPolicy'), [
      'AlwaysAllow',
      'IfHealthyBudget',
    ]),
  ]
}
