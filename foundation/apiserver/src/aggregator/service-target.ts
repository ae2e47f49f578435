// Resolves the Service of an APIService: to a configured address, to its external name, or to an address of its
// EndpointSlices.
import type { HookResolver } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { serviceAddresses } from '../webhooks/service-address.ts'
import type { ServiceSource } from '../webhooks/service-address.ts'
import type { AddressOf } from './remote-server.ts'

/**
 * The Service of an APIService does not exist or has no endpoints.
 * @internal reported in a condition
 */
export class ServiceUnresolved extends Error {
  readonly reason: 'ServiceNotFound' | 'EndpointsNotFound'

  constructor(reason: ServiceUnresolved['reason'], message: string) {
    super(message)
    this.name = 'ServiceUnresolved'
    this.reason = reason
  }
}

interface Service extends KubeObject {
  readonly spec?: { readonly type?: string; readonly externalName?: string }
}

/** Returns the resolver of addresses. It throws ServiceUnresolved. */
export function serviceTargets({ read, list, resolve }: ServiceSource): AddressOf {
  const endpoints: HookResolver = serviceAddresses({ read, list, resolve: undefined })
  return async ({ service: { namespace, name, port } }) => {
    const configured = await resolve?.(`${name}.${namespace}.svc`, port)
    if (configured !== undefined) return configured
    const service = read('services.', `${namespace}/${name}`) as Service | undefined
    if (service === undefined)
      throw new ServiceUnresolved('ServiceNotFound', `service/${name} in ${JSON.stringify(namespace)} is not present`)
    const { type, externalName = '' } = service.spec ?? {}
    if (type === 'ExternalName') return { host: externalName, port }
    try {
      return (await endpoints(`${name}.${namespace}.svc`, port))!
    } catch {
      const message = `endpoints for service/${name} in ${JSON.stringify(namespace)} have no addresses for port ${port}`
      throw new ServiceUnresolved('EndpointsNotFound', message)
    }
  }
}
