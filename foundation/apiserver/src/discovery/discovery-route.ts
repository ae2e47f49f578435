// The route of /api, /apis and below: selects the document and its format, and caches the aggregated ones with their
// ETag until the registry changes.
import { createHash } from 'node:crypto'
import { builtinGroups } from '@fairlead/builtin-kinds'
import { methodNotAllowed, notAcceptable, stringifyJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { Route } from '../http/route.ts'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import { encodeProtobuf } from '../protobuf/protobuf-codec.ts'
import type { RegistryReader } from '../registry/registry.ts'
import { Accept, isAcceptableRoute, routeNotAcceptable, negotiateObject, objectTypes } from '../http/media-type.ts'
import type { Transform } from '../http/media-type.ts'
import { valueResponse } from '../response/response.ts'
import { apiGroupDiscoveryList } from './aggregated-discovery.ts'
import type { ApiGroup } from './api-groups.ts'
import { apiGroups } from './api-groups.ts'
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy-documents.ts'

/** Serves discovery of all registered resources. */
export function discoveryRoute(registry: RegistryReader): Route {
  const documents = new DiscoveryDocuments(registry)
  return {
    rootPaths: () => documents.paths(),
    handle(request, path) {
      const [root, ...rest] = path
      if (root !== 'api' && root !== 'apis') return undefined
      const document = root === 'api' ? documents.core(rest, hostOf(request)) : documents.named(rest)
      if (document === undefined) return undefined
      const isRoute = root === 'api' || documents.isBuiltinVersion(rest)
      if (isRoute && request.method !== 'GET') throw methodNotAllowed()
      return answer(request, document, isRoute, rest.length === 0 ? () => documents.aggregated(root) : undefined)
    },
  }
}

interface AggregatedDocument {
  readonly value: JsonObject
  readonly bytes: Uint8Array
  readonly etag: string
}

class DiscoveryDocuments {
  readonly #registry: RegistryReader
  #epoch = 0
  #groups: readonly ApiGroup[] = []
  readonly #aggregated = new Map<string, AggregatedDocument>()

  constructor(registry: RegistryReader) {
    this.#registry = registry
  }

  core(path: readonly string[], host: string): JsonObject | undefined {
    const group = this.#current().find(({ name }) => name === '')
    if (group === undefined || path.length > 1) return undefined
    return path.length === 0 ? apiVersions(group, host) : resourcesOf(group, path[0] ?? '')
  }

  named(path: readonly string[]): JsonObject | undefined {
    const groups = this.#current()
    if (path.length === 0) return apiGroupList(groups)
    const group = groups.find(({ name }) => name !== '' && name === path[0])
    if (group === undefined || path.length > 2) return undefined
    return path.length === 1 ? apiGroup(group) : resourcesOf(group, path[1] ?? '')
  }

  /**
   * Returns true for the document of a built-in version, which has a route for GET alone. The aggregator and the
   * handler of custom resources answer the others whatever the method, and leave the media types to the serializers.
   */
  isBuiltinVersion(path: readonly string[]): boolean {
    return path.length === 2 && builtinGroups.includes(path[0] ?? '')
  }

  /** Returns the paths of the documents. */
  paths(): string[] {
    const named = this.#current().filter(({ name }) => name !== '')
    const core = this.#current().filter(({ name }) => name === '')
    const versionsOf = (root: string, { versions }: ApiGroup): string[] =>
      versions.map(({ version }) => `${root}/${version}`)
    return [
      '/api',
      ...core.flatMap((group) => versionsOf('/api', group)),
      '/apis',
      '/apis/',
      ...named.flatMap((group) => [`/apis/${group.name}`, ...versionsOf(`/apis/${group.name}`, group)]),
    ]
  }

  aggregated(root: 'api' | 'apis'): AggregatedDocument {
    const groups = this.#current()
    const known = this.#aggregated.get(root)
    if (known !== undefined) return known
    const value = apiGroupDiscoveryList(groups.filter(({ name }) => (name === '') === (root === 'api')))
    const bytes = new TextEncoder().encode(stringifyJson(value))
    const document = { value, bytes, etag: `"${createHash('sha512').update(bytes).digest('hex').toUpperCase()}"` }
    this.#aggregated.set(root, document)
    return document
  }

  #current(): readonly ApiGroup[] {
    if (this.#epoch !== this.#registry.epoch) {
      this.#epoch = this.#registry.epoch
      this.#groups = apiGroups(this.#registry)
      this.#aggregated.clear()
    }
    return this.#groups
  }
}

function resourcesOf(group: ApiGroup, version: string): JsonObject | undefined {
  const served = group.versions.find((candidate) => candidate.version === version)
  return served === undefined ? undefined : apiResourceList(group.name, served)
}

function answer(
  request: ServerRequest,
  document: JsonObject,
  isRoute: boolean,
  aggregated: (() => AggregatedDocument) | undefined,
): ServerResponse {
  const { accept } = request.headers
  const wanted = typeof accept === 'string' ? accept : ''
  if (isRoute && !isAcceptableRoute(wanted, objectTypes)) throw routeNotAcceptable(objectTypes)
  const negotiated = negotiateObject(
    new Accept(wanted),
    (transform) => aggregated !== undefined && isAggregated(transform),
  )
  if (negotiated === undefined)
    throw notAcceptable(`only the following media types are accepted: ${objectTypes.join(', ')}`)
  const form = {
    encoding: negotiated.encoding,
    pretty: false,
    encodeProtobuf: (value: JsonObject) => encodeProtobuf(value),
  }
  if (negotiated.transform === undefined || aggregated === undefined) return valueResponse(200, document, form)
  const { value, bytes, etag } = aggregated()
  const headers = {
    'cache-control': 'public',
    'content-type': `${negotiated.contentType};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`,
    etag,
    vary: 'Accept',
  }
  if (request.headers['if-none-match'] === etag)
    return { status: 304, headers, body: { kind: 'bytes', bytes: new Uint8Array() } }
  const plain = valueResponse(200, value, form, bytes)
  return { ...plain, headers }
}

/**
 * Returns true for version 2; this release of Kubernetes has removed 2beta1, and clients of its time fall back to the
 * plain documents.
 */
function isAggregated({ kind, group, version }: Transform): boolean {
  return kind === 'APIGroupDiscoveryList' && group === 'apidiscovery.k8s.io' && version === 'v2'
}

function hostOf(request: ServerRequest): string {
  const { host } = request.headers
  return typeof host === 'string' ? host : 'localhost'
}
