// Computes the Endpoints of a Service with a selector, as pkg/controller/endpoint of Kubernetes does. Start reading at
// planEndpoints.
import { isTerminating, jsonEqual } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { Endpoints, headlessLabel, triggerTimeAnnotation } from './endpoint-slice.ts'
import { repackedSubsets } from './repacked-subsets.ts'
import type { EndpointAddress, EndpointSubset } from './repacked-subsets.ts'
import { addressesOf, familiesOf, hostnameOf, isHeadless, isReady } from './selected-pods.ts'
import { isServing, podReference, portsOf, selects } from './selected-pods.ts'
import type { SelectingService, ServingPod } from './selected-pods.ts'

const managedByLabel = 'endpoints.kubernetes.io/managed-by'
const overCapacityAnnotation = 'endpoints.kubernetes.io/over-capacity'
/** The most addresses of Endpoints. */
const maxAddresses = 1000

/** Returns the Endpoints to create or update; undefined when `found` is as it should be. */
export function planEndpoints(
  service: SelectingService,
  pods: readonly ServingPod[],
  found: Endpoints | undefined,
  triggerTime: string | undefined,
): Endpoints | undefined {
  const packed = packedSubsets(subsetsOf(service, pods))
  const { subsets, isTruncated } = truncated(packed)
  const labels = labelsOf(service)
  const { [triggerTimeAnnotation]: _, [overCapacityAnnotation]: over, ...others } = found?.metadata.annotations ?? {}
  if (
    found !== undefined &&
    jsonEqual(found.metadata.labels ?? {}, labels) &&
    jsonEqual(comparable(found.subsets ?? []), comparable(subsets)) &&
    (over !== undefined) === isTruncated
  )
    return undefined
  const { namespace = '', name = '', uid, resourceVersion } = { ...service.metadata, ...found?.metadata }
  const annotations = {
    ...others,
    ...(triggerTime === undefined ? {} : { [triggerTimeAnnotation]: triggerTime }),
    ...(isTruncated ? { [overCapacityAnnotation]: 'truncated' } : {}),
  }
  const version = found === undefined ? {} : { uid: uid!, resourceVersion: resourceVersion! }
  return {
    apiVersion: Endpoints.apiVersion,
    kind: Endpoints.kind,
    metadata: { ...version, namespace, name, labels, annotations },
    subsets,
  }
}

function labelsOf(service: SelectingService): Readonly<Record<string, string>> {
  const { [headlessLabel]: _, ...labels } = service.metadata.labels ?? {}
  return {
    ...labels,
    ...(isHeadless(service) ? { [headlessLabel]: '' } : {}),
    [managedByLabel]: 'endpoint-controller',
  }
}

/** Returns one subset for each Pod and port. */
function subsetsOf(service: SelectingService, pods: readonly ServingPod[]): readonly EndpointSubset[] {
  const publishes = service.spec?.publishNotReadyAddresses === true
  const subsets: EndpointSubset[] = []
  for (const pod of pods) {
    if (!isServing(pod) || (isTerminating(pod) && !publishes) || !selects(service, pod.metadata.labels)) continue
    const [ip] = addressesOf(pod, familiesOf(service)[0] ?? 'IPv4')
    if (ip === undefined) continue
    const hostname = hostnameOf(pod, service)
    const nodeName = pod.spec?.nodeName
    const address: EndpointAddress = {
      ip,
      ...(hostname === undefined ? {} : { hostname }),
      ...(nodeName ? { nodeName } : {}),
      targetRef: podReference(pod),
    }
    const ports = service.spec?.ports?.length ? portsOf(service, pod).map((port) => [port]) : [[]]
    for (const list of ports)
      subsets.push({ [publishes || isReady(pod) ? 'addresses' : 'notReadyAddresses']: [address], ports: list })
  }
  return subsets
}

function packedSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  return repackedSubsets(subsets).map(({ addresses, ports }) => ({
    addresses: addresses.filter(({ ready }) => ready).map(({ address }) => address),
    notReadyAddresses: addresses.filter(({ ready }) => !ready).map(({ address }) => address),
    ports,
  }))
}

/**
 * Returns at most {@link maxAddresses} addresses: ready ones first, and of each subset a number in proportion to its
 * size.
 */
function truncated(subsets: readonly EndpointSubset[]): { subsets: readonly EndpointSubset[]; isTruncated: boolean } {
  const total = (field: 'addresses' | 'notReadyAddresses'): number =>
    subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0)
  const [ready, notReady] = [total('addresses'), total('notReadyAddresses')]
  if (ready + notReady <= maxAddresses) return { subsets: subsets.map(withoutEmpty), isTruncated: false }
  const cut = ready > maxAddresses ? 'addresses' : 'notReadyAddresses'
  const [capacity, count] = ready > maxAddresses ? [maxAddresses, ready] : [maxAddresses - ready, notReady]
  let left = capacity
  const kept = subsets.map((subset) => {
    const list = subset[cut] ?? []
    const part = list.slice(0, Math.min(left, Math.ceil((list.length / count) * capacity)))
    left -= part.length
    return withoutEmpty({ ...subset, ...(cut === 'addresses' ? { notReadyAddresses: [] } : {}), [cut]: part })
  })
  // Kubernetes keeps subsets without addresses here and its own update is refused then.
  return {
    subsets: kept.filter(({ addresses, notReadyAddresses }) => addresses ?? notReadyAddresses),
    isTruncated: true,
  }
}

function withoutEmpty(subset: EndpointSubset): EndpointSubset {
  return Object.fromEntries(Object.entries(subset).filter(([, list]) => (list as readonly unknown[]).length > 0))
}

/** Returns subsets in a form in which equal addresses and ports in any order are equal. */
function comparable(subsets: readonly EndpointSubset[]): JsonValue {
  const sorted = (list: readonly object[] | null | undefined): string[] =>
    (list ?? []).map((one) => JSON.stringify(Object.entries(one).toSorted())).toSorted()
  return packedSubsets(subsets)
    .map((subset) => JSON.stringify([sorted(subset.addresses), sorted(subset.notReadyAddresses), sorted(subset.ports)]))
    .toSorted()
}
