// Computes the EndpointSlices that mirror Endpoints, and the writes that lead to them, as
// pkg/controller/endpointslicemirroring of Kubernetes does. Start reading at planMirror.
import { SocketAddress, isIPv6 } from 'node:net'
import { kind } from '@fairlead/client'
import type { Kind, Service } from '@fairlead/client'
import { isTerminating, jsonEqual } from '@fairlead/kube'
import type { JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'
import { portKey, repackedSubsets } from './repacked-subsets.ts'
import type { EndpointAddress, EndpointPort, EndpointSubset } from './repacked-subsets.ts'

/** The label that names the Service of an EndpointSlice. */
export const serviceNameLabel = 'kubernetes.io/service-name'
/** The label that names the controller of an EndpointSlice. */
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'
/** The value of the label {@link managedByLabel} for mirrored slices. */
export const mirroringController = 'endpointslicemirroring-controller.k8s.io'
const skipMirrorLabel = 'endpointslice.kubernetes.io/skip-mirror'
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader'
/** Annotations of Endpoints that their slices do not get. */
const ownAnnotations: readonly string[] = [
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
]
/** The most addresses of a subset that are mirrored (`--mirroring-max-endpoints-per-subset`). */
export const maxAddresses = 1000

/** `v1 Endpoints`. */
export interface Endpoints extends KubeObject {
  readonly subsets?: readonly EndpointSubset[] | null
}

interface Endpoint {
  readonly addresses: readonly string[]
  readonly conditions?: { readonly ready?: boolean }
  readonly hostname?: string
  readonly nodeName?: string
  readonly targetRef?: EndpointAddress['targetRef']
}

/** `discovery.k8s.io/v1 EndpointSlice`. */
export interface EndpointSlice extends KubeObject {
  readonly addressType: 'IPv4' | 'IPv6' | 'FQDN'
  readonly endpoints?: readonly Endpoint[] | null
  readonly ports?: readonly EndpointPort[] | null
}

export const Endpoints: Kind<Endpoints> = kind('v1', 'Endpoints', { plural: 'endpoints', namespaced: true })
export const EndpointSlice: Kind<EndpointSlice> = kind('discovery.k8s.io/v1', 'EndpointSlice', {
  plural: 'endpointslices',
  namespaced: true,
})

/** The objects that a plan is made from. */
export interface MirrorState {
  readonly endpoints: Endpoints | undefined
  readonly service: Service | undefined
  /** The slices that mirror the Endpoints. */
  readonly slices: readonly EndpointSlice[]
}

/** The writes that make the slices mirror the Endpoints. */
export interface MirrorPlan {
  readonly create: readonly EndpointSlice[]
  readonly update: readonly EndpointSlice[]
  readonly delete: readonly EndpointSlice[]
  /** Number of addresses beyond {@link maxAddresses} of a subset, which are in no slice. */
  readonly skipped: number
}

/** Reports whether a plan writes nothing. */
export function isDone({ create, update, delete: stale }: MirrorPlan): boolean {
  return create.length === 0 && update.length === 0 && stale.length === 0
}

/**
 * Plans the slices of Endpoints: one for each combination of ports and IP family. A slice of other ports is reused for
 * a missing one of its family, as the real controller does.
 */
export function planMirror({ endpoints, service, slices }: MirrorState): MirrorPlan {
  if (endpoints === undefined || service === undefined || !isMirrored(endpoints, service))
    return { create: [], update: [], delete: slices, skipped: 0 }
  const { groups, skipped } = groupsOf(endpoints)
  const existing = Map.groupBy(slices, ({ addressType, ports }) => groupKey(addressType, ports ?? []))
  const update: EndpointSlice[] = []
  const missing: EndpointSlice[] = []
  for (const [key, group] of groups) {
    const wanted = sliceOf(endpoints, group)
    const found = existing.get(key)?.shift()
    if (found === undefined) missing.push(wanted)
    else if (!isSame(found, wanted)) update.push(replacing(found, wanted))
  }
  const stale = [...existing.values()].flat()
  const create: EndpointSlice[] = []
  for (const wanted of missing) {
    const reused = stale.findIndex(({ addressType }) => addressType === wanted.addressType)
    if (reused >= 0) update.push(replacing(stale.splice(reused, 1)[0]!, wanted))
    else if (!isTerminating(endpoints)) create.push(wanted)
  }
  return { create, update, delete: stale, skipped }
}

/** Reports whether the Service has a selector, whose pods then make its slices. */
export function hasSelector({ spec }: Service): boolean {
  return Object.keys(spec?.selector ?? {}).length > 0
}

function isMirrored({ metadata }: Endpoints, service: Service): boolean {
  return (
    !hasSelector(service) &&
    metadata.labels?.[skipMirrorLabel] !== 'true' &&
    metadata.annotations?.[leaderAnnotation] === undefined
  )
}

interface Group {
  readonly addressType: 'IPv4' | 'IPv6'
  readonly ports: readonly EndpointPort[]
  /** By identity; the last of several counts. */
  readonly endpoints: Map<string, Endpoint>
}

/** Returns the groups of addresses that have the same ports and IP family, by key. */
function groupsOf({ subsets }: Endpoints): { groups: ReadonlyMap<string, Group>; skipped: number } {
  const groups = new Map<string, Group>()
  let skipped = 0
  for (const { addresses, ports } of repackedSubsets(subsets ?? [])) {
    skipped += Math.max(0, addresses.length - maxAddresses)
    for (const { address, ready } of addresses.slice(0, maxAddresses)) {
      const endpoint = endpointOf(address, ready)
      const addressType = isIPv6(endpoint.addresses[0]!) ? 'IPv6' : 'IPv4'
      const key = groupKey(addressType, ports)
      const group = groups.get(key) ?? { addressType, ports, endpoints: new Map<string, Endpoint>() }
      groups.set(key, group)
      group.endpoints.set(identityOf(endpoint), endpoint)
    }
  }
  return { groups, skipped }
}

/** Formats an IP family and ports, in any order, as a string. */
function groupKey(addressType: string, ports: readonly EndpointPort[]): string {
  return [addressType, ...ports.map(portKey).toSorted()].join(' ')
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [canonicalAddress(ip)],
    conditions: { ready },
    ...(hostname ? { hostname } : {}),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  }
}

/** Returns an address as Go formats it: IPv4 in IPv6 as IPv4, IPv6 in short form. */
function canonicalAddress(ip: string): string {
  if (!isIPv6(ip)) return ip
  const { address } = new SocketAddress({ address: ip, family: 'ipv6' })
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1] ?? address
}

/** Returns the fields by which the real controller takes two endpoints for one. */
function identityOf({ addresses, hostname = '', targetRef }: Endpoint): string {
  return JSON.stringify([addresses, hostname, targetRef?.['namespace'] ?? '', targetRef?.['name'] ?? ''])
}

function sliceOf(endpoints: Endpoints, { addressType, ports, endpoints: distinct }: Group): EndpointSlice {
  const { name = '', namespace = '', uid = '', labels, annotations } = endpoints.metadata
  const kept = Object.entries(annotations ?? {}).filter(([key]) => !ownAnnotations.includes(key))
  const owner: OwnerReference = {
    apiVersion: Endpoints.apiVersion,
    kind: Endpoints.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  }
  return {
    apiVersion: EndpointSlice.apiVersion,
    kind: EndpointSlice.kind,
    metadata: {
      namespace,
      // The prefix may be as long as the longest name.
      generateName: name.length < 253 ? `${name}-` : name,
      labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: mirroringController },
      ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
      ownerReferences: [owner],
    },
    addressType,
    endpoints: [...distinct.values()].slice(0, maxAddresses),
    ...(ports.length === 0 ? {} : { ports }),
  }
}

/** Returns the slice with the content of another one. A write of this version only: a later one is a conflict. */
function replacing({ metadata }: EndpointSlice, { metadata: wanted, ...content }: EndpointSlice): EndpointSlice {
  const { namespace, name, uid, resourceVersion } = metadata
  const { labels, annotations, ownerReferences } = wanted
  return {
    ...content,
    metadata: {
      namespace: namespace!,
      name: name!,
      uid: uid!,
      resourceVersion: resourceVersion!,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(ownerReferences && { ownerReferences }),
    },
  }
}

/** Compares two slices of one group: their endpoints in any order. */
function isSame(found: EndpointSlice, wanted: EndpointSlice): boolean {
  return jsonEqual(comparable(found), comparable(wanted))
}

function comparable({ metadata, endpoints: list }: EndpointSlice): JsonValue {
  const endpoints = list ?? []
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata
  const distinct = Object.fromEntries(endpoints.map((endpoint) => [identityOf(endpoint), endpoint]))
  return { labels, annotations, ownerReferences, endpoints: endpoints.length, distinct } as unknown as JsonValue
}
