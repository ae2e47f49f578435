// Normalizes the subsets of Endpoints as RepackSubsets in pkg/api/v1/endpoints of Kubernetes does: ports with the same
// addresses share a subset.

/** An address of Endpoints. */
export interface EndpointAddress {
  readonly ip: string
  readonly hostname?: string
  readonly nodeName?: string
  readonly targetRef?: { readonly [field: string]: string }
}

/** A port of Endpoints or of an EndpointSlice. */
export interface EndpointPort {
  readonly name?: string
  readonly port: number
  readonly protocol?: string
  readonly appProtocol?: string
}

/** A subset of Endpoints. */
export interface EndpointSubset {
  readonly addresses?: readonly EndpointAddress[] | null
  readonly notReadyAddresses?: readonly EndpointAddress[] | null
  readonly ports?: readonly EndpointPort[] | null
}

/** A normalized subset; ready addresses come first. */
export interface RepackedSubset {
  readonly addresses: readonly { readonly address: EndpointAddress; readonly ready: boolean }[]
  readonly ports: readonly EndpointPort[]
}

/**
 * Returns the subsets with each set of addresses once. An address is one IP of one target; its other fields are those
 * of its first occurrence. It is not ready for a port when any subset says so. Addresses without ports count only where
 * the same set has none at all.
 */
export function repackedSubsets(subsets: readonly EndpointSubset[]): readonly RepackedSubset[] {
  const known = new Map<string, EndpointAddress>()
  const readiness = new Map<string, { port: EndpointPort | undefined; ready: Map<string, boolean> }>()
  for (const { addresses, notReadyAddresses, ports } of subsets) {
    for (const port of ports?.length ? ports.map(withDefaults) : [undefined]) {
      const id = port === undefined ? '' : portKey(port)
      const entry = readiness.get(id) ?? { port, ready: new Map<string, boolean>() }
      readiness.set(id, entry)
      const add = (address: EndpointAddress, ready: boolean): void => {
        const key = JSON.stringify([address.ip, address.targetRef?.['uid'] ?? ''])
        if (!known.has(key)) known.set(key, address)
        entry.ready.set(key, ready && entry.ready.get(key) !== false)
      }
      for (const address of addresses ?? []) add(address, true)
      for (const address of notReadyAddresses ?? []) add(address, false)
    }
  }
  const sets = Map.groupBy(readiness.values(), ({ ready }) => JSON.stringify([...ready].toSorted(byKey)))
  return [...sets.values()].map((entries) => {
    const addresses = [...entries[0]!.ready].map(([key, ready]) => ({ address: known.get(key)!, ready }))
    return {
      addresses: [...addresses.filter(({ ready }) => ready), ...addresses.filter(({ ready }) => !ready)],
      ports: entries.flatMap(({ port }) => port ?? []),
    }
  })
}

/** Formats a port as a string. */
export function portKey({ name = '', port, protocol = 'TCP', appProtocol = '' }: EndpointPort): string {
  return JSON.stringify([name, port, protocol, appProtocol])
}

function withDefaults({ name = '', port, protocol = 'TCP', appProtocol }: EndpointPort): EndpointPort {
  return { name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }
}

function byKey([one]: readonly [string, boolean], [other]: readonly [string, boolean]): number {
  return one < other ? -1 : one > other ? 1 : 0
}
