// Validation of an autoscaler's metrics and scaling behavior (pkg/apis/autoscaling/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, parseQuantity, pathSegmentName } from '@fairlead/kube'
import { invalidWith, labelName, oneOf } from '../checks.ts'
import { containerResourceNameErrors } from '../pods/resource-validation.ts'
import { has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'

const sourceFields: Readonly<Record<string, string>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
}

/** The order of metric sources; only the first one is validated. */
const sources = ['object', 'external', 'pods', 'resource', 'containerResource']

/** Validates one entry of `spec.metrics`. */
export function metricErrors(path: string, metric: JsonObject): FieldError[] {
  const type = stringAt(metric, 'type')
  const errors = type === '' ? [fieldErrors.required(`${path}.type`, 'must specify a metric source type')] : []
  const unsupported = oneOf(`${path}.type`, type, Object.keys(sourceFields))
  errors.push(...unsupported)
  const given = sources.filter((source) => has(metric, source))
  const [first] = given
  if (first !== undefined) errors.push(...sourceErrors(`${path}.${first}`, first, objectAt(metric, first)))
  const expected = Object.hasOwn(sourceFields, type) ? (sourceFields[type] ?? '') : ''
  if (expected === '') errors.push(...unsupported)
  else if (!has(metric, expected))
    errors.push(fieldErrors.required(`${path}.${expected}`, 'must populate information for the given metric source'))
  if (given.length === 1) return errors
  const others = given.filter((source) => source !== expected)
  return [
    ...errors,
    ...others.map((source) => fieldErrors.forbidden(`${path}.${source}`, 'must populate the given metric source only')),
  ]
}

function sourceErrors(path: string, kind: string, source: JsonObject): FieldError[] {
  const target = objectAt(source, 'target')
  const hasValue = has(target, 'value')
  const hasAverage = has(target, 'averageValue')
  const hasUtilization = has(target, 'averageUtilization')
  const targetErrors = targetFieldErrors(`${path}.target`, target)
  const missing = (field: string, detail: string): FieldError[] => [
    fieldErrors.required(`${path}.target.${field}`, detail),
  ]
  switch (kind) {
    case 'object':
      return [
        ...referenceErrors(`${path}.describedObject`, objectAt(source, 'describedObject')),
        ...metricNameErrors(`${path}.metric.name`, stringAt(source, 'metric', 'name')),
        ...targetErrors,
        ...(hasValue || hasAverage ? [] : missing('averageValue', 'must set either a target value or averageValue')),
      ]
    case 'external':
      return [
        ...metricNameErrors(`${path}.metric.name`, stringAt(source, 'metric', 'name')),
        ...targetErrors,
        ...(hasValue || hasAverage
          ? []
          : missing('averageValue', 'must set either a target value for metric or a per-pod target')),
        ...(hasValue && hasAverage
          ? [
              fieldErrors.forbidden(
                `${path}.target.value`,
                'may not set both a target value for metric and a per-pod target',
              ),
            ]
          : []),
      ]
    case 'pods':
      return [
        ...metricNameErrors(`${path}.metric.name`, stringAt(source, 'metric', 'name')),
        ...targetErrors,
        ...(hasAverage ? [] : missing('averageValue', 'must specify a positive target averageValue')),
      ]
    default:
      return [
        ...(stringAt(source, 'name') === ''
          ? [fieldErrors.required(`${path}.name`, 'must specify a resource name')]
          : kind === 'containerResource'
            ? containerResourceNameErrors(`${path}.name`, stringAt(source, 'name'))
            : []),
        ...(kind === 'containerResource' ? containerErrors(`${path}.container`, stringAt(source, 'container')) : []),
        ...targetErrors,
        ...(hasUtilization || hasAverage
          ? []
          : missing('averageUtilization', 'must set either a target raw value or a target utilization')),
        ...(hasUtilization && hasAverage
          ? [
              fieldErrors.forbidden(
                `${path}.target.averageValue`,
                'may not set both a target raw value and a target utilization',
              ),
            ]
          : []),
      ]
  }
}

function containerErrors(field: string, name: string): FieldError[] {
  return name === '' ? [fieldErrors.required(field, 'must specify a container')] : labelName(field, name)
}

function referenceErrors(path: string, reference: JsonObject): FieldError[] {
  return ['kind', 'name'].flatMap((field) => {
    const value = stringAt(reference, field)
    if (value === '') return [fieldErrors.required(`${path}.${field}`)]
    return invalidWith(`${path}.${field}`, value, pathSegmentName(value))
  })
}

function metricNameErrors(field: string, name: string): FieldError[] {
  if (name === '') return [fieldErrors.required(field, 'must specify a metric name')]
  return invalidWith(field, name, pathSegmentName(name))
}

function targetFieldErrors(path: string, target: JsonObject): FieldError[] {
  const type = stringAt(target, 'type')
  const errors = type === '' ? [fieldErrors.required(`${path}.type`, 'must specify a metric target type')] : []
  if (!['Utilization', 'Value', 'AverageValue'].includes(type))
    errors.push(fieldErrors.invalid(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue'))
  for (const field of ['value', 'averageValue']) {
    const amount = stringAt(target, field)
    if (has(target, field) && parseQuantity(amount).nanos <= 0n)
      errors.push(fieldErrors.invalid(`${path}.${field}`, amount, 'must be positive'))
  }
  const utilization = numberAt(target, 'averageUtilization')
  if (utilization !== undefined && utilization < 1)
    errors.push(fieldErrors.invalid(`${path}.averageUtilization`, utilization, 'must be greater than 0'))
  return errors
}

/** Validates `behavior.scaleUp` or `behavior.scaleDown`. */
export function scalingErrors(path: string, rules: JsonObject): FieldError[] {
  const window = numberAt(rules, 'stabilizationWindowSeconds')
  const policies = objectsAt(rules, 'policies')
  const errors: FieldError[] = []
  if (window !== undefined && window < 0)
    errors.push(
      fieldErrors.invalid(`${path}.stabilizationWindowSeconds`, window, 'must be greater than or equal to zero'),
    )
  if (window !== undefined && window > 3600)
    errors.push(fieldErrors.invalid(`${path}.stabilizationWindowSeconds`, window, 'must be less than or equal to 3600'))
  if (has(rules, 'selectPolicy'))
    errors.push(...oneOf(`${path}.selectPolicy`, stringAt(rules, 'selectPolicy'), ['Disabled', 'Max', 'Min']))
  if (policies.length === 0) errors.push(fieldErrors.required(`${path}.policies`, 'must specify at least one Policy'))
  for (const [index, policy] of policies.entries()) {
    const place = fieldPath(path, 'policies', index)
    const [value, period] = [numberAt(policy, 'value') ?? 0, numberAt(policy, 'periodSeconds') ?? 0]
    errors.push(...oneOf(`${place}.type`, stringAt(policy, 'type'), ['Percent', 'Pods']))
    if (value <= 0) errors.push(fieldErrors.invalid(`${place}.value`, value, 'must be greater than zero'))
    if (period <= 0) errors.push(fieldErrors.invalid(`${place}.periodSeconds`, period, 'must be greater than zero'))
    if (period > 1800)
      errors.push(fieldErrors.invalid(`${place}.periodSeconds`, period, 'must be less than or equal to 1800'))
  }
  const tolerance = stringAt(rules, 'tolerance')
  if (tolerance !== '' && parseQuantity(tolerance).nanos < 0n)
    errors.push(fieldErrors.invalid(`${path}.tolerance`, tolerance, 'must be greater than or equal to 0'))
  return errors
}
