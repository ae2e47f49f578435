// Services as webhooks name them. There is no cluster network here: a Service leads to where the caller says, or to a ready address of its
// EndpointSlices, which may well be on this machine.
import type { HookResolver } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'

/** Where Services and their EndpointSlices are looked up. */
export interface ServiceSource {
  readonly read: (resource: string, key: string) => KubeObject | undefined
  readonly list: (resource: string) => Iterable<KubeObject>
  /** Asked first, with `name.namespace.svc`; undefined: not known. */
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
  readonly spec?: { readonly ports?: readonly { readonly name?: string; readonly port?: number }[] }
}

/** Finds addresses of `name.namespace.svc` hosts; throws an Error with the real server's words where it has some. */
export function serviceAddresses(source: ServiceSource): HookResolver {
  return async (host, port) => {
    const told = await source.resolve?.(host, port)
    if (told !== undefined) return told
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

function endpointOf(
  { list }: ServiceSource,
  { metadata, spec }: Service,
  port: number,
): { readonly host: string; readonly port: number } | undefined {
  const portName = spec?.ports?.find((candidate) => candidate.port === port)?.name ?? ''
  for (const slice of list('endpointslices.discovery.k8s.io') as Iterable<EndpointSlice>) {
    const { namespace, labels } = slice.metadata
    if (namespace !== metadata.namespace || labels?.['kubernetes.io/service-name'] !== metadata.name) continue
    const target = slice.ports?.find((candidate) => (candidate.name ?? '') === portName)?.port
    const endpoint = slice.endpoints?.find(({ conditions }) => conditions?.ready !== false)
    const host = endpoint?.addresses?.[0]
    if (host !== undefined && target !== undefined) return { host, port: target }
  }
  return undefined
}
