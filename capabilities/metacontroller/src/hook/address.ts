// Resolves the host of a hook for controllers that run outside the cluster: `<service>.<namespace>[.svc]` is looked up
// as the Service that it names.
import type { Client } from '@fairlead/client'
import { kind } from '@fairlead/client'
import type { HookResolver } from '@fairlead/controller'
import type { Clock, KubeObject } from '@fairlead/kube'
import { isForbidden } from '@fairlead/kube'

interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string
    readonly externalName?: string
    readonly ports?: readonly { readonly name?: string; readonly port: number }[]
  }
}

interface EndpointSlice extends KubeObject {
  readonly endpoints?:
    | readonly { readonly addresses?: readonly string[]; readonly conditions?: { readonly ready?: boolean } }[]
    | null
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null
}

interface Address {
  readonly host: string
  readonly port: number
}

/** Options of {@link serviceResolver}. */
export interface ResolverOptions {
  readonly client: Client
  readonly clock: Clock
  /** `host:port` by host name (`fairlead up --resolve name=host:port`). */
  readonly resolve: ReadonlyMap<string, string>
}

const services = kind<Service>('v1', 'Service', { plural: 'services', namespaced: true })
const endpointSlices = kind<EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice', {
  plural: 'endpointslices',
  namespaced: true,
})
/** Milliseconds that an address is cached. */
const maxAge = 10_000

/**
 * Resolves names of Services by the Service itself (ExternalName, or a ready endpoint), else by the table given. Names
 * of another form are left to DNS. Throws when a name has the form of a Service and neither resolves it.
 */
export function serviceResolver(options: ResolverOptions): HookResolver {
  // Each lookup returns the next endpoint, so that one that is dead is not called for long.
  let lookups = 0
  const cache = new Map<string, { readonly until: number; readonly address: Address | undefined }>()
  return async (host, port) => {
    const id = `${host}:${port}`
    const now = options.clock.now()
    const cached = cache.get(id)
    if (cached !== undefined && cached.until > now) return cached.address
    const address = await resolve(options, host, port, lookups++)
    cache.set(id, { until: now + maxAge, address })
    return address
  }
}

async function resolve(
  { client, resolve: table }: ResolverOptions,
  host: string,
  port: number,
  lookup: number,
): Promise<Address | undefined> {
  const service = serviceName(host)
  if (service === undefined) return tableAddress(table, host)
  const found = await throughService(client, service, port, lookup)
  const address = found ?? tableAddress(table, host, `${service.name}.${service.namespace}`)
  if (address !== undefined) return address
  throw new Error(
    `Service ${service.namespace}/${service.name} has no ready address; create it, or start with --resolve ${service.name}.${service.namespace}=HOST:PORT`,
  )
}

/** Parses the Service and namespace of a host: `<service>.<namespace>`, with or without `.svc` and a cluster domain. */
function serviceName(host: string): { readonly name: string; readonly namespace: string } | undefined {
  const [name, namespace, svc] = host.split('.')
  if (name === undefined || namespace === undefined || (svc !== undefined && svc !== 'svc')) return undefined
  return /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name) && /[a-z]/.test(namespace) ? { name, namespace } : undefined
}

async function throughService(
  client: Client,
  { name, namespace }: { name: string; namespace: string },
  port: number,
  lookup: number,
): Promise<Address | undefined> {
  try {
    const service = await client.find(services, { namespace, name })
    if (service === undefined) return undefined
    if (service.spec?.type === 'ExternalName')
      return service.spec.externalName === undefined ? undefined : { host: service.spec.externalName, port }
    const portName = service.spec?.ports?.find((one) => one.port === port)?.name ?? ''
    const { items } = await client.list(endpointSlices, {
      namespace,
      labelSelector: `kubernetes.io/service-name=${name}`,
    })
    const found: Address[] = []
    for (const slice of items) {
      const target = slice.ports?.find((one) => (one.name ?? '') === portName)?.port
      const ready = slice.endpoints?.filter((endpoint) => endpoint.conditions?.ready !== false) ?? []
      if (target === undefined) continue
      for (const host of ready.flatMap(({ addresses = [] }) => addresses.slice(0, 1)))
        found.push({ host, port: target })
    }
    return found[lookup % found.length]
  } catch (error) {
    // Without the right to read Services the table still applies.
    if (isForbidden(error)) return undefined
    throw error
  }
}

function tableAddress(table: ReadonlyMap<string, string>, ...hosts: readonly string[]): Address | undefined {
  const found = hosts.map((host) => table.get(host)).find((address) => address !== undefined)
  const colon = found?.lastIndexOf(':') ?? -1
  if (found === undefined || colon < 0) return undefined
  return { host: found.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(found.slice(colon + 1)) }
}
