// Computes the EndpointSlices that mirror Endpoints, and the writes that lead to them, as
// pkg/controller/endpointslicemirroring of Kubernetes does. Start reading at planMirror.
import { isIPv6 } from 'node:net'
import type { Service } from '@fairlead/client'
import { isTerminating, jsonEqual } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import {
  EndpointSlice,
  Endpoints,
  canonicalAddress,
  controllerReference,
  endpointIdentity,
  groupKey,
  hasSelector,
  leaderAnnotation,
  managedByLabel,
  replacing,
  serviceNameLabel,
  slicePrefix,
  triggerTimeAnnotation,
} from './endpoint-slice.ts'
import type { Endpoint, SlicePlan } from './endpoint-slice.ts'
import { repackedSubsets } from './repacked-subsets.ts'
import type { EndpointAddress, EndpointPort } from './repacked-subsets.ts'

/** The value of the label {@link managedByLabel} for mirrored slices. */
export const mirroringController = 'endpointslicemirroring-controller.k8s.io'
const skipMirrorLabel = 'endpointslice.kubernetes.io/skip-mirror'
/** Annotations of Endpoints that their slices do not get. */
const ownAnnotations: readonly string[] = [triggerTimeAnnotation, 'kubectl.kubernetes.io/last-applied-configuration']
/** The most addresses of a subset that are mirrored (`--mirroring-max-endpoints-per-subset`). */
export const maxAddresses = 1000

/** The objects that a plan is made from. */
export interface MirrorState {
  readonly endpoints: Endpoints | undefined
  readonly service: Service | undefined
  /** The slices that mirror the Endpoints. */
  readonly slices: readonly EndpointSlice[]
}

/** The writes that make the slices mirror the Endpoints. */
export interface MirrorPlan extends SlicePlan {
  /** Number of addresses beyond {@link maxAddresses} of a subset, which are in no slice. */
  readonly skipped: number
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
      group.endpoints.set(endpointIdentity(endpoint), endpoint)
    }
  }
  return { groups, skipped }
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

function sliceOf(endpoints: Endpoints, { addressType, ports, endpoints: distinct }: Group): EndpointSlice {
  const { name = '', namespace = '', labels, annotations } = endpoints.metadata
  const kept = Object.entries(annotations ?? {}).filter(([key]) => !ownAnnotations.includes(key))
  return {
    apiVersion: EndpointSlice.apiVersion,
    kind: EndpointSlice.kind,
    metadata: {
      namespace,
      generateName: slicePrefix(name),
      labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: mirroringController },
      ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
      ownerReferences: [controllerReference(Endpoints, endpoints)],
    },
    addressType,
    endpoints: [...distinct.values()].slice(0, maxAddresses),
    ...(ports.length === 0 ? {} : { ports }),
  }
}

/** Compares two slices of one group: their endpoints in any order. */
function isSame(found: EndpointSlice, wanted: EndpointSlice): boolean {
  return jsonEqual(comparable(found), comparable(wanted))
}

function comparable({ metadata, endpoints: list }: EndpointSlice): JsonValue {
  const endpoints = list ?? []
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata
  const distinct = Object.fromEntries(endpoints.map((endpoint) => [endpointIdentity(endpoint), endpoint]))
  return { labels, annotations, ownerReferences, endpoints: endpoints.length, distinct } as unknown as JsonValue
}
