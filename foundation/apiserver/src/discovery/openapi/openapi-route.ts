// The routes of /openapi/v3: an index with content hashes, and one document per group version, built when first asked for and kept until the
// registry changes.
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { formatApiVersion, methodNotAllowed, notAcceptable, stringifyJson } from '@fairlead/kube'
import type { Clock, JsonObject } from '@fairlead/kube'
import type { UpstreamFinder } from '../../aggregation/upstream.ts'
import type { Route } from '../../handler.ts'
import type { ServerRequest, ServerResponse } from '../../http/message.ts'
import type { RegistryReader } from '../../registry/registry.ts'
import { isAcceptableRoute } from '../../request/media-type.ts'
import { uncached } from '../../request/response.ts'
import type { ApiGroup, ApiGroupVersion } from '../api-groups.ts'
import { apiGroups } from '../api-groups.ts'
import { openApiDocument } from './document.ts'

const jsonType = 'application/json'

/** Serves OpenAPI v3 of everything that the registry holds, and an index that names what `remote` servers hold. */
export function openApiRoute(
  registry: RegistryReader,
  clock: Clock,
  remote?: Pick<UpstreamFinder, 'openApiPaths'>,
): Route {
  const documents = new OpenApiDocuments(registry)
  return {
    async handle(request, [root, version, ...path]) {
      if (root !== 'openapi' || version !== 'v3') return undefined
      const document =
        path.length === 0 ? await withRemote(await documents.index(), remote) : documents.document(path.join('/'))
      if (document === undefined) return undefined
      if (request.method !== 'GET') throw methodNotAllowed()
      return answer(request, document, path.join('/'), clock)
    },
  }
}

interface StoredDocument {
  readonly bytes: Uint8Array
  readonly hash: string
}

interface Entry {
  readonly group: string
  readonly version: ApiGroupVersion
  document?: StoredDocument
}

class OpenApiDocuments {
  readonly #registry: RegistryReader
  #epoch = 0
  #groups: readonly ApiGroup[] = []
  #entries = new Map<string, Entry>()
  #index: StoredDocument | undefined

  constructor(registry: RegistryReader) {
    this.#registry = registry
  }

  /** Needs the hash of every document; lets other work run between building two of them. */
  async index(): Promise<StoredDocument> {
    for (;;) {
      this.#follow()
      if (this.#index !== undefined) return this.#index
      const missing = [...this.#entries.keys()].find((path) => this.#entries.get(path)?.document === undefined)
      if (missing === undefined) break
      this.document(missing)
      await setImmediate()
    }
    const urls = [...this.#entries].map(([path, { document }]) => [
      path,
      { serverRelativeURL: `/openapi/v3/${path}?hash=${document?.hash ?? ''}` },
    ])
    this.#index = stored({ paths: Object.fromEntries(urls) })
    return this.#index
  }

  /** The document of `api/v1` or `apis/<group>/<version>`. */
  document(path: string): StoredDocument | undefined {
    this.#follow()
    const entry = this.#entries.get(path)
    if (entry === undefined) return undefined
    entry.document ??= stored(openApiDocument(entry.group, entry.version, this.#groups))
    return entry.document
  }

  /** Documents of group versions whose resources are the very same stay: only what a CRD touches is built again. */
  #follow(): void {
    if (this.#epoch === this.#registry.epoch) return
    this.#epoch = this.#registry.epoch
    this.#index = undefined
    this.#groups = apiGroups({
      definitions: [...this.#registry.definitions].filter(({ isRemote }) => isRemote !== true),
    })
    const before = this.#entries
    this.#entries = new Map()
    for (const { name, versions } of this.#groups) {
      for (const version of versions) {
        const path = name === '' ? `api/${version.version}` : `apis/${formatApiVersion(name, version.version)}`
        const known = before.get(path)
        this.#entries.set(
          path,
          known !== undefined && isSame(known.version, version) ? known : { group: name, version },
        )
      }
    }
  }
}

/** The index with the documents of servers behind APIServices, which give them out themselves. */
async function withRemote(
  index: StoredDocument,
  remote: Pick<UpstreamFinder, 'openApiPaths'> | undefined,
): Promise<StoredDocument> {
  const more = (await remote?.openApiPaths()) ?? {}
  if (Object.keys(more).length === 0) return index
  const { paths } = JSON.parse(new TextDecoder().decode(index.bytes)) as { readonly paths: JsonObject }
  return stored({ paths: { ...paths, ...(more as JsonObject) } })
}

function isSame(a: ApiGroupVersion, b: ApiGroupVersion): boolean {
  return (
    a.resources.length === b.resources.length &&
    a.resources.every(({ version }, index) => version === b.resources[index]?.version)
  )
}

function stored(document: JsonObject): StoredDocument {
  const bytes = new TextEncoder().encode(stringifyJson(document))
  return { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() }
}

const yearInMilliseconds = 365 * 24 * 60 * 60 * 1000

function answer(request: ServerRequest, { bytes, hash }: StoredDocument, path: string, clock: Clock): ServerResponse {
  const { accept } = request.headers
  if (!isAcceptableRoute(typeof accept === 'string' ? accept : '', [jsonType]))
    throw notAcceptable(`only the following media types are accepted: ${jsonType}`)
  const etag = `"${hash}"`
  const wanted = request.query.get('hash') ?? ''
  const empty = { kind: 'bytes', bytes: new Uint8Array() } as const
  if (wanted !== '' && wanted !== hash)
    return {
      status: 301,
      headers: { ...uncached, location: `/openapi/v3/${path}?hash=${hash}`, vary: 'Accept' },
      body: empty,
    }
  const caching =
    wanted === ''
      ? uncached
      : { 'cache-control': 'public, immutable', expires: new Date(clock.now() + yearInMilliseconds).toUTCString() }
  const headers = { ...caching, 'content-type': jsonType, etag, vary: 'Accept' }
  if (request.headers['if-none-match'] === etag) return { status: 304, headers, body: empty }
  return { status: 200, headers, body: { kind: 'bytes', bytes } }
}
