// EndpointSlices and Endpoints as controllers write them: kinds, labels, comparison and writes.
import { SocketAddress, isIPv6 } from 'node:net'
import { kind } from '@fairlead/client'
import type { Client, Kind, Service } from '@fairlead/client'
import { isNamespaceTerminating, isNotFound, keyOf } from '@fairlead/kube'
import type { KubeObject, OwnerReference } from '@fairlead/kube'
import { portKey } from './repacked-subsets.ts'
import type { EndpointAddress, EndpointPort, EndpointSubset } from './repacked-subsets.ts'

/** The label that names the Service of an EndpointSlice. */
export const serviceNameLabel = 'kubernetes.io/service-name'
/** The label that names the controller of an EndpointSlice. */
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'
/** The label of Endpoints and EndpointSlices of a Service without a cluster IP. */
export const headlessLabel = 'service.kubernetes.io/headless'
/** The annotation with the time of the change that led to a write. */
export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'
/** The annotation of Endpoints that serve as a lock of leader election. */
export const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader'

/** `v1 Endpoints`. */
export interface Endpoints extends KubeObject {
  readonly subsets?: readonly EndpointSubset[] | null
}

/** An endpoint of an EndpointSlice. */
export interface Endpoint {
  readonly addresses: readonly string[]
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
  readonly hostname?: string
  readonly nodeName?: string
  readonly zone?: string
  readonly targetRef?: EndpointAddress['targetRef']
}

/** The IP family or form of the addresses of a slice. */
export type AddressType = 'IPv4' | 'IPv6' | 'FQDN'

/** `discovery.k8s.io/v1 EndpointSlice`. */
export interface EndpointSlice extends KubeObject {
  readonly addressType: AddressType
  readonly endpoints?: readonly Endpoint[] | null
  readonly ports?: readonly EndpointPort[] | null
}

export const Endpoints: Kind<Endpoints> = kind('v1', 'Endpoints', { plural: 'endpoints', namespaced: true })
export const EndpointSlice: Kind<EndpointSlice> = kind('discovery.k8s.io/v1', 'EndpointSlice', {
  plural: 'endpointslices',
  namespaced: true,
})

/** The writes that lead to the wanted slices. */
export interface SlicePlan {
  readonly create: readonly EndpointSlice[]
  readonly update: readonly EndpointSlice[]
  readonly delete: readonly EndpointSlice[]
}

/** Reports whether a plan writes nothing. */
export function isDone({ create, update, delete: stale }: SlicePlan): boolean {
  return create.length === 0 && update.length === 0 && stale.length === 0
}

/** Executes a plan. An update or delete fails with a conflict if the slice has changed since the plan was made. */
export async function writeSlices(plan: SlicePlan, client: Client): Promise<void> {
  for (const slice of plan.create) {
    try {
      await client.create(slice)
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error
    }
  }
  for (const slice of plan.update) await client.update(slice)
  for (const slice of plan.delete) {
    const { uid, resourceVersion } = slice.metadata
    try {
      await client.delete(EndpointSlice, keyOf(slice), {
        preconditions: { uid: uid!, resourceVersion: resourceVersion! },
      })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/** Reports whether the Service has a selector, whose pods then make its slices. */
export function hasSelector({ spec }: Service): boolean {
  return Object.keys(spec?.selector ?? {}).length > 0
}

/** Formats an IP family and ports, in any order, as a string. */
export function groupKey(addressType: string, ports: readonly EndpointPort[]): string {
  return [addressType, ...ports.map(portKey).toSorted()].join(' ')
}

/** Returns the identity of an endpoint: Kubernetes treats endpoints that share these fields as one. */
export function endpointIdentity({ addresses, hostname = '', targetRef }: Endpoint): string {
  return JSON.stringify([addresses, hostname, targetRef?.['namespace'] ?? '', targetRef?.['name'] ?? ''])
}

/** Returns an address as Go formats it: IPv4 in IPv6 as IPv4, IPv6 in short form. */
export function canonicalAddress(ip: string): string {
  if (!isIPv6(ip)) return ip
  const { address } = new SocketAddress({ address: ip, family: 'ipv6' })
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1] ?? address
}

/** Returns the prefix of the names of the slices of a Service; a name may already have the longest length. */
export function slicePrefix(service: string): string {
  return service.length < 253 ? `${service}-` : service
}

/** Returns the reference to an object as the controller of a slice. */
export function controllerReference({ apiVersion, kind: kindName }: Kind, owner: KubeObject): OwnerReference {
  const { name = '', uid = '' } = owner.metadata
  return { apiVersion, kind: kindName, name, uid, controller: true, blockOwnerDeletion: true }
}

/** Returns an update that gives the first slice the content of the second, at the resourceVersion of the first. */
export function replacing({ metadata }: EndpointSlice, { metadata: wanted, ...content }: EndpointSlice): EndpointSlice {
  const { namespace, name, generateName, uid, resourceVersion } = metadata
  const { labels, annotations, ownerReferences } = wanted
  return {
    ...content,
    metadata: {
      namespace: namespace!,
      name: name!,
      ...(generateName && { generateName }),
      uid: uid!,
      resourceVersion: resourceVersion!,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(ownerReferences && { ownerReferences }),
    },
  }
}
