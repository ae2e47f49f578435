// Maps kinds to resources. Each group and version is fetched once, cached, and fetched again when a kind is missing
// from it.
import { StatusError, asJson, parseApiVersion } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { builtinKinds } from './builtin-kinds.ts'
import { ClientError } from './client-error.ts'
import { kind } from './kind.ts'
import type { Kind, KindLike } from './kind.ts'
import { statusErrorOf } from './response.ts'
import type { ApiRequest, ApiResponse } from './transport.ts'

/** One resource of one version, as discovery shows it. */
export interface ApiResource {
  readonly group: string
  readonly version: string
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  /** `status`, `scale` … */
  readonly subresources: readonly string[]
}

/** The fields of a resource that a request needs. */
export type ResourcePath = Pick<ApiResource, 'apiVersion' | 'plural' | 'namespaced' | 'group' | 'version' | 'kind'>

interface GroupVersion {
  readonly byKind: ReadonlyMap<string, ApiResource>
  readonly byPlural: ReadonlyMap<string, ApiResource>
}

const wellKnown: ReadonlyMap<string, ResourcePath> = new Map(
  builtinKinds.map((known) => [`${known.apiVersion}/${known.kind}`, known as ResourcePath]),
)

/** The cached map from kinds to resources; one per cluster, shared by all identities. */
export class Discovery {
  readonly #send: (request: ApiRequest) => Promise<ApiResponse>
  readonly #known = new Map<string, GroupVersion>()
  readonly #asking = new Map<string, Promise<GroupVersion | undefined>>()

  constructor(send: (request: ApiRequest) => Promise<ApiResponse>) {
    this.#send = send
  }

  /** Returns the resource of a kind if it is known without a request. */
  cached(like: KindLike): ResourcePath | undefined {
    const named = like as Kind
    if (named.plural !== undefined && named.namespaced !== undefined) return named as ResourcePath
    return this.#known.get(like.apiVersion)?.byKind.get(like.kind) ?? wellKnown.get(`${like.apiVersion}/${like.kind}`)
  }

  /**
   * The resource of a kind. Throws ClientError `UnknownKind` when the server does not serve it, and `InvalidRequest`
   * when `like` names no kind.
   */
  async resource(like: KindLike): Promise<ResourcePath> {
    checkNamesKind(like)
    return this.cached(like) ?? (await this.describe(like))
  }

  /** Returns the discovery entry of a kind, verbs and subresources included. Throws ClientError `UnknownKind`. */
  async describe(like: KindLike): Promise<ApiResource> {
    return this.#find(like.apiVersion, (of) => of.byKind.get(like.kind), `kind ${like.kind}`)
  }

  /**
   * The kind behind a plural (`apps/v1`, `deployments`). Throws ClientError `UnknownKind` when the server does not
   * serve it.
   */
  async kindOf(apiVersion: string, plural: string): Promise<Kind> {
    const found = await this.#find(apiVersion, (of) => of.byPlural.get(plural), `resource ${plural}`)
    return kind(apiVersion, found.kind, { plural: found.plural, namespaced: found.namespaced })
  }

  /**
   * Drops a group (all groups when left out) from the cache. Call it when a CRD changes.
   */
  invalidate(group?: string): void {
    for (const apiVersion of this.#known.keys()) {
      if (group === undefined || parseApiVersion(apiVersion).group === group) this.#known.delete(apiVersion)
    }
  }

  async #find(
    apiVersion: string,
    pick: (of: GroupVersion) => ApiResource | undefined,
    what: string,
  ): Promise<ApiResource> {
    const known = this.#known.get(apiVersion)
    const found = known && pick(known)
    if (found !== undefined) return found
    const fresh = await this.#ask(apiVersion)
    const resource = fresh && pick(fresh)
    if (resource === undefined) {
      throw new ClientError(
        'UnknownKind',
        `The server serves no ${what} in ${apiVersion}; install its CustomResourceDefinition or check the spelling`,
      )
    }
    return resource
  }

  #ask(apiVersion: string): Promise<GroupVersion | undefined> {
    const running = this.#asking.get(apiVersion)
    if (running !== undefined) return running
    const asking = this.#fetch(apiVersion).finally(() => this.#asking.delete(apiVersion))
    this.#asking.set(apiVersion, asking)
    return asking
  }

  async #fetch(apiVersion: string): Promise<GroupVersion | undefined> {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const response = await this.#send({ method: 'GET', path })
    if (response.status === 404) {
      this.#known.delete(apiVersion)
      return undefined
    }
    const error = statusErrorOf(response)
    if (error instanceof StatusError) throw error
    const found = readResources(apiVersion, response.body)
    this.#known.set(apiVersion, found)
    return found
  }
}

interface WireResource {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs?: readonly string[]
}

function readResources(apiVersion: string, body: JsonValue): GroupVersion {
  const { group, version } = parseApiVersion(apiVersion)
  const listed = (asJson(body as object).resources ?? []) as unknown as readonly WireResource[]
  const byKind = new Map<string, ApiResource>()
  const byPlural = new Map<string, ApiResource>()
  for (const entry of listed) {
    if (entry.name.includes('/')) continue
    const resource: ApiResource = {
      group,
      version,
      apiVersion,
      kind: entry.kind,
      plural: entry.name,
      namespaced: entry.namespaced,
      verbs: entry.verbs ?? [],
      subresources: listed
        .filter((other) => other.name.startsWith(entry.name + '/'))
        .map((other) => other.name.slice(entry.name.length + 1)),
    }
    byPlural.set(entry.name, resource)
    // Where two resources share a kind, prefer the one that can be read (Binding, Scale and reviews are only posted).
    if (!byKind.has(entry.kind) || resource.verbs.includes('get')) byKind.set(entry.kind, resource)
  }
  return { byKind, byPlural }
}

/** Callers without types pass what they read from a file. */
function checkNamesKind(like: Partial<KindLike> | undefined): void {
  const missing = (['apiVersion', 'kind'] as const).filter((field) => typeof like?.[field] !== 'string')
  if (missing.length > 0)
    throw new ClientError(
      'InvalidRequest',
      `An object or a kind needs ${missing.join(' and ')}, a string${missing.length > 1 ? ' each' : ''}`,
    )
}
