// Computes the EndpointSlices of a Service with a selector, and the writes that lead to them, as k8s.io/endpointslice
// does. Start reading at planSlices.
import { SelectingService, addressesOf, familiesOf, hostnameOf, isHeadless, isReady } from './selected-pods.ts'
import { isServing, podReference, portsOf, selects } from './selected-pods.ts'
import { isTerminating, jsonEqual } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import {
  EndpointSlice,
  controllerReference,
  endpointIdentity,
  groupKey,
  headlessLabel,
  managedByLabel,
  replacing,
  serviceNameLabel,
  slicePrefix,
  triggerTimeAnnotation,
} from './endpoint-slice.ts'
import type { AddressType, Endpoint, SlicePlan } from './endpoint-slice.ts'
import type { EndpointPort } from './repacked-subsets.ts'
import type { ServingPod } from './selected-pods.ts'

/** The value of the label {@link managedByLabel} for slices of Pods. */
export const sliceController = 'endpointslice-controller.k8s.io'
/** The most endpoints of a slice (`--max-endpoints-per-slice`). */
export const maxEndpoints = 100
/** The label of a Node that names its zone. */
const zoneLabel = 'topology.kubernetes.io/zone'

/** The objects that a plan is made from. */
export interface ServiceState {
  readonly service: SelectingService
  /** The Pods of the Service's namespace, or more. */
  readonly pods: readonly ServingPod[]
  /** The slices of the Service with the label of this controller. */
  readonly slices: readonly EndpointSlice[]
  /** Returns a Node by its name. */
  readonly node: (name: string) => KubeObject | undefined
  /** The time of the change that leads to the writes. */
  readonly triggerTime: string | undefined
}

interface Group {
  readonly ports: readonly EndpointPort[]
  /** By identity. */
  readonly endpoints: Map<string, Endpoint>
}

interface Writes {
  readonly create: EndpointSlice[]
  readonly update: Map<EndpointSlice, EndpointSlice>
  readonly delete: EndpointSlice[]
}

/**
 * Plans the slices of a Service: for each IP family and combination of ports as few as possible, or one without
 * endpoints. Endpoints stay in their slices; changed slices are filled up first, and slices that would be deleted are
 * reused.
 */
export function planSlices(state: ServiceState): SlicePlan {
  const { service } = state
  const plan: Writes = { create: [], update: new Map(), delete: [] }
  const families = familiesOf(service)
  const slices = state.slices.filter((slice) => !isTerminating(slice))
  plan.delete.push(...slices.filter(({ addressType }) => !families.includes(addressType as 'IPv4')))
  for (const family of families) planFamily(state, family, slices, plan)
  return {
    // The slices of a deleted Service are deleted with it.
    create: isTerminating(service) ? [] : plan.create.map((slice) => timed(slice, state)),
    update: [...plan.update].map(([found, wanted]) => replacing(found, timed(wanted, state))),
    delete: plan.delete,
  }
}

function planFamily(state: ServiceState, family: AddressType, slices: readonly EndpointSlice[], plan: Writes): void {
  const { service } = state
  const ofFamily = slices.filter(({ addressType }) => addressType === family)
  const owned = ofFamily.filter((slice) => isOwned(slice, service))
  const stale = ofFamily.filter((slice) => !isOwned(slice, service))
  const existing = Map.groupBy(owned, ({ ports }) => groupKey(family, ports ?? []))
  const wanted = groupsOf(state, family)
  const create: EndpointSlice[] = []
  for (const [key, group] of wanted) {
    const writes = planGroup(service, family, group, existing.get(key) ?? [])
    create.push(...writes.create)
    stale.push(...writes.delete)
    for (const [found, slice] of writes.update) plan.update.set(found, slice)
  }
  for (const [key, found] of existing) if (!wanted.has(key)) stale.push(...found)
  if (stale.length === ofFamily.length && create.length === 0) {
    const empty = sliceOf(service, family, [], [])
    if (stale.length === 1 && isSame(stale[0]!, empty)) stale.pop()
    else create.push(empty)
  }
  for (const slice of stale) {
    const reuse = isOwned(slice, service) ? create.pop() : undefined
    if (reuse === undefined) plan.delete.push(slice)
    else plan.update.set(slice, reuse)
  }
  plan.create.push(...create)
}

/** Plans the slices of one combination of ports. */
function planGroup(
  service: SelectingService,
  family: AddressType,
  { ports, endpoints }: Group,
  slices: readonly EndpointSlice[],
): Writes {
  const plan: Writes = { create: [], update: new Map(), delete: [] }
  const left = new Map(endpoints)
  const filled = new Map<EndpointSlice, Endpoint[]>()
  const unchanged = new Map<EndpointSlice, Endpoint[]>()
  for (const slice of slices) {
    const found = slice.endpoints ?? []
    const kept = found.flatMap((endpoint) => {
      const identity = endpointIdentity(endpoint)
      const wanted = left.get(identity)
      left.delete(identity)
      return wanted === undefined ? [] : [wanted]
    })
    const isChanged = !jsonEqual(found as unknown as JsonValue, kept as unknown as JsonValue)
    if (isChanged && kept.length === 0) plan.delete.push(slice)
    else if (isChanged || !jsonEqual(slice.metadata.labels ?? {}, labelsOf(service))) filled.set(slice, kept)
    else unchanged.set(slice, kept)
  }
  const rest = [...left.values()]
  const fill = (list: Endpoint[]): void => void list.push(...rest.splice(0, maxEndpoints - list.length))
  for (const list of [...filled.values()].toSorted((one, other) => other.length - one.length)) fill(list)
  while (rest.length > 0) {
    const fitting = [...unchanged].filter(([, list]) => list.length + rest.length <= maxEndpoints)
    const [fullest] = fitting.toSorted(([, one], [, other]) => other.length - one.length)
    const list = fullest?.[1] ?? []
    fill(list)
    if (fullest === undefined) plan.create.push(sliceOf(service, family, ports, list))
    else filled.set(fullest[0], list)
  }
  for (const [slice, list] of filled) {
    const { metadata, ...content } = slice
    const { annotations } = metadata
    const updated = sliceOf(service, family, slice.ports ?? [], list)
    plan.update.set(slice, {
      ...content,
      ...updated,
      metadata: { ...updated.metadata, ...(annotations && { annotations }) },
    })
  }
  return plan
}

/** Returns the endpoints of the selected Pods by the ports that they have. */
function groupsOf({ service, pods, node }: ServiceState, family: AddressType): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>()
  for (const pod of pods) {
    if (!isServing(pod) || !selects(service, pod.metadata.labels)) continue
    const ports = portsOf(service, pod)
    const addresses = addressesOf(pod, family)
    const key = groupKey(family, ports)
    const group = groups.get(key) ?? { ports, endpoints: new Map<string, Endpoint>() }
    groups.set(key, group)
    if (addresses.length === 0) continue
    const endpoint = endpointOf(service, pod, addresses, node)
    group.endpoints.set(endpointIdentity(endpoint), endpoint)
  }
  return groups
}

function endpointOf(
  service: SelectingService,
  pod: ServingPod,
  addresses: readonly string[],
  node: ServiceState['node'],
): Endpoint {
  const serving = isReady(pod)
  const terminating = isTerminating(pod)
  const hostname = hostnameOf(pod, service)
  const nodeName = pod.spec?.nodeName
  const zone = nodeName ? node(nodeName)?.metadata.labels?.[zoneLabel] : undefined
  return {
    addresses,
    conditions: {
      ready: service.spec?.publishNotReadyAddresses === true || (serving && !terminating),
      serving,
      terminating,
    },
    ...(hostname === undefined ? {} : { hostname }),
    targetRef: podReference(pod),
    ...(nodeName ? { nodeName } : {}),
    ...(zone ? { zone } : {}),
  }
}

function sliceOf(
  service: SelectingService,
  addressType: AddressType,
  ports: readonly EndpointPort[],
  endpoints: readonly Endpoint[],
): EndpointSlice {
  const { name = '', namespace = '' } = service.metadata
  return {
    apiVersion: EndpointSlice.apiVersion,
    kind: EndpointSlice.kind,
    metadata: {
      namespace,
      generateName: slicePrefix(name),
      labels: labelsOf(service),
      ownerReferences: [controllerReference(SelectingService, service)],
    },
    addressType,
    endpoints,
    ports,
  }
}

function labelsOf(service: SelectingService): Readonly<Record<string, string>> {
  const { [headlessLabel]: _, ...labels } = service.metadata.labels ?? {}
  return {
    ...labels,
    ...(isHeadless(service) ? { [headlessLabel]: '' } : {}),
    [serviceNameLabel]: service.metadata.name ?? '',
    [managedByLabel]: sliceController,
  }
}

/** Returns the slice with the time of the change, or without that of an earlier one. */
function timed(slice: EndpointSlice, { triggerTime }: ServiceState): EndpointSlice {
  const { [triggerTimeAnnotation]: _, ...others } = slice.metadata.annotations ?? {}
  const annotations = { ...others, ...(triggerTime === undefined ? {} : { [triggerTimeAnnotation]: triggerTime }) }
  return { ...slice, metadata: { ...slice.metadata, annotations } }
}

function isOwned({ metadata }: EndpointSlice, service: SelectingService): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ uid, kind, apiVersion }) => uid === service.metadata.uid && kind === 'Service' && apiVersion === 'v1',
  )
}

/** Compares a slice with a wanted one without endpoints. */
function isSame(found: EndpointSlice, { metadata, ports }: EndpointSlice): boolean {
  return (
    (found.endpoints ?? []).length === 0 &&
    (found.ports ?? []).length === ports?.length &&
    jsonEqual(found.metadata.labels ?? {}, metadata.labels ?? {})
  )
}
