// The services that the hooks of all controllers share: connections, addresses and metrics.
import { isInCluster } from '@fairlead/client'
import type { CapabilityOptions, HookHosts, Manager } from '@fairlead/controller'
import { HookClient } from '@fairlead/controller'
import { serviceResolver } from './address.ts'
import { CallMetrics } from './call-metrics.ts'

/** The services; disposed by the caller of {@link callServices}. */
export interface CallServices extends AsyncDisposable {
  readonly http: HookClient
  readonly metrics: CallMetrics
}

/** Makes the services of a manager. Makes them once for each manager: metrics are registered. */
export function callServices(
  manager: Manager,
  options: Pick<CapabilityOptions, 'resolve'>,
  hosts?: HookHosts,
): CallServices {
  const { client, clock, endpoints } = manager
  const resolve =
    isInCluster() && options.resolve.size === 0
      ? undefined
      : serviceResolver({ client, clock, resolve: options.resolve })
  const http = new HookClient({ clock, endpoints, resolve, hosts, userAgent: 'fairlead-map', suspendsCalls: true })
  return {
    http,
    metrics: new CallMetrics(manager.metrics.registry),
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  }
}
