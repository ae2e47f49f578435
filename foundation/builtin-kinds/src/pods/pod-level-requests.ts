// Defaults of the requests of a whole pod (pkg/apis/core/v1/defaults.go, setDefaultPodLevelRequests).
import type { JsonObject, MutableJsonObject, Quantity } from '@fairlead/kube'
import { addQuantities, compareQuantities, formatQuantity, isQuantity, parseQuantity } from '@fairlead/kube'
import { draftAt, mapAt, objectsAt, stringAt } from '../fields.ts'

/** Resources of which nodes can promise more than they have. */
const overcommitted: ReadonlySet<string> = new Set(['cpu', 'memory'])

/**
 * Sets the requests of a pod with limits of its own: those of its containers together, then its limits. Those that are
 * set stay.
 */
export function requestsOfPod(spec: MutableJsonObject): void {
  const resources = draftAt(spec, 'resources')
  if (resources === undefined || Object.keys(mapAt(resources, 'limits')).length === 0) return
  const requests: MutableJsonObject = { ...mapAt(resources, 'requests') }
  for (const [name, amount] of amountsOfContainers(spec, 'requests'))
    if (overcommitted.has(name)) requests[name] ??= formatQuantity(amount)
  for (const [name, limit] of Object.entries(mapAt(resources, 'limits')))
    if (overcommitted.has(name) || name.startsWith('hugepages-')) requests[name] ??= limit
  if (Object.keys(requests).length > 0) resources['requests'] = requests
}

/** Quantities by the name of their resource. */
export type Amounts = Map<string, Quantity>

/** Returns what the containers need at the same time, or one of the initial containers beside sidecars. */
export function amountsOfContainers(spec: JsonObject, list: 'requests' | 'limits'): Amounts {
  const total: Amounts = new Map()
  for (const container of objectsAt(spec, 'containers')) add(total, amountsOf(container, list))
  const sidecars: Amounts = new Map()
  const largest: Amounts = new Map()
  for (const container of objectsAt(spec, 'initContainers')) {
    const requests = amountsOf(container, list)
    const isSidecar = stringAt(container, 'restartPolicy') === 'Always'
    if (isSidecar) {
      add(total, requests)
      add(sidecars, requests)
    } else add(requests, sidecars)
    for (const [name, amount] of isSidecar ? sidecars : requests) keepLarger(largest, name, amount)
  }
  for (const [name, amount] of largest) keepLarger(total, name, amount)
  return total
}

function amountsOf(container: JsonObject, list: 'requests' | 'limits'): Amounts {
  return new Map(
    Object.entries(mapAt(container, 'resources', list)).flatMap(([name, amount]) =>
      isQuantity(amount) ? [[name, parseQuantity(amount)] as const] : [],
    ),
  )
}

function add(to: Amounts, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const before = to.get(name)
    to.set(name, before === undefined ? amount : addQuantities(before, amount))
  }
}

function keepLarger(amounts: Amounts, name: string, amount: Quantity): void {
  const before = amounts.get(name)
  if (before === undefined || compareQuantities(amount, before) > 0) amounts.set(name, amount)
}
