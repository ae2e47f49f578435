// The routes of /openapi/v3: an index with content hashes, and one document per group version, built on first use and
// cached until the registry changes.
import { createHash } from 'node:crypto'
import { stringifyJson } from '@fairlead/kube'
import type { Clock, JsonObject } from '@fairlead/kube'
import type { UpstreamResolver } from '../../http/upstream.ts'
import type { Route } from '../../http/route.ts'
import type { ServerRequest, ServerResponse } from '../../http/message.ts'
import type { RegistryReader } from '../../registry/registry.ts'
import { isAcceptableRoute } from '../../http/media-type.ts'
import { uncached } from '../../response/response.ts'
import { openApiDocument } from './document.ts'
import { GroupDocuments } from './group-documents.ts'

const jsonType = 'application/json'

/** Serves OpenAPI v3 of all registered resources, and an index that includes the documents of `remote` servers. */
export function openApiRoute(
  registry: RegistryReader,
  clock: Clock,
  remote?: Pick<UpstreamResolver, 'openApiPaths'>,
): Route {
  const documents = new GroupDocuments(registry, (...place) => stored(openApiDocument(...place)))
  const index = new OpenApiIndex(documents)
  return {
    rootPaths: () => ['/openapi/v3', '/openapi/v3/'],
    async handle(request, [root, version, ...path]) {
      if (root !== 'openapi' || version !== 'v3') return undefined
      if (path.length === 0) return indexResponse(await withRemote(await index.read(), remote))
      const document = documents.document(path.join('/'))
      // kube-openapi's handler3 writes the status alone.
      if (document === undefined)
        return {
          status: 404,
          headers: uncached,
          body: { kind: 'bytes', bytes: new Uint8Array() },
        }
      return answer(request, document, path.join('/'), clock)
    },
  }
}

interface StoredDocument {
  readonly bytes: Uint8Array
  readonly hash: string
}

/** Returns the index: the URL of each document, with the hash of its content. */
class OpenApiIndex {
  readonly #documents: GroupDocuments<StoredDocument>
  #of: ReadonlyMap<string, StoredDocument> | undefined
  #index: StoredDocument = { bytes: new Uint8Array(), hash: '' }

  constructor(documents: GroupDocuments<StoredDocument>) {
    this.#documents = documents
  }

  async read(): Promise<StoredDocument> {
    const documents = await this.#documents.all()
    if (documents === this.#of) return this.#index
    const urls = [...documents].map(([path, { hash }]) => [
      path,
      { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` },
    ])
    this.#of = documents
    this.#index = stored({ paths: Object.fromEntries(urls) })
    return this.#index
  }
}

/** Returns the index with the documents of extension API servers, which serve them themselves. */
async function withRemote(
  index: StoredDocument,
  remote: Pick<UpstreamResolver, 'openApiPaths'> | undefined,
): Promise<StoredDocument> {
  const more = (await remote?.openApiPaths()) ?? {}
  if (Object.keys(more).length === 0) return index
  const { paths } = JSON.parse(new TextDecoder().decode(index.bytes)) as { readonly paths: JsonObject }
  return stored({ paths: { ...paths, ...(more as JsonObject) } })
}

function stored(document: JsonObject): StoredDocument {
  const bytes = new TextEncoder().encode(stringifyJson(document))
  return { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() }
}

/** Returns the response with the index, whose type the real server takes from its first bytes. */
function indexResponse({ bytes }: StoredDocument): ServerResponse {
  return {
    status: 200,
    headers: { ...uncached, 'content-type': 'text/plain; charset=utf-8' },
    body: { kind: 'bytes', bytes },
  }
}

const yearInMilliseconds = 365 * 24 * 60 * 60 * 1000

function answer(request: ServerRequest, { bytes, hash }: StoredDocument, path: string, clock: Clock): ServerResponse {
  const { accept } = request.headers
  const empty = { kind: 'bytes', bytes: new Uint8Array() } as const
  if (!isAcceptableRoute(typeof accept === 'string' ? accept : '', [jsonType]))
    return { status: 406, headers: { ...uncached, vary: 'Accept' }, body: empty }
  const etag = `"${hash}"`
  const wanted = request.query.get('hash') ?? ''
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
