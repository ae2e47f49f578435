// The aggregator (k8s.io/kube-aggregator): proxies the groups of APIServices that refer to Services and registers their
// resources. Loaded on first use.
import type { Client } from '@fairlead/client'
import { jsonEqual } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { ApiService } from '../extension-server/api-services.ts'
import type { Registry } from '../registry/registry.ts'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import type { ServiceSource } from '../webhooks/service-address.ts'
import { frontProxyCertificates, publishAuthentication } from './front-proxy.ts'
import type { FrontProxyCertificates } from './front-proxy.ts'
import { apiServicesResource } from './lazy-aggregator.ts'
import { RemoteApi } from './remote-api.ts'
import { serviceTargets } from './service-target.ts'
import type { Upstream, UpstreamResolver } from '../http/upstream.ts'
import type { RemoteApiService } from './remote-api-service.ts'

/** Dependencies of an {@link Aggregator}. */
export interface AggregatorOptions extends ServiceSource {
  readonly registry: Registry
  /** Writes the status of APIServices. */
  readonly client: Client
  /** PEM of the authority of client certificates, which is published to extension API servers. */
  readonly clientAuthority: () => Promise<string>
  readonly onError: (error: unknown) => void
}

/** All extension API servers. */
export class Aggregator implements UpstreamResolver, AsyncDisposable {
  readonly #options: AggregatorOptions
  readonly #remotes = new Map<string, RemoteApi>()
  /** The registered definitions by group version. */
  readonly #discovered = new Map<string, readonly ResourceDefinition[]>()
  #updating: Promise<void> = Promise.resolve()
  #disposed = false
  #frontProxy: FrontProxyCertificates | undefined
  #localEpoch = 0
  #local: ReadonlySet<string> = new Set()

  constructor(options: AggregatorOptions) {
    this.#options = options
  }

  /** Applies the current APIServices. */
  update(): void {
    this.#updating = this.#updating.then(() => this.#update()).catch(this.#options.onError)
  }

  resolve(path: string): Upstream | undefined {
    if (this.#remotes.size === 0) return undefined
    const match = /^(?:\/openapi\/v3)?\/apis\/([^/]+)\/([^/]+)(?:\/|$)/.exec(path)
    if (match === null) return undefined
    const groupVersion = `${match[1]}/${match[2]}`
    return this.#locallyServed().has(groupVersion) ? undefined : this.#remotes.get(groupVersion)
  }

  async openApiPaths(): Promise<Readonly<Record<string, { readonly serverRelativeURL: string }>>> {
    const local = this.#locallyServed()
    const remotes = [...this.#remotes].filter(([groupVersion]) => !local.has(groupVersion))
    const entries = await Promise.all(
      remotes.map(async ([groupVersion, remote]) => [`apis/${groupVersion}`, await remote.openApiEntry()] as const),
    )
    return Object.fromEntries(entries.filter(([, entry]) => isIndexEntry(entry))) as Readonly<
      Record<string, { readonly serverRelativeURL: string }>
    >
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true
    await this.#updating
    for (const remote of this.#remotes.values()) remote[Symbol.dispose]()
    this.#remotes.clear()
  }

  async #update(): Promise<void> {
    if (this.#disposed) return
    const wanted = new Map<string, RemoteApiService>()
    for (const object of this.#options.list(apiServicesResource)) {
      const api = remoteApiService(object)
      if (api !== undefined) wanted.set(`${api.group}/${api.version}`, api)
    }
    for (const [groupVersion, remote] of this.#remotes) {
      const api = wanted.get(groupVersion)
      if (api !== undefined && jsonEqual(api, remote.api)) continue
      remote[Symbol.dispose]()
      this.#remotes.delete(groupVersion)
      if (api === undefined) this.#unregister(groupVersion)
    }
    const missing = [...wanted].filter(([groupVersion]) => !this.#remotes.has(groupVersion))
    if (missing.length === 0) return
    const { client, onError } = this.#options
    const { client: certificate } = await this.#publishedCertificates()
    if (this.#disposed) return
    const addressOf = serviceTargets(this.#options)
    for (const [groupVersion, api] of missing) {
      const onDiscovered = (definitions: readonly ResourceDefinition[]): void =>
        this.#register(groupVersion, definitions)
      const remote = new RemoteApi(api, { client, certificate, addressOf, onDiscovered, onError })
      this.#remotes.set(groupVersion, remote)
      remote.check()
    }
  }

  /** Returns the front-proxy certificates after publishing their authority. */
  async #publishedCertificates(): Promise<FrontProxyCertificates> {
    if (this.#frontProxy !== undefined) return this.#frontProxy
    const { client, clientAuthority } = this.#options
    const made = await frontProxyCertificates(client.clock)
    await publishAuthentication(client, await clientAuthority(), made)
    return (this.#frontProxy = made)
  }

  #register(groupVersion: string, definitions: readonly ResourceDefinition[]): void {
    const { registry } = this.#options
    if (jsonEqual(comparable(this.#discovered.get(groupVersion) ?? []), comparable(definitions))) return
    this.#unregister(groupVersion)
    const ours = definitions.filter(
      ({ group, plural }) => (registry.definition(group, plural)?.origin ?? 'remote') === 'remote',
    )
    this.#discovered.set(groupVersion, definitions)
    if (ours.length > 0) registry.put(...this.#merged(ours))
  }

  /** Adds the already known versions of a resource, from other servers or other versions of one. */
  #merged(definitions: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
    const { registry } = this.#options
    return definitions.map((definition) => {
      const known = registry.definition(definition.group, definition.plural)
      if (known === undefined) return definition
      const names = new Set(definition.versions.map(({ name }) => name))
      return {
        ...definition,
        versions: [...definition.versions, ...known.versions.filter(({ name }) => !names.has(name))],
      }
    })
  }

  #unregister(groupVersion: string): void {
    const { registry } = this.#options
    for (const { group, plural, storageVersion } of this.#discovered.get(groupVersion) ?? []) {
      const known = registry.definition(group, plural)
      if (known?.origin !== 'remote') continue
      const versions = known.versions.filter(({ name }) => name !== storageVersion)
      if (versions.length === 0) registry.remove(group, plural)
      else registry.put({ ...known, versions, storageVersion: versions[0]!.name })
    }
    this.#discovered.delete(groupVersion)
  }

  /** Returns the group versions that this server serves itself, which are never proxied. */
  #locallyServed(): ReadonlySet<string> {
    const { registry } = this.#options
    if (this.#localEpoch !== registry.epoch) {
      const local = new Set<string>()
      for (const { group, versions, origin } of registry.definitions) {
        if (origin !== 'remote') for (const { name, served } of versions) if (served) local.add(`${group}/${name}`)
      }
      this.#local = local
      this.#localEpoch = registry.epoch
    }
    return this.#local
  }
}

/** Parses an APIService; returns undefined for one without a Service. */
function remoteApiService({ metadata, spec }: ApiService): RemoteApiService | undefined {
  const { group = '', version = '', service, caBundle = '', insecureSkipTLSVerify = false } = spec ?? {}
  if (service === undefined || service === null || group === '' || version === '') return undefined
  return {
    name: metadata.name ?? '',
    group,
    version,
    service: { namespace: service.namespace ?? '', name: service.name ?? '', port: service.port ?? 443 },
    ca: caBundle === '' ? undefined : Buffer.from(caBundle, 'base64').toString(),
    insecure: insecureSkipTLSVerify,
  }
}

/** Returns the parts of definitions that clients can see. */
function comparable(definitions: readonly ResourceDefinition[]): JsonValue {
  return definitions.map(({ strategy: _strategy, versions, ...definition }) => ({
    ...definition,
    versions: versions.map(({ name, verbs, subresources }) => ({ name, verbs, subresources })),
  })) as unknown as JsonValue
}

function isIndexEntry(entry: JsonValue | undefined): boolean {
  return typeof (entry as { serverRelativeURL?: unknown } | undefined)?.serverRelativeURL === 'string'
}
