// Validation of ResourceQuotas and LimitRanges (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { compareQuantities, fieldErrors, fieldPath, parseQuantity, qualifiedName } from '@fairlead/kube'
import { invalidWith } from '../checks.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { has, mapAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import {
  quantityErrors,
  containerResourceNameErrors,
  isExtendedResource,
  isHugePages,
  isQuotaResource,
  resourceNameErrors,
} from '../pods/resource-validation.ts'

/** Validates a map of a quota's quantities. */
export function quotaQuantityErrors(field: string, amounts: Readonly<Record<string, string>>): FieldError[] {
  return Object.entries(amounts).flatMap(([name, amount]) => {
    const path = fieldPath(field, { key: name })
    const errors = resourceNameErrors(path, name)
    if (!name.includes('/') && !isQuotaResource(name))
      errors.push(fieldErrors.invalid(path, name, 'must be a standard resource for quota'))
    return [...errors, ...quantityErrors(path, name, amount)]
  })
}

const podScopes = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity']
const scopes = [...podScopes, 'PriorityClass', 'VolumeAttributesClass']
const computeResources = new Set(
  'cpu memory ephemeral-storage requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage pods'.split(
    ' ',
  ),
)

/** Reports whether a quota with the scope may limit the resource; quotas of BestEffort pods count only pods. */
function isValidScope(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods'
  if (scope === 'VolumeAttributesClass') return /storage|persistentvolumeclaims/.test(resource)
  return !scopes.includes(scope) || computeResources.has(resource)
}

/** Validates the spec of a ResourceQuota. */
export function quotaSpecErrors(spec: JsonObject): FieldError[] {
  const hard = mapAt(spec, 'hard')
  const names = Object.keys(hard).filter(isQuotaResource).toSorted()
  const given = stringsAt(spec, 'scopes')
  const errors = quotaQuantityErrors('spec.hard', hard)
  const wrong = (detail: string): number => errors.push(fieldErrors.invalid('spec.scopes', [...given], detail))
  for (const scope of given) {
    if (!scopes.includes(scope)) wrong('unsupported scope')
    for (const name of names) if (!isValidScope(scope, name)) wrong('unsupported scope applied to resource')
  }
  for (const pair of [
    ['BestEffort', 'NotBestEffort'],
    ['Terminating', 'NotTerminating'],
  ])
    if (pair.every((scope) => given.includes(scope))) wrong('conflicting scopes')
  return [...errors, ...scopeSelectorErrors(objectAt(spec, 'scopeSelector'), names)]
}

function scopeSelectorErrors(selector: JsonObject, names: readonly string[]): FieldError[] {
  const path = 'spec.scopeSelector.matchExpressions'
  return objectsAt(selector, 'matchExpressions').flatMap((requirement) => {
    const scope = stringAt(requirement, 'scopeName')
    const operator = stringAt(requirement, 'operator')
    const values = stringsAt(requirement, 'values')
    const errors: FieldError[] = []
    if (!scopes.includes(scope)) errors.push(fieldErrors.invalid(`${path}.scopeName`, scope, 'unsupported scope'))
    for (const name of names)
      if (!isValidScope(scope, name))
        errors.push(
          invalidInternal(path, 'k8s.io.api.core.v1.ScopeSelector', selector, 'unsupported scope applied to resource'),
        )
    if (podScopes.includes(scope) && operator !== 'Exists')
      errors.push(
        fieldErrors.invalid(
          `${path}.operator`,
          operator,
          "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
        ),
      )
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0)
        errors.push(
          fieldErrors.required(
            `${path}.values`,
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
          ),
        )
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        errors.push(
          fieldErrors.invalid(
            `${path}.values`,
            [...values],
            "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
          ),
        )
    } else errors.push(fieldErrors.invalid(`${path}.operator`, operator, 'not a valid selector operator'))
    return errors
  })
}

const limitTypes = ['Pod', 'Container', 'PersistentVolumeClaim']

/** Validates a LimitRange. */
export function limitRangeErrors(object: KubeObject): FieldError[] {
  const seen = new Set<string>()
  return objectsAt(object, 'spec', 'limits').flatMap((limit, index) => {
    const path = fieldPath('spec.limits', index)
    const type = stringAt(limit, 'type')
    const errors = invalidWith(`${path}.type`, type, qualifiedName(type))
    if (errors.length === 0 && !type.includes('/') && !limitTypes.includes(type))
      errors.push(fieldErrors.invalid(`${path}.type`, type, 'must be a standard limit type or fully qualified'))
    if (seen.has(type)) errors.push(fieldErrors.duplicate(`${path}.type`, type))
    seen.add(type)
    return [...errors, ...itemErrors(path, type, limit)]
  })
}

function itemErrors(path: string, type: string, limit: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  const bounds = boundsOf(limit, type)
  const names = (list: keyof Bounds): void => {
    for (const name of Object.keys(bounds[list])) {
      const field = fieldPath(`${path}.${list}`, { key: name })
      const check = type === 'Pod' || type === 'Container' ? containerResourceNameErrors : resourceNameErrors
      errors.push(...check(field, name))
    }
  }
  names('max')
  names('min')
  for (const list of ['default', 'defaultRequest'] as const) {
    if (type === 'Pod' && has(limit, list))
      errors.push(fieldErrors.forbidden(`${path}.${list}`, "may not be specified when `type` is 'Pod'"))
    names(list)
  }
  const hasStorage = bounds.min['storage'] !== undefined || bounds.max['storage'] !== undefined
  if (type === 'PersistentVolumeClaim' && !hasStorage)
    errors.push(
      fieldErrors.required(
        `${path}.limits`,
        'either minimum or maximum storage value is required, but neither was provided',
      ),
    )
  names('maxLimitRequestRatio')
  const resources = new Set(Object.values(bounds).flatMap((list) => Object.keys(list)))
  for (const resource of resources) errors.push(...resourceLimitErrors(path, bounds, resource))
  return errors
}

/** The amounts of a limit by resource, in the order of their validation. */
type Bounds = Readonly<
  Record<'max' | 'min' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio', Readonly<Record<string, string>>>
>

/** Reads the amounts once: each reading copies a map, and a map may have thousands of resources. */
function boundsOf(limit: JsonObject, type: string): Bounds {
  const ofContainers = (list: string): Readonly<Record<string, string>> => mapAt(type === 'Pod' ? {} : limit, list)
  return {
    max: mapAt(limit, 'max'),
    min: mapAt(limit, 'min'),
    default: ofContainers('default'),
    defaultRequest: ofContainers('defaultRequest'),
    maxLimitRequestRatio: mapAt(limit, 'maxLimitRequestRatio'),
  }
}

/** Validates the order of the bounds of one resource. */
function resourceLimitErrors(path: string, bounds: Bounds, resource: string): FieldError[] {
  const errors: FieldError[] = []
  const [min, max, normal] = [bounds.min[resource], bounds.max[resource], bounds.default[resource]]
  const [request, ratio] = [bounds.defaultRequest[resource], bounds.maxLimitRequestRatio[resource]]
  const above = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && b !== undefined && compareQuantities(parseQuantity(a), parseQuantity(b)) > 0
  const wrong = (list: string, value: string | undefined, detail: string): number =>
    errors.push(fieldErrors.invalid(fieldPath(`${path}.${list}`, { key: resource }), value, detail))
  if (above(min, max)) wrong('min', min, `min value ${min} is greater than max value ${max}`)
  if (above(min, request))
    wrong('defaultRequest', request, `min value ${min} is greater than default request value ${request}`)
  if (above(request, max))
    wrong('defaultRequest', request, `default request value ${request} is greater than max value ${max}`)
  if (above(request, normal))
    wrong('defaultRequest', request, `default request value ${request} is greater than default limit value ${normal}`)
  if (above(min, normal)) wrong('default', min, `min value ${min} is greater than default value ${normal}`)
  if (above(normal, max)) wrong('default', max, `default value ${normal} is greater than max value ${max}`)
  if (above('1', ratio)) wrong('maxLimitRequestRatio', ratio, `ratio ${ratio} is less than 1`)
  if (ratio !== undefined && min !== undefined && max !== undefined) {
    const possible = Number(parseQuantity(max).nanos) / Number(parseQuantity(min).nanos)
    if (Number(parseQuantity(ratio).nanos) / 1e9 > possible)
      wrong('maxLimitRequestRatio', ratio, `ratio ${ratio} is greater than max/min = ${possible.toFixed(6)}`)
  }
  const overcommits = !isExtendedResource(resource) && !isHugePages(resource)
  if (
    !overcommits &&
    normal !== undefined &&
    request !== undefined &&
    (above(normal, request) || above(request, normal))
  )
    wrong(
      'defaultRequest',
      request,
      `default value ${normal} must equal to defaultRequest value ${request} in ${resource}`,
    )
  return errors
}
