// Validation of resource requirements of containers and of claims' requests (pkg/apis/core/validation and helper,
// v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { compareQuantities, fieldErrors, fieldPath, parseQuantity, qualifiedName } from '@fairlead/kube'
import { invalidWith } from '../checks.ts'
import { mapAt, objectsAt, stringAt } from '../fields.ts'

const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage'])

const otherResources = [
  'storage requests.storage requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory',
  'limits.ephemeral-storage pods resourcequotas services replicationcontrollers secrets persistentvolumeclaims',
  'configmaps services.nodeports services.loadbalancers',
]
  .join(' ')
  .split(' ')

const standardResources = new Set([...containerResources, ...otherResources])

/** Reports whether a name without a domain is one of Kubernetes' resources. */
export function isStandardResource(name: string): boolean {
  return standardResources.has(name) || isHugePages(name)
}

/** Reports whether a name without a domain is one that quotas count. */
export function isQuotaResource(name: string): boolean {
  return (
    (standardResources.has(name) && name !== 'storage') || isHugePages(name) || name.startsWith('requests.hugepages-')
  )
}

/** Reports whether a resource is `hugepages-2Mi` or the like. */
export function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-')
}

/** Reports whether a resource is an extended one, with a domain: integral and never overcommitted. */
export function isExtendedResource(name: string): boolean {
  if (isNative(name) || name.startsWith('requests.')) return false
  return qualifiedName(`requests.${name}`).length === 0
}

function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/')
}

/** Reports whether the quantities of a resource are integers. */
export function isIntegerResource(name: string): boolean {
  const counted =
    /^(pods|services|replicationcontrollers|resourcequotas|secrets|configmaps|persistentvolumeclaims|services\.nodeports|services\.loadbalancers)$/
  return counted.test(name) || isExtendedResource(name)
}

/** Validates a quantity of a resource. */
export function quantityErrors(field: string, name: string, amount: string): FieldError[] {
  const { nanos } = parseQuantity(amount)
  const errors: FieldError[] = []
  if (nanos < 0n) errors.push(fieldErrors.invalid(field, amount, 'must be greater than or equal to 0'))
  if (isIntegerResource(name) && nanos % 1_000_000_000n !== 0n)
    errors.push(fieldErrors.invalid(field, amount, 'must be an integer'))
  return errors
}

/** Validates the name of a resource. */
export function resourceNameErrors(field: string, name: string): FieldError[] {
  const errors = invalidWith(field, name, qualifiedName(name))
  if (errors.length > 0 || name.includes('/') || isStandardResource(name)) return errors
  return [fieldErrors.invalid(field, name, 'must be a standard resource type or fully qualified')]
}

/** Validates the name of a container resource. */
export function containerResourceNameErrors(field: string, name: string): FieldError[] {
  const errors = resourceNameErrors(field, name)
  if (!name.includes('/')) {
    return containerResources.has(name) || isHugePages(name)
      ? errors
      : [...errors, fieldErrors.invalid(field, name, 'must be a standard resource for containers')]
  }
  return isNative(name) || isExtendedResource(name)
    ? errors
    : [...errors, fieldErrors.invalid(field, name, "doesn't follow extended resource name standard")]
}

/**
 * Validates the resources of a container; `claims` are the names of the pod's resource claims, `nameErrors` the rule
 * for names of resources.
 */
export function resourceErrors(
  path: string,
  resources: JsonObject,
  claims: ReadonlySet<string>,
  nameErrors: (field: string, name: string) => FieldError[] = containerResourceNameErrors,
): FieldError[] {
  const limits = mapAt(resources, 'limits')
  const requests = mapAt(resources, 'requests')
  const errors: FieldError[] = []
  const check = (list: string, name: string, amount: string): void => {
    const field = fieldPath(`${path}.${list}`, { key: name })
    errors.push(...nameErrors(field, name), ...quantityErrors(field, name, amount))
  }
  for (const [name, amount] of Object.entries(limits)) {
    check('limits', name, amount)
    errors.push(...hugePageErrors(fieldPath(`${path}.limits`, { key: name }), name, amount))
  }
  for (const [name, amount] of Object.entries(requests)) {
    check('requests', name, amount)
    errors.push(...againstLimit(path, name, amount, limits[name]))
    errors.push(...hugePageErrors(fieldPath(`${path}.requests`, { key: name }), name, amount))
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)]
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory'))
    errors.push(fieldErrors.forbidden(path, 'HugePages require cpu or memory'))
  return [...errors, ...claimNameErrors(`${path}.claims`, objectsAt(resources, 'claims'), claims)]
}

function againstLimit(path: string, name: string, request: string, limit: string | undefined): FieldError[] {
  const overcommits = !isExtendedResource(name) && !isHugePages(name)
  if (limit === undefined) {
    return overcommits
      ? []
      : [fieldErrors.required(`${path}.limits`, 'Limit must be set for non overcommitable resources')]
  }
  const order = compareQuantities(parseQuantity(request), parseQuantity(limit))
  if (order !== 0 && !overcommits)
    return [fieldErrors.invalid(`${path}.requests`, request, `must be equal to ${name} limit of ${limit}`)]
  return order > 0
    ? [fieldErrors.invalid(`${path}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`)]
    : []
}

function hugePageErrors(field: string, name: string, amount: string): FieldError[] {
  if (!isHugePages(name)) return []
  let page: bigint
  try {
    page = parseQuantity(name.slice('hugepages-'.length)).nanos
  } catch {
    return []
  }
  if (page <= 0n || parseQuantity(amount).nanos % page === 0n) return []
  return [fieldErrors.invalid(field, amount, `${amount} is not positive integer multiple of ${name}`)]
}

function claimNameErrors(field: string, claims: readonly JsonObject[], known: ReadonlySet<string>): FieldError[] {
  const seen = new Set<string>()
  return claims.flatMap((claim, index) => {
    const name = stringAt(claim, 'name')
    const path = fieldPath(field, index)
    if (name === '') return [fieldErrors.required(path)]
    if (seen.has(name)) return [fieldErrors.duplicate(path, name)]
    seen.add(name)
    if (known.has(name)) return []
    const choices = known.size === 0 ? ' which is empty' : `: ${[...known].toSorted().join(', ')}`
    const detail = `must be one of the names in pod.spec.resourceClaims${choices}`
    return [{ ...fieldErrors.notFound(path, name), detail }]
  })
}
