// Allocation of cluster IPs from 10.0.0.0/24, as in the recorded server, and of node ports from 30000-32767. There are
// no reservations: an address or port is allocated when a stored service has it, and the search starts at an offset
// derived from the service's uid, so that concurrent creations rarely conflict.
import type { FieldError, JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, internalError } from '@fairlead/kube'
import type { WriteContext } from '../definition/strategy.ts'
import { draftsAt, has, numberAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

/** The network address of the range; dry runs return it, because they allocate nothing. */
const networkAddress = '10.0.0.0'

/** The range that Services get their cluster IPs from. */
export const serviceRange: string = `${networkAddress}/24`

/** The hosts that services get; .1 is the API server's. */
const hosts = { first: 2, count: 253 }

const nodePorts = { first: 30_000, count: 2768 }

/** Reports whether services of a type have node ports. */
export function hasNodePorts(type: JsonValue | undefined): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}

/** Sets `clusterIP` and the first of `clusterIPs`, which are the same. */
export function setClusterIp(spec: MutableJsonObject, address: string): void {
  spec['clusterIP'] = address
  spec['clusterIPs'] = [address]
}

/**
 * Allocates the missing cluster IP and node ports of a service with a valid spec.
 * @throws StatusError 500 when a range is full
 */
export function allocate(service: JsonObject, spec: MutableJsonObject, context: WriteContext): void {
  const taken = takenByOthers(service, context)
  const start = Number.parseInt(stringAt(service, 'metadata', 'uid').slice(0, 6), 16) || 0
  if (stringAt(spec, 'clusterIP') === '')
    setClusterIp(spec, context.dryRun ? networkAddress : freeAddress(taken.addresses, start))
  if (!hasNodePorts(spec['type'])) return
  if (spec['type'] === 'LoadBalancer' && spec['allocateLoadBalancerNodePorts'] === false) return
  for (const port of objectsAt(spec, 'ports'))
    if (has(port, 'nodePort')) taken.ports.add(numberAt(port, 'nodePort') ?? 0)
  for (const port of draftsAt(spec, 'ports')) {
    if (numberAt(port, 'nodePort') ?? 0) continue
    const free = freePort(taken.ports, start)
    port['nodePort'] = free
    taken.ports.add(free)
  }
}

/** Validates the cluster IP and node ports that the body requests. */
export function allocationErrors(service: JsonObject, spec: JsonObject, context: WriteContext): FieldError[] {
  const taken = takenByOthers(service, context)
  const addresses = stringsAt(spec, 'clusterIPs')
  const errors: FieldError[] = []
  const [address] = addresses
  if (address !== undefined && address !== 'None' && stringAt(spec, 'type') !== 'ExternalName') {
    const reason = !address.startsWith('10.0.0.')
      ? context.dryRun
        ? `the provided IP (${address}) is not in the valid range. The range of valid IPs is 10.0.0.0/24`
        : 'the provided network does not match the current range'
      : taken.addresses.has(address)
        ? 'provided IP is already allocated'
        : ''
    if (reason !== '')
      errors.push(fieldErrors.invalid('spec.clusterIPs', addresses, `failed to allocate IP ${address}: ${reason}`))
  }
  if (!hasNodePorts(spec['type'])) return errors
  for (const [index, port] of objectsAt(spec, 'ports').entries()) {
    const number = numberAt(port, 'nodePort') ?? 0
    const last = nodePorts.first + nodePorts.count - 1
    const reason =
      number !== 0 && (number < nodePorts.first || number > last)
        ? `provided port is not in the valid range. The range of valid ports is ${nodePorts.first}-${last}`
        : taken.ports.has(number)
          ? 'provided port is already allocated'
          : ''
    if (reason !== '') errors.push(fieldErrors.invalid(fieldPath('spec.ports', index, 'nodePort'), number, reason))
  }
  return errors
}

function takenByOthers(service: JsonObject, context: WriteContext): { addresses: Set<string>; ports: Set<number> } {
  const addresses = new Set<string>()
  const ports = new Set<number>()
  const uid = stringAt(service, 'metadata', 'uid')
  for (const other of context.list?.('services.') ?? []) {
    if (other.metadata.uid === uid) continue
    addresses.add(stringAt(other, 'spec', 'clusterIP'))
    for (const port of objectsAt(other, 'spec', 'ports'))
      if (has(port, 'nodePort')) ports.add(numberAt(port, 'nodePort') ?? 0)
  }
  return { addresses, ports }
}

function freeAddress(taken: ReadonlySet<string>, start: number): string {
  for (let step = 0; step < hosts.count; step++) {
    const address = `10.0.0.${hosts.first + ((start + step) % hosts.count)}`
    if (!taken.has(address)) return address
  }
  throw internalError('failed to allocate a serviceIP: range is full')
}

function freePort(taken: ReadonlySet<number>, start: number): number {
  for (let step = 0; step < nodePorts.count; step++) {
    const port = nodePorts.first + ((start + step) % nodePorts.count)
    if (!taken.has(port)) return port
  }
  throw internalError('failed to allocate a nodePort: range is full')
}
