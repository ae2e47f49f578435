// Resolves the Services of webhooks. There is no cluster network here: a Service resolves to the address that the
// caller configures, or to a ready address of its EndpointSlices, which may be on this machine. Endpoints count like
// the EndpointSlices that a cluster's controller manager would mirror them into.
import type { HookResolver } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'

/** The source of Services and their EndpointSlices. */
export interface ServiceSource {
  readonly read: (resource: string, key: string) => KubeObject | undefined
  readonly list: (resource: string) => Iterable<KubeObject>
  /** Called first, with `name.namespace.svc`; returns undefined for unknown hosts. */
  readonly resolve: HookResolver | undefined
}

interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[]
    readonly conditions?: { readonly ready?: boolean }
  }[]
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[]
}

interface Service extends KubeObject {
  readonly spec?: {
    readonly ports?: readonly { readonly name?: string; readonly port?: number }[]
    readonly selector?: Readonly<Record<string, string>>
  }
}

interface Endpoints extends KubeObject {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly ip?: string }[]
    readonly ports?: readonly { readonly name?: string; readonly port?: number }[]
  }[]
}

/**
 * Returns the resolver of `name.namespace.svc` hosts; it throws an Error in the words of the real server where that has
 * some.
 */
export function serviceAddresses(source: ServiceSource): HookResolver {
  return async (host, port) => {
    const configured = await source.resolve?.(host, port)
    if (configured !== undefined) return configured
    const match = /^([^.]+)\.([^.]+)\.svc$/.exec(host)
    if (match === null) return undefined
    const [, name, namespace] = match as unknown as [string, string, string]
    const service = source.read('services.', `${namespace}/${name}`) as Service | undefined
    if (service === undefined) throw new Error(`service ${JSON.stringify(name)} not found`)
    const address = endpointOf(source, service, port)
    if (address !== undefined) return address
    throw new Error(
      `no endpoints available for service ${JSON.stringify(name)}: this server has no cluster network; use clientConfig.url, or start it with --resolve ${name}.${namespace}=HOST:PORT`,
    )
  }
}

interface Address {
  readonly host: string
  readonly port: number
}

function endpointOf({ read, list }: ServiceSource, { metadata, spec }: Service, port: number): Address | undefined {
  const portName = spec?.ports?.find((candidate) => candidate.port === port)?.name ?? ''
  for (const slice of list('endpointslices.discovery.k8s.io') as Iterable<EndpointSlice>) {
    const { namespace, labels } = slice.metadata
    if (namespace !== metadata.namespace || labels?.['kubernetes.io/service-name'] !== metadata.name) continue
    // The Endpoints below are newer than the slices that mirror them.
    if (labels?.['endpointslice.kubernetes.io/managed-by'] === 'endpointslicemirroring-controller.k8s.io') continue
    const target = slice.ports?.find((candidate) => (candidate.name ?? '') === portName)?.port
    const endpoint = slice.endpoints?.find(({ conditions }) => conditions?.ready !== false)
    const host = endpoint?.addresses?.[0]
    if (host !== undefined && target !== undefined) return { host, port: target }
  }
  if (Object.keys(spec?.selector ?? {}).length > 0) return undefined
  return mirroredEndpoint(read('endpoints.', `${metadata.namespace}/${metadata.name}`), portName)
}

/** Returns an address of Endpoints that the mirroring controller would not skip. */
function mirroredEndpoint(endpoints: Endpoints | undefined, portName: string): Address | undefined {
  const { labels, annotations } = endpoints?.metadata ?? {}
  if (labels?.['endpointslice.kubernetes.io/skip-mirror'] === 'true') return undefined
  if (annotations?.['control-plane.alpha.kubernetes.io/leader'] !== undefined) return undefined
  for (const { addresses, ports } of endpoints?.subsets ?? []) {
    const target = ports?.find((candidate) => (candidate.name ?? '') === portName)?.port
    const host = addresses?.[0]?.ip
    if (host !== undefined && target !== undefined) return { host, port: target }
  }
  return undefined
}
