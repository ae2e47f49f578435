// Where the Service of an APIService leads: where the server was told, by its external name, or to an address of its EndpointSlices.
import type { HookResolver } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { serviceAddresses } from '../webhooks/service-address.ts'
import type { ServiceSource } from '../webhooks/service-address.ts'
import type { AddressOf } from './remote-server.ts'

/**
 * Nobody knows where a Service leads.
 * @internal told in a condition
 */
export class AddressUnknown extends Error {
  readonly reason: 'ServiceNotFound' | 'EndpointsNotFound'

  constructor(reason: AddressUnknown['reason'], message: string) {
    super(message)
    this.name = 'AddressUnknown'
    this.reason = reason
  }
}

interface Service extends KubeObject {
  readonly spec?: { readonly type?: string; readonly externalName?: string }
}

/** Finds addresses. */
export function serviceTargets({ read, list, resolve }: ServiceSource): AddressOf {
  const endpoints: HookResolver = serviceAddresses({ read, list, resolve: undefined })
  return async ({ service: { namespace, name, port } }) => {
    const told = await resolve?.(`${name}.${namespace}.svc`, port)
    if (told !== undefined) return told
    const service = read('services.', `${namespace}/${name}`) as Service | undefined
    if (service === undefined)
      throw new AddressUnknown('ServiceNotFound', `service/${name} in ${JSON.stringify(namespace)} is not present`)
    const { type, externalName = '' } = service.spec ?? {}
    if (type === 'ExternalName') return { host: externalName, port }
    try {
      return (await endpoints(`${name}.${namespace}.svc`, port))!
    } catch {
      const message = `endpoints for service/${name} in ${JSON.stringify(namespace)} have no addresses for port ${port}`
      throw new AddressUnknown('EndpointsNotFound', message)
    }
  }
}
