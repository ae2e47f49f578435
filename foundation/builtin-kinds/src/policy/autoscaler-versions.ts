// The versions of HorizontalPodAutoscalers. v1 has no metrics but the CPU target, no behavior and no conditions: they
// are annotations there, in the JSON of v1 or of the internal version (pkg/apis/autoscaling/v1/conversion.go, v1.35).
import { asObject, isJsonArray, isJsonObject, parseJson, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { messageOfKind } from '../go-types/message-type.ts'
import { typedForm } from '../go-types/typed-form.ts'

/** The older version. */
export const autoscalingV1 = 'autoscaling/v1'

const prefix = 'autoscaling.alpha.kubernetes.io/'
const annotationNames = ['behavior', 'conditions', 'current-metrics', 'metrics'] as const

/** Converts an autoscaler to the other version. */
export function convertAutoscaler(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object
  const body = autoscalerBodyIn(apiVersion, object as unknown as JsonObject)
  const type = messageOfKind(apiVersion, 'HorizontalPodAutoscaler')
  return asObject(type === undefined ? body : typedForm(type, body).object)
}

/** Returns the body of an autoscaler in the other version, without zero fields. */
export function autoscalerBodyIn(apiVersion: string, object: JsonObject): MutableJsonObject {
  return apiVersion === autoscalingV1 ? bodyInV1(object) : bodyInV2(object)
}

function bodyInV1(object: JsonObject): MutableJsonObject {
  const { metrics: _metrics, behavior, ...spec } = objectAt(object, 'spec')
  const { currentMetrics: _current, conditions: _conditions, ...status } = objectAt(object, 'status')
  const metrics = objectsAt(object, 'spec', 'metrics')
  const current = objectsAt(object, 'status', 'currentMetrics')
  const conditions = objectsAt(object, 'status', 'conditions')
  const others = metrics.filter((metric) => !isCpuUtilization(metric))
  const percentage = numberAt(metrics.find(isCpuUtilization), 'resource', 'target', 'averageUtilization')
  const used = current.find(({ type, resource }) => type === 'Resource' && stringAt(resource, 'name') === 'cpu')
  const usedPercentage = numberAt(used, 'resource', 'current', 'averageUtilization')
  const added: MutableJsonObject = {}
  if (isJsonObject(behavior)) added[`${prefix}behavior`] = stringifyJson(internalBehavior(behavior))
  if (conditions.length > 0) added[`${prefix}conditions`] = stringifyJson(conditions.map(conditionInOrder))
  if (current.length > 0)
    added[`${prefix}current-metrics`] = stringifyJson(current.map((metric) => metricInV1(metric, 'current')))
  if (others.length > 0) added[`${prefix}metrics`] = stringifyJson(others.map((metric) => metricInV1(metric, 'target')))
  return {
    ...object,
    apiVersion: autoscalingV1,
    metadata: withAnnotations(object, { ...ownAnnotations(object), ...added }),
    spec: { ...spec, ...(percentage === undefined ? {} : { targetCPUUtilizationPercentage: percentage }) },
    ...(object['status'] === undefined
      ? {}
      : {
          status: {
            ...status,
            ...(usedPercentage === undefined ? {} : { currentCPUUtilizationPercentage: usedPercentage }),
          },
        }),
  }
}

function bodyInV2(object: JsonObject): MutableJsonObject {
  const { targetCPUUtilizationPercentage: percentage, ...spec } = objectAt(object, 'spec')
  const { currentCPUUtilizationPercentage: used, ...status } = objectAt(object, 'status')
  const annotated = (name: (typeof annotationNames)[number]): JsonValue | undefined =>
    parsed(stringAt(object, 'metadata', 'annotations', `${prefix}${name}`))
  const list = (name: (typeof annotationNames)[number]): readonly JsonObject[] => {
    const value = annotated(name)
    return isJsonArray(value) ? value.filter((item) => isJsonObject(item)) : []
  }
  const metrics = list('metrics').map((metric) => metricInV2(metric, 'target'))
  if (percentage !== undefined && percentage !== null)
    metrics.push(cpuMetric('target', { type: 'Utilization', averageUtilization: percentage }))
  const current = list('current-metrics').map((metric) => metricInV2(metric, 'current'))
  if (current.length === 0 && used !== undefined && used !== null)
    current.push(cpuMetric('current', { averageUtilization: used, averageValue: '0' }))
  const conditions = list('conditions')
  const behavior = annotated('behavior')
  return {
    ...object,
    apiVersion: 'autoscaling/v2',
    metadata: withAnnotations(object, ownAnnotations(object)),
    spec: {
      ...spec,
      ...(metrics.length === 0 ? {} : { metrics }),
      ...(isJsonObject(behavior) ? { behavior: behaviorInV2(behavior) } : {}),
    },
    ...(object['status'] === undefined
      ? {}
      : {
          status: {
            ...status,
            ...(current.length === 0 ? {} : { currentMetrics: current }),
            ...(conditions.length === 0 ? {} : { conditions }),
          },
        }),
  }
}

function isCpuUtilization(metric: JsonObject): boolean {
  return (
    metric['type'] === 'Resource' &&
    stringAt(metric, 'resource', 'name') === 'cpu' &&
    has(objectAt(metric, 'resource', 'target'), 'averageUtilization')
  )
}

function cpuMetric(what: 'target' | 'current', value: JsonObject): JsonObject {
  return { type: 'Resource', resource: { name: 'cpu', [what]: value } }
}

/** Parses an annotation, which clients can write, too; what is not JSON is ignored. */
function parsed(text: string): JsonValue | undefined {
  try {
    return text === '' ? undefined : parseJson(text)
  } catch {
    return undefined
  }
}

/** Returns the annotations that both versions have. */
function ownAnnotations(object: JsonObject): JsonObject {
  const names = new Set(annotationNames.map((name) => `${prefix}${name}`))
  return Object.fromEntries(
    Object.entries(objectAt(object, 'metadata', 'annotations')).filter(([name]) => !names.has(name)),
  )
}

function withAnnotations(object: JsonObject, annotations: JsonObject): JsonObject {
  const { annotations: _annotations, ...metadata } = objectAt(object, 'metadata')
  return Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations }
}

/** Returns the fields that have a value, in the given order. */
function ordered(fields: readonly (readonly [name: string, value: JsonValue | undefined])[]): JsonObject {
  return Object.fromEntries(
    fields.flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, value] as const])),
  )
}

function conditionInOrder({ type, status, lastTransitionTime, reason, message }: JsonObject): JsonObject {
  return ordered([
    ['type', type],
    ['status', status],
    ['lastTransitionTime', lastTransitionTime],
    ['reason', reason],
    ['message', message],
  ])
}

const sourceFields = ['object', 'pods', 'resource', 'containerResource', 'external'] as const

/** Converts a metric, or what is measured, to v1, where the fields of its value are beside its name. */
function metricInV1(metric: JsonObject, what: 'target' | 'current'): JsonObject {
  const source = sourceFields.find((name) => has(metric, name))
  if (source === undefined) return { type: metric['type'] ?? '' }
  const value = objectAt(metric, source, what)
  const body = objectAt(metric, source)
  const name = objectAt(body, 'metric')['name']
  const selector = objectAt(body, 'metric')['selector']
  const at = (field: string): string => `${what}${field}`
  const { kind, name: target, apiVersion } = objectAt(body, 'describedObject')
  const average = what === 'current' ? (value['averageValue'] ?? '0') : value['averageValue']
  const fields: Record<(typeof sourceFields)[number], JsonObject> = {
    object: ordered([
      [
        'target',
        ordered([
          ['kind', kind],
          ['name', target],
          ['apiVersion', apiVersion],
        ]),
      ],
      ['metricName', name],
      [at('Value'), value['value'] ?? '0'],
      ['selector', selector],
      ['averageValue', value['averageValue']],
    ]),
    pods: ordered([
      ['metricName', name],
      [at('AverageValue'), value['averageValue'] ?? '0'],
      ['selector', selector],
    ]),
    resource: ordered([
      ['name', body['name']],
      [at('AverageUtilization'), value['averageUtilization']],
      [at('AverageValue'), average],
    ]),
    containerResource: ordered([
      ['name', body['name']],
      [at('AverageUtilization'), value['averageUtilization']],
      [at('AverageValue'), average],
      ['container', body['container']],
    ]),
    external: ordered([
      ['metricName', name],
      ['metricSelector', selector],
      [at('Value'), what === 'current' ? (value['value'] ?? '0') : value['value']],
      [at('AverageValue'), value['averageValue']],
    ]),
  }
  return { type: metric['type'] ?? '', [source]: fields[source] }
}

/** Converts a metric of v1, or what is measured, back. */
function metricInV2(metric: JsonObject, what: 'target' | 'current'): JsonObject {
  const source = sourceFields.find((name) => has(metric, name))
  if (source === undefined) return { type: metric['type'] ?? '' }
  const body = objectAt(metric, source)
  const value = ordered([
    ['value', body[`${what}Value`]],
    ['averageValue', body[`${what}AverageValue`] ?? (source === 'object' ? body['averageValue'] : undefined)],
    ['averageUtilization', body[`${what}AverageUtilization`]],
  ])
  const type = has(value, 'averageUtilization') ? 'Utilization' : has(value, 'averageValue') ? 'AverageValue' : 'Value'
  const measured = what === 'current' ? value : { type, ...value }
  const named = ordered([
    ['name', body['metricName']],
    ['selector', body[source === 'external' ? 'metricSelector' : 'selector']],
  ])
  const isResource = source === 'resource' || source === 'containerResource'
  const converted = ordered([
    ['describedObject', source === 'object' ? (body['target'] ?? {}) : undefined],
    ['name', isResource ? body['name'] : undefined],
    ['metric', isResource ? undefined : named],
    [what, measured],
    ['container', source === 'containerResource' ? body['container'] : undefined],
  ])
  return { type: metric['type'] ?? '', [source]: converted }
}

/** Returns the behavior as the internal version writes it. */
function internalBehavior(behavior: JsonObject): JsonObject {
  const rules = (direction: string): JsonValue => {
    if (!has(behavior, direction)) return null
    const given = objectAt(behavior, direction)
    return {
      StabilizationWindowSeconds: given['stabilizationWindowSeconds'] ?? null,
      SelectPolicy: given['selectPolicy'] ?? null,
      Policies: objectsAt(given, 'policies').map(({ type = '', value = 0, periodSeconds = 0 }) => ({
        Type: type,
        Value: value,
        PeriodSeconds: periodSeconds,
      })),
      Tolerance: given['tolerance'] ?? null,
    }
  }
  return { ScaleUp: rules('scaleUp'), ScaleDown: rules('scaleDown') }
}

function behaviorInV2(behavior: JsonObject): JsonObject {
  const rules = (direction: string): JsonValue | undefined => {
    if (!has(behavior, direction)) return undefined
    const given = objectAt(behavior, direction)
    return ordered([
      ['stabilizationWindowSeconds', given['StabilizationWindowSeconds']],
      ['selectPolicy', given['SelectPolicy']],
      [
        'policies',
        isJsonArray(given['Policies'])
          ? objectsAt(given, 'Policies').map((policy) => ({
              type: policy['Type'] ?? '',
              value: policy['Value'] ?? 0,
              periodSeconds: policy['PeriodSeconds'] ?? 0,
            }))
          : undefined,
      ],
      ['tolerance', given['Tolerance']],
    ])
  }
  return ordered([
    ['scaleUp', rules('ScaleUp')],
    ['scaleDown', rules('ScaleDown')],
  ])
}
