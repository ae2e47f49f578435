// Lists and watches one scope, one request at a time. The reflector drives it; tests use a scripted one.
import { asJson } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, StatusError } from '@fairlead/kube'
import { statusErrorOf } from '../response.ts'
import { ClientError } from '../client-error.ts'
import type { ResourcePath } from '../discovery.ts'
import type { KindLike } from '../kind.ts'
import type { ListOptions, ListPage } from '../options.ts'
import { collectionPath, scopeQuery } from '../request-path.ts'
import type { ApiRequest, Transport, WatchEvent } from '../transport.ts'

/** The request for one page. */
export interface PageRequest {
  /** Objects at most; 0 for all of them. */
  readonly limit: number
  /** Token of the page before; the first page when undefined. */
  readonly continue: string | undefined
}

/** The request for a watch. */
export interface WatchRequest {
  /** Changes after this revision; with `initialEvents` the state first ('' then). */
  readonly resourceVersion: string
  /** Seconds after which the server ends the watch. */
  readonly timeoutSeconds: number
  /** Requests the state as ADDED events, ended by a bookmark (WatchList, KEP-3157). */
  readonly initialEvents: boolean
}

/** The source of a reflector's objects. Both methods throw StatusError for errors of the server. */
export interface ListWatch<T extends KubeObject> {
  list(request: PageRequest, signal?: AbortSignal): Promise<ListPage<T>>
  watch(request: WatchRequest, signal: AbortSignal): Promise<AsyncIterable<WatchEvent>>
}

/** The part of a client that lists and watches. */
export interface ListClient {
  readonly discovery: { resource(kind: KindLike): Promise<ResourcePath> }
  readonly transport: Pick<Transport, 'watch'>
  send(request: ApiRequest): Promise<JsonValue>
}

const metadataTypes = {
  list: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
  watch: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
}

/** Returns the {@link ListWatch} of a kind and scope over a client. */
export function listWatchOf<T extends KubeObject>(
  client: ListClient,
  kind: KindLike<T>,
  options: ListOptions,
): ListWatch<T> {
  const scope = scopeQuery(options)
  return {
    async list(page, signal) {
      const resource = await client.discovery.resource(kind)
      const query = { ...scope, limit: page.limit || undefined, continue: page.continue }
      const path = collectionPath(resource, options.namespace)
      const body = await client.send({
        method: 'GET',
        path,
        query,
        accept: options.metadataOnly ? metadataTypes.list : undefined,
        signal,
      })
      return readPage<T>(body as JsonObject, kind, options.metadataOnly === true)
    },
    async watch(request, signal) {
      const resource = await client.discovery.resource(kind)
      const sent: ApiRequest = {
        method: 'GET',
        path: collectionPath(resource, options.namespace),
        query: {
          ...scope,
          watch: true,
          allowWatchBookmarks: true,
          timeoutSeconds: request.timeoutSeconds,
          resourceVersion: request.resourceVersion || undefined,
          ...(request.initialEvents ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}),
        },
        accept: options.metadataOnly ? metadataTypes.watch : undefined,
        signal,
      }
      const response = await client.transport.watch(sent)
      if ('events' in response) return response.events
      throw (
        statusErrorOf(response.refused) ??
        new ClientError('InvalidResponse', `The watch of ${kind.kind} returned status ${response.refused.status}`)
      )
    },
  }
}

/** Returns the error of an `ERROR` event. */
export function errorOfEvent(event: WatchEvent): StatusError {
  const body = asJson(event.object)
  const code = typeof body.code === 'number' ? body.code : 500
  return statusErrorOf({ status: Math.max(code, 400), headers: {}, body, warnings: [] })!
}

function readPage<T extends KubeObject>(body: JsonObject, kind: KindLike<T>, metadataOnly: boolean): ListPage<T> {
  const metadata = (body.metadata ?? {}) as { resourceVersion?: string; continue?: string }
  const items = (body.items ?? []) as unknown as readonly T[]
  const first = items[0]
  // Items of built-in lists come without apiVersion and kind from a real server.
  const named =
    first === undefined || first.kind !== undefined || metadataOnly ? items : items.map((item) => withKind(item, kind))
  return { items: named, resourceVersion: metadata.resourceVersion ?? '', next: metadata.continue || undefined }
}

function withKind<T extends KubeObject>(item: T, kind: KindLike<T>): T {
  return Object.freeze({ ...item, apiVersion: kind.apiVersion, kind: kind.kind })
}
