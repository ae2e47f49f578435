// HorizontalPodAutoscalers (v2 stored, v1 served from it) and PodDisruptionBudgets.
import type { FieldError, JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import {
  asObject,
  fieldErrors,
  fieldPath,
  isJsonArray,
  parseJson,
  pathSegmentName,
  stringifyJson,
} from '@fairlead/kube'
import { messageOfKind } from '../go-types/message-type.ts'
import type { Strategy } from '../definition/strategy.ts'
import {
  conditionErrors,
  countOrPercent,
  invalidWith,
  labelSelectorErrors,
  nonNegative,
  oneOf,
  positive,
} from '../checks.ts'
import { draftAt, ensureAt, fill, has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { metricErrors, scalingErrors } from './metric-validation.ts'
import { typedForm } from '../go-types/typed-form.ts'

const cpu = (target: JsonObject): JsonObject => ({ type: 'Resource', resource: { name: 'cpu', target } })

const atMostFour = { type: 'Pods', value: 4, periodSeconds: 15 }
const double = { type: 'Percent', value: 100, periodSeconds: 15 }

/** The strategy of HorizontalPodAutoscalers in both versions. */
export const autoscalerStrategy: Strategy = {
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fill(spec, { minReplicas: 1 })
    if (object['apiVersion'] === 'autoscaling/v1') fill(spec, { targetCPUUtilizationPercentage: 80 })
    else if (objectsAt(spec, 'metrics').length === 0)
      spec['metrics'] = [cpu({ type: 'Utilization', averageUtilization: 80 })]
    const behavior = draftAt(spec, 'behavior')
    if (behavior === undefined) return
    fill(ensureAt(behavior, 'scaleUp'), {
      stabilizationWindowSeconds: 0,
      selectPolicy: 'Max',
      policies: [atMostFour, double],
    })
    fill(ensureAt(behavior, 'scaleDown'), { selectPolicy: 'Max', policies: [double] })
  },
  validate: (object) => autoscalerErrors(objectAt(object, 'spec')),
  validateUpdate: (object, old) =>
    autoscalerErrors(objectAt(object, 'spec'), !namesGroup(objectAt(old, 'spec', 'scaleTargetRef'))),
  validateStatusUpdate: (object) =>
    ['currentReplicas', 'desiredReplicas'].flatMap((field) =>
      nonNegative(`status.${field}`, numberAt(object, 'status', field)),
    ),
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
  // The CPU target of v1 is a metric in the server.
  errors.push(
    ...positive('spec.metrics[0].resource.target.averageUtilization', numberAt(spec, 'targetCPUUtilizationPercentage')),
  )
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

const metricsAnnotation = 'autoscaling.alpha.kubernetes.io/metrics'

/** Converts an autoscaler to the other version. Values that v1 does not have are in an annotation there. */
export function convertAutoscaler(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object
  const body: MutableJsonObject = { ...(object as unknown as JsonObject), apiVersion }
  body['spec'] = apiVersion === 'autoscaling/v1' ? toV1(body) : toV2(body)
  const status = objectAt(object, 'status')
  body['status'] =
    apiVersion === 'autoscaling/v1'
      ? withoutKeys(status, ['currentMetrics', 'conditions'])
      : withoutKeys(status, ['currentCPUUtilizationPercentage'])
  const type = messageOfKind(apiVersion, 'HorizontalPodAutoscaler')
  return asObject(type === undefined ? body : typedForm(type, body).object)
}

function toV1(body: MutableJsonObject): JsonObject {
  const spec = objectAt(body, 'spec')
  const metrics = objectsAt(spec, 'metrics')
  const isCpu = (metric: JsonObject): boolean =>
    stringAt(metric, 'resource', 'name') === 'cpu' && has(objectAt(metric, 'resource', 'target'), 'averageUtilization')
  const percentage = numberAt(metrics.find(isCpu), 'resource', 'target', 'averageUtilization')
  const others = metrics.filter((metric) => !isCpu(metric))
  if (others.length > 0) annotate(body, { [metricsAnnotation]: stringifyJson(others) })
  return {
    ...withoutKeys(spec, ['metrics', 'behavior']),
    ...(percentage === undefined ? {} : { targetCPUUtilizationPercentage: percentage }),
  }
}

function toV2(body: MutableJsonObject): JsonObject {
  const spec = objectAt(body, 'spec')
  const percentage = numberAt(spec, 'targetCPUUtilizationPercentage')
  const metrics: JsonValue[] =
    percentage === undefined ? [] : [cpu({ type: 'Utilization', averageUtilization: percentage })]
  const annotation = stringAt(body, 'metadata', 'annotations', metricsAnnotation)
  if (annotation !== '') {
    metrics.push(...parseMetrics(annotation))
    annotate(body, {}, metricsAnnotation)
  }
  return { ...withoutKeys(spec, ['targetCPUUtilizationPercentage']), ...(metrics.length === 0 ? {} : { metrics }) }
}

/** Parses the annotation, which clients can write; a value that is not a list of metrics is ignored. */
function parseMetrics(text: string): readonly JsonValue[] {
  try {
    const value = parseJson(text)
    return isJsonArray(value) ? value : []
  } catch {
    return []
  }
}

function annotate(body: MutableJsonObject, added: Readonly<Record<string, string>>, removed?: string): void {
  const metadata = objectAt(body, 'metadata')
  const annotations = { ...objectAt(metadata, 'annotations'), ...added }
  body['metadata'] = {
    ...metadata,
    annotations: removed === undefined ? annotations : withoutKeys(annotations, [removed]),
  }
}

function withoutKeys(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}
