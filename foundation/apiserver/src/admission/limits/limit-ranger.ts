// Admission by LimitRanges (plugin LimitRanger, v1.35): defaults for the containers of new pods, and the bounds of
// containers, pods and claims of volumes.
import { compareQuantities, formatQuantity } from '@fairlead/kube'
import type { JsonObject, KubeObject, Quantity } from '@fairlead/kube'
import { refusal } from '../attributes.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import type { AdmissionPlugin } from '../plugin.ts'
import { podLimits, podRequests } from './pod-resources.ts'
import type { Requirements, ResourceContainer, ResourcePodSpec } from './pod-resources.ts'
import { resourceList } from './resource-list.ts'
import type { ResourceList, ResourceStrings } from './resource-list.ts'

interface LimitRangeItem {
  readonly type: string
  readonly min?: ResourceStrings
  readonly max?: ResourceStrings
  readonly default?: ResourceStrings
  readonly defaultRequest?: ResourceStrings
  readonly maxLimitRequestRatio?: ResourceStrings
}

type LimitRange = KubeObject & { readonly spec?: { readonly limits?: readonly LimitRangeItem[] } }

/** Returns every object of a resource in a namespace. */
export type ListNamespace = (resource: string, namespace: string) => Iterable<KubeObject>

const annotation = 'kubernetes.io/limit-ranger'

/** Returns the plugin; it reads LimitRanges from memory. */
export function limitRangerPlugin(listNamespace: ListNamespace): AdmissionPlugin {
  const limitsOf = (namespace: string): Iterable<LimitRange> => listNamespace('limitranges.', namespace)
  return {
    name: 'LimitRanger',
    mutate(attributes) {
      if (limitedResource(attributes) !== 'pods') return undefined
      let pod = attributes.object!
      for (const { spec } of limitsOf(attributes.namespace)) pod = withDefaults(pod, spec?.limits ?? [])
      return pod as JsonObject
    },
    validate(attributes) {
      const resource = limitedResource(attributes)
      if (resource === undefined) return
      const errorsOf = resource === 'pods' ? podErrors : claimErrors
      for (const { spec } of limitsOf(attributes.namespace)) {
        const errors = [...new Set((spec?.limits ?? []).flatMap((item) => errorsOf(attributes.object!, item)))]
        if (errors.length > 0) throw refusal(attributes, errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`)
      }
    },
  }
}

/**
 * Returns the resource whose limits a write must keep. The containers of an existing pod change only by its `resize`
 * subresource; terminating objects are exempt.
 */
function limitedResource(attributes: AdmissionAttributes): 'pods' | 'persistentvolumeclaims' | undefined {
  const { operation, resource, subresource, object, oldObject } = attributes
  const { group, plural } = resource.definition
  if (group !== '' || object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return undefined
  if (oldObject?.metadata.deletionTimestamp !== undefined) return undefined
  if (plural === 'pods') return subresource === (operation === 'UPDATE' ? 'resize' : '') ? plural : undefined
  return plural === 'persistentvolumeclaims' && subresource === '' ? plural : undefined
}

/** Returns the pod with the default requests and limits of containers, and an annotation that names them. */
function withDefaults(pod: KubeObject, items: readonly LimitRangeItem[]): KubeObject {
  const containers = items.filter(({ type }) => type === 'Container')
  if (containers.length === 0) return pod
  const requests: ResourceStrings = Object.assign({}, ...containers.map((item) => item.defaultRequest))
  const limits: ResourceStrings = Object.assign({}, ...containers.map((item) => item.default))
  const notes: string[] = []
  const fill = (container: ResourceContainer, role: string): ResourceContainer => {
    const missing = (own: ResourceStrings | null | undefined, defaults: ResourceStrings, list: string) => {
      const added = Object.keys(defaults).filter((name) => !Object.hasOwn(own ?? {}, name))
      if (added.length > 0) notes.push(`${added.toSorted().join(', ')} ${list} for ${role} ${container.name}`)
      return added.length > 0
    }
    const { resources } = container
    const addsRequests = missing(resources?.requests, requests, 'request')
    const addsLimits = missing(resources?.limits, limits, 'limit')
    if (!addsRequests && !addsLimits) return container
    const filled: Requirements = {
      ...resources,
      ...(addsLimits ? { limits: { ...limits, ...resources?.limits } } : {}),
      ...(addsRequests ? { requests: { ...requests, ...resources?.requests } } : {}),
    }
    return { ...container, resources: filled }
  }
  const spec = specOf(pod)
  const filled: ResourcePodSpec = {
    ...spec,
    ...(spec.containers ? { containers: spec.containers.map((container) => fill(container, 'container')) } : {}),
    ...(spec.initContainers
      ? { initContainers: spec.initContainers.map((container) => fill(container, 'init container')) }
      : {}),
  }
  if (notes.length === 0) return pod
  const annotations = { ...pod.metadata.annotations, [annotation]: `LimitRanger plugin set: ${notes.join('; ')}` }
  return { ...pod, metadata: { ...pod.metadata, annotations }, spec: filled } as KubeObject
}

function specOf(object: KubeObject): ResourcePodSpec {
  return (object['spec'] ?? {}) as ResourcePodSpec
}

function podErrors(pod: KubeObject, item: LimitRangeItem): readonly string[] {
  const spec = specOf(pod)
  if (item.type === 'Pod') return boundErrors(item, podRequests(spec, true), podLimits(spec, true))
  if (item.type !== 'Container') return []
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap(({ resources }) =>
    boundErrors(item, resourceList(resources?.requests), resourceList(resources?.limits)),
  )
}

/** Claims have requests only. */
function claimErrors(claim: KubeObject, item: LimitRangeItem): readonly string[] {
  if (item.type !== 'PersistentVolumeClaim') return []
  const requests = resourceList(specOf(claim).resources?.requests)
  return [
    ...eachBound(item.min, (name, bound) =>
      usageError('minimum', item.type, name, bound, requests.get(name), undefined),
    ),
    ...eachBound(item.max, (name, bound) => {
      const request = requests.get(name)
      const usage = `maximum ${name} usage per ${item.type} is ${formatQuantity(bound)}`
      if (request === undefined) return `${usage}.  No request is specified`
      return isAbove(request, bound) ? `${usage}, but request is ${formatQuantity(request)}` : undefined
    }),
  ]
}

function boundErrors(item: LimitRangeItem, requests: ResourceList, limits: ResourceList): readonly string[] {
  const { type } = item
  return [
    ...eachBound(item.min, (name, bound) =>
      usageError('minimum', type, name, bound, requests.get(name), limits.get(name)),
    ),
    ...eachBound(item.max, (name, bound) =>
      usageError('maximum', type, name, bound, requests.get(name), limits.get(name)),
    ),
    ...eachBound(item.maxLimitRequestRatio, (name, bound) =>
      ratioError(type, name, bound, requests.get(name), limits.get(name)),
    ),
  ]
}

/** Returns the errors of all bounds, in the order of their resources; that of the real server is random. */
function eachBound(
  bounds: ResourceStrings | undefined,
  errorOf: (name: string, bound: Quantity) => string | undefined,
): readonly string[] {
  return [...resourceList(bounds)].flatMap(([name, bound]) => errorOf(name, bound) ?? [])
}

/**
 * Returns the error of a minimum or a maximum. A minimum is for the request, which must be there, and for a limit; a
 * maximum is for the limit, and for a request.
 */
function usageError(
  bounds: 'minimum' | 'maximum',
  type: string,
  name: string,
  bound: Quantity,
  request: Quantity | undefined,
  limit: Quantity | undefined,
): string | undefined {
  const isMinimum = bounds === 'minimum'
  const checked = [
    ['request', request],
    ['limit', limit],
  ] as const
  const usage = `${bounds} ${name} usage per ${type} is ${formatQuantity(bound)}`
  for (const [index, [what, quantity]] of (isMinimum ? checked : checked.toReversed()).entries()) {
    if (quantity === undefined && index === 0) return `${usage}.  No ${what} is specified`
    if (quantity !== undefined && (isMinimum ? isAbove(bound, quantity) : isAbove(quantity, bound)))
      return `${usage}, but ${what} is ${formatQuantity(quantity)}`
  }
  return undefined
}

function ratioError(
  type: string,
  name: string,
  bound: Quantity,
  request: Quantity | undefined,
  limit: Quantity | undefined,
): string | undefined {
  const ratio = `${name} max limit to request ratio per ${type} is ${formatQuantity(bound)}`
  if (request === undefined || request.nanos === 0n) return `${ratio}, but no request is specified or request is 0`
  if (limit === undefined || limit.nanos === 0n) return `${ratio}, but no limit is specified or limit is 0`
  if (limit.nanos * 1_000_000_000n <= bound.nanos * request.nanos) return undefined
  return `${ratio}, but provided ratio is ${(Number(limit.nanos) / Number(request.nanos)).toFixed(6)}`
}

function isAbove(a: Quantity, b: Quantity): boolean {
  return compareQuantities(a, b) > 0
}
