// Cluster IPs of services, from the range 10.0.0.0/24 that the recorded server had. Nothing is reserved: an address is taken when a stored
// service has it, and the search starts at a place that the service's uid decides, so that concurrent creations rarely meet.
import type { JsonObject } from '@fairlead/kube'
import { internalError } from '@fairlead/kube'
import { isIP } from 'node:net'
import type { WriteContext } from '../../registry/strategy.ts'
import { stringAt } from '../fields.ts'

/** The network address of the range; a dry run shows it, for it allocates nothing. */
export const clusterIpNetwork = '10.0.0.0'

/** Hosts that services get; .1 is the API server's own. */
const hosts = { first: 2, count: 253 }

/** An IPv4 or IPv6 address. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0
}

/**
 * A free address for a new service.
 * @throws StatusError 500 when the range is full
 */
export function allocateClusterIp(context: WriteContext, service: JsonObject): string {
  const taken = new Set<string>()
  for (const other of context.list?.('services.') ?? []) taken.add(stringAt(other, 'spec', 'clusterIP'))
  const start = Number.parseInt(stringAt(service, 'metadata', 'uid').slice(0, 6), 16) || 0
  for (let step = 0; step < hosts.count; step++) {
    const address = `10.0.0.${hosts.first + ((start + step) % hosts.count)}`
    if (!taken.has(address)) return address
  }
  throw internalError('failed to allocate a serviceIP: range is full')
}
