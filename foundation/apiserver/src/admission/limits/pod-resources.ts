// The requests and limits of a whole pod (k8s.io/component-helpers/resource, v1.35): containers run together with
// sidecars, init containers run one after the other.
import type { Quantity } from '@fairlead/kube'
import { addTo, raiseTo, resourceList, sumOf } from './resource-list.ts'
import type { ResourceList, ResourceStrings } from './resource-list.ts'

/** Resource requirements of a container or a pod. */
export interface Requirements {
  readonly requests?: ResourceStrings | null
  readonly limits?: ResourceStrings | null
}

/** The fields of a container that count. */
export interface ResourceContainer {
  readonly name: string
  readonly restartPolicy?: string
  readonly resources?: Requirements | null
}

/** The fields of a pod's spec that count. */
export interface ResourcePodSpec {
  readonly containers?: readonly ResourceContainer[]
  readonly initContainers?: readonly ResourceContainer[]
  readonly resources?: Requirements | null
  readonly overhead?: ResourceStrings | null
}

/** Returns the requests of a pod, with its overhead unless `excludesOverhead`. */
export function podRequests(spec: ResourcePodSpec, excludesOverhead: boolean = false): ResourceList {
  const sum = totalOf(spec, 'requests')
  if (!excludesOverhead) addTo(sum, resourceList(spec.overhead))
  return sum
}

/** Returns the limits of a pod; overhead raises only those that are set. */
export function podLimits(spec: ResourcePodSpec, excludesOverhead: boolean = false): ResourceList {
  const sum = totalOf(spec, 'limits')
  if (!excludesOverhead) addTo(sum, new Map([...resourceList(spec.overhead)].filter(([name]) => sum.has(name))))
  return sum
}

function totalOf(spec: ResourcePodSpec, list: 'requests' | 'limits'): Map<string, Quantity> {
  const sum = new Map<string, Quantity>()
  for (const { resources } of spec.containers ?? []) addTo(sum, resourceList(resources?.[list]))
  const sidecars = new Map<string, Quantity>()
  const peak = new Map<string, Quantity>()
  for (const { resources, restartPolicy } of spec.initContainers ?? []) {
    const own = resourceList(resources?.[list])
    if (restartPolicy === 'Always') {
      addTo(sum, own)
      addTo(sidecars, own)
      raiseTo(peak, sidecars)
    } else raiseTo(peak, sumOf(own, sidecars))
  }
  raiseTo(sum, peak)
  for (const [name, amount] of resourceList(spec.resources?.[list])) if (isPodLevel(name)) sum.set(name, amount)
  return sum
}

/** Returns true for a resource that a pod may set for all of its containers. */
function isPodLevel(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')
}
