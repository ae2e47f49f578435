// Validation of the resources of a whole pod (pkg/apis/core/validation, validatePodResources, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { compareQuantities, fieldErrors, fieldPath, formatQuantity, isQuantity, parseQuantity } from '@fairlead/kube'
import { has, mapAt, objectAt, objectsAt } from '../fields.ts'
import { amountsOfContainers } from './pod-level-requests.ts'
import { isHugePages, resourceErrors, resourceNameErrors } from './resource-validation.ts'

/** The names as messages list them; `hugepages-` represents every page size. */
const supported = ['cpu', 'hugepages-', 'memory']

/** Validates `resources` of a pod's spec: their names, and what its containers ask for in all. */
export function podResourceErrors(path: string, spec: JsonObject, claims: ReadonlySet<string>): FieldError[] {
  if (!has(spec, 'resources')) return []
  const field = `${path}.resources`
  const resources = objectAt(spec, 'resources')
  return [
    ...(objectsAt(resources, 'claims').length > 0
      ? [fieldErrors.forbidden(`${field}.claims`, 'claims may not be set for Resources at pod-level')]
      : []),
    ...resourceErrors(field, resources, claims, podResourceNameErrors),
    ...sumErrors(field, spec, resources),
    ...containerLimitErrors(field, spec, resources),
  ]
}

function podResourceNameErrors(field: string, name: string): FieldError[] {
  const errors = resourceNameErrors(field, name)
  if (errors.length > 0) return errors
  return name === 'cpu' || name === 'memory' || isHugePages(name)
    ? []
    : [fieldErrors.notSupported(field, name, supported)]
}

/** Checks that the pod has what its containers ask for together; of limits only those of huge pages add up. */
function sumErrors(field: string, spec: JsonObject, resources: JsonObject): FieldError[] {
  return (['requests', 'limits'] as const).flatMap((list) => {
    const sums = amountsOfContainers(spec, list)
    return Object.entries(mapAt(resources, list)).flatMap(([name, amount]) => {
      const sum = sums.get(name)
      if (sum === undefined || (list === 'limits' && !isHugePages(name)) || !exceeds(sum, amount)) return []
      const detail = `must be greater than or equal to aggregate container ${list} of ${formatQuantity(sum)}`
      return [fieldErrors.invalid(fieldPath(`${field}.${list}`, { key: name }), amount, detail)]
    })
  })
}

/** Checks that no container may use more than the pod. */
function containerLimitErrors(field: string, spec: JsonObject, resources: JsonObject): FieldError[] {
  const limits = mapAt(resources, 'limits')
  return objectsAt(spec, 'containers').flatMap((container, index) =>
    Object.entries(mapAt(container, 'resources', 'limits')).flatMap(([name, amount]) => {
      const limit = limits[name]
      if (limit === undefined || !isQuantity(amount) || !exceeds(parseQuantity(amount), limit)) return []
      const place = `${fieldPath(fieldPath(field, 'containers', index), { key: name })}.limits`
      return [fieldErrors.invalid(place, amount, `must be less than or equal to pod limits of ${limit}`)]
    }),
  )
}

function exceeds(amount: ReturnType<typeof parseQuantity>, limit: string): boolean {
  return isQuantity(limit) && compareQuantities(amount, parseQuantity(limit)) > 0
}
