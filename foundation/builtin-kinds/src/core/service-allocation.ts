// Allocation of cluster IPs from 10.0.0.0/24, as in the recorded server, and of node ports from 30000-32767. There are
// no reservations: an address or port is allocated when a stored service has it, and the search starts at an offset
// derived from the service's uid, so that concurrent creations rarely conflict.
import type { FieldError, JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, internalError } from '@fairlead/kube'
import type { WriteContext } from '../definition/strategy.ts'
import { withoutLeadingZeros } from '../addresses/ip-address.ts'
import { draftsAt, has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

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
  allocateHealthCheckPort(spec, taken.ports, start)
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

/** Allocates the port that a load balancer with local traffic asks for the health of a node. */
function allocateHealthCheckPort(spec: MutableJsonObject, taken: Set<number>, start: number): void {
  if (spec['type'] !== 'LoadBalancer' || spec['externalTrafficPolicy'] !== 'Local') return
  const number = numberAt(spec, 'healthCheckNodePort') ?? 0
  if (number !== 0) {
    taken.add(number)
    return
  }
  const free = freePort(taken, start)
  spec['healthCheckNodePort'] = free
  taken.add(free)
}

/** Validates the cluster IP and node ports that the body requests. */
export function allocationErrors(service: JsonObject, spec: JsonObject, context: WriteContext): FieldError[] {
  const taken = takenByOthers(service, context)
  const addresses = stringsAt(spec, 'clusterIPs')
  const errors: FieldError[] = []
  const [address] = addresses
  if (address !== undefined && address !== 'None' && stringAt(spec, 'type') !== 'ExternalName') {
    const reason = !(isHost(address) || (context.dryRun && address === networkAddress))
      ? context.dryRun
        ? `the provided IP (${address}) is not in the valid range. The range of valid IPs is 10.0.0.0/24`
        : 'the provided network does not match the current range'
      : !context.dryRun && taken.addresses.has(withoutLeadingZeros(address))
        ? 'provided IP is already allocated'
        : ''
    if (reason !== '')
      errors.push(fieldErrors.invalid('spec.clusterIPs', addresses, `failed to allocate IP ${address}: ${reason}`))
  }
  if (!hasNodePorts(spec['type'])) return errors
  const seen = new Set<string>()
  for (const [index, port] of objectsAt(spec, 'ports').entries()) {
    const number = numberAt(port, 'nodePort') ?? 0
    const key = `${stringAt(port, 'protocol')}/${number}`
    const reason =
      portProblem(number, taken.ports, context) ||
      (number !== 0 && seen.has(key) ? 'provided port is already allocated' : '')
    seen.add(key)
    if (reason !== '') errors.push(fieldErrors.invalid(fieldPath('spec.ports', index, 'nodePort'), number, reason))
  }
  if (errors.length === 0) refuseHealthCheckPort(spec, taken.ports, context)
  return errors
}

/** @throws StatusError 500 when the requested port cannot be allocated */
function refuseHealthCheckPort(spec: JsonObject, taken: ReadonlySet<number>, context: WriteContext): void {
  const number = numberAt(spec, 'healthCheckNodePort') ?? 0
  const reason = number === 0 ? '' : portProblem(number, taken, context)
  if (reason !== '') throw internalError(`failed to allocate requested HealthCheck NodePort ${number}: ${reason}`)
}

/** Returns why a node port cannot be allocated, or ''. Dry runs do not look at the range. */
function portProblem(number: number, taken: ReadonlySet<number>, context: WriteContext): string {
  const last = nodePorts.first + nodePorts.count - 1
  if (!context.dryRun && number !== 0 && (number < nodePorts.first || number > last))
    return `provided port is not in the valid range. The range of valid ports is ${nodePorts.first}-${last}`
  return number !== 0 && taken.has(number) ? 'provided port is already allocated' : ''
}

/** Reports whether an address is that of a host of the range: neither the network's nor the broadcast one. */
function isHost(address: string): boolean {
  const host = /^10\.0\.0\.(\d+)$/.exec(withoutLeadingZeros(address))?.[1]
  return host !== undefined && host !== '0' && host !== '255'
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
    if (has(objectAt(other, 'spec'), 'healthCheckNodePort'))
      ports.add(numberAt(other, 'spec', 'healthCheckNodePort') ?? 0)
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
