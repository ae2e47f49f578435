// The client: typed by kind, plain JSON inside. Start with `new Client({ transport })`, `connect()` for a cluster, or
// `server.client()` of @fairlead/apiserver.
import { asJson, keyOf } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue, KubeObject, ObjectKey } from '@fairlead/kube'
import { isNoSuchResource, isObjectNotFound, statusErrorOf } from './response.ts'
import { applyClaimed } from './claimed-apply.ts'
import { ClientError } from './client-error.ts'
import { Discovery } from './discovery.ts'
import type { ResourcePath } from './discovery.ts'
import { kindOfObject, toKey } from './kind.ts'
import type { KeyLike, Kind, KindLike } from './kind.ts'
import type {
  ApplyOptions,
  DeleteOptions,
  List,
  ListOptions,
  ListPage,
  Patch,
  ReadOptions,
  WriteObserver,
  WriteOptions,
} from './options.ts'
import { collectionPath, objectPath, scopeQuery } from './request-path.ts'
import { withoutUndefined } from './request-body.ts'
import { withRetries } from './retry.ts'
import { systemClock } from './system-clock.ts'
import type { Impersonation } from './impersonation.ts'
import type { ApiRequest, ApiResponse, Transport } from './transport.ts'
import { waitFor, waitForDeletion } from './wait-for.ts'
import type { WaitOptions } from './wait-for.ts'
import { listWatchOf } from './watch/list-watch.ts'
import type { ListWatch } from './watch/list-watch.ts'
import { Reflector } from './watch/reflector.ts'
import { watchChanges } from './watch/watch-cache.ts'
import type { WatchChange } from './watch/watch-cache.ts'

/** Options of a client. */
export interface ClientOptions {
  readonly transport: Transport
  /** `systemClock` when left out. */
  readonly clock?: Clock
  /** Random numbers in [0, 1), for jitter; `Math.random` when left out. */
  readonly random?: () => number
  /** Field manager of every write; `fairlead` when left out. */
  readonly manager?: string
  /** Namespace of namespaced objects that name none; `default` when left out. */
  readonly namespace?: string
  /** The default of `force` in `apply`; false when left out. */
  readonly force?: boolean
}

/** The options that {@link Client.with} overrides. */
export interface ClientOverrides {
  readonly manager?: string
  readonly namespace?: string
  readonly force?: boolean
  readonly observer?: WriteObserver
  /** Returns the cached object of a key; saves `apply` its first read. */
  readonly cached?: (kind: Kind, key: ObjectKey) => KubeObject | undefined
  /** A signal that cancels every request without one of its own. */
  readonly signal?: AbortSignal
  /** Called with each warning of the server, such as `unknown field "spec.replicsa"`; ignored when left out. */
  readonly onWarning?: (warning: string, request: ApiRequest) => void
}

/** `autoscaling/v1 Scale`. */
export interface Scale extends KubeObject {
  readonly spec?: { readonly replicas?: number }
  readonly status?: { readonly replicas: number; readonly selector?: string }
}

/**
 * Sends requests to one API server. Returned objects are frozen and may be shared; never change them. Errors of the
 * server are thrown as StatusError (see the predicates of @fairlead/kube), errors of the client as ClientError.
 */
export class Client {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: () => number
  readonly discovery: Discovery
  /** The field manager of its writes. */
  readonly manager: string
  /** The namespace of namespaced objects that name none. */
  readonly namespace: string
  readonly #traits: ClientOverrides

  /** Creates a client over a transport; {@link connect} creates one from kubeconfig. */
  constructor(options: ClientOptions)
  /** @internal for {@link Client.with} and {@link Client.as} */
  constructor(options: ClientOptions, discovery: Discovery | undefined, traits: ClientOverrides)
  constructor(options: ClientOptions, discovery?: Discovery, traits: ClientOverrides = {}) {
    this.transport = options.transport
    this.clock = options.clock ?? systemClock
    this.random = options.random ?? Math.random
    this.manager = traits.manager ?? options.manager ?? 'fairlead'
    this.namespace = traits.namespace ?? options.namespace ?? 'default'
    this.#traits = { force: options.force, ...traits }
    this.discovery = discovery ?? new Discovery((request) => this.#exchange(request))
  }

  /** Returns a client for the same server and identity with other options. Cheap. */
  with(traits: ClientOverrides): Client {
    return new Client(this, this.discovery, {
      manager: this.manager,
      namespace: this.namespace,
      ...this.#traits,
      ...traits,
    })
  }

  /** Returns a client for the same server that impersonates another user. */
  as(who: Impersonation): Client {
    return new Client({ ...this.#options(), transport: this.transport.as(who) }, this.discovery, this.#traits)
  }

  /** Returns a client with the same options over another transport. */
  withTransport(transport: Transport): Client {
    return new Client({ ...this.#options(), transport }, this.discovery, this.#traits)
  }

  /** Reads one object. Throws StatusError 404 when it does not exist. */
  async get<T extends KubeObject>(kind: KindLike<T>, key: KeyLike, options: ReadOptions = {}): Promise<T> {
    const resource = await this.discovery.resource(kind)
    const path = objectPath(resource, this.#placed(resource, toKey(key)), options.subresource)
    return (await this.send({ method: 'GET', path, signal: options.signal })) as unknown as T
  }

  /** Reads one object; undefined when it does not exist. */
  async find<T extends KubeObject>(kind: KindLike<T>, key: KeyLike, options: ReadOptions = {}): Promise<T | undefined> {
    try {
      return await this.get(kind, key, options)
    } catch (error) {
      if (isObjectNotFound(error)) return undefined
      throw error
    }
  }

  /** Lists all objects of a scope, at one revision. */
  async list<T extends KubeObject>(kind: KindLike<T>, options: ListOptions = {}): Promise<List<T>> {
    const items: T[] = []
    for await (const page of this.pages(kind, options)) {
      if (page.next === undefined && items.length === 0)
        return { items: page.items, resourceVersion: page.resourceVersion }
      for (const item of page.items) items.push(item)
      if (page.next === undefined) return { items, resourceVersion: page.resourceVersion }
    }
    throw new ClientError('InvalidResponse', `The list of ${kind.kind} ended without a last page`)
  }

  /**
   * Lists a scope page by page, for callers that need not hold all of it. Throws StatusError 410 when a continue token
   * expires.
   */
  async *pages<T extends KubeObject>(
    kind: KindLike<T>,
    options: ListOptions = {},
  ): AsyncGenerator<ListPage<T>, void, undefined> {
    const source = listWatchOf<T>(this, kind, options)
    let next: string | undefined
    do {
      const page: ListPage<T> = await source.list({ limit: options.pageSize ?? 500, continue: next }, options.signal)
      yield page
      next = page.next
    } while (next !== undefined)
  }

  /**
   * Creates an object. Throws StatusError 409 `AlreadyExists`. With `subresource` (`token`, `eviction`, `binding`)
   * posts to it.
   */
  async create<T extends KubeObject>(object: T, options: WriteOptions = {}): Promise<T> {
    const resource = await this.discovery.resource(object)
    const key = this.#placed(resource, keyOf(object))
    const path =
      options.subresource === undefined
        ? collectionPath(resource, key.namespace)
        : objectPath(resource, key, options.subresource)
    return this.#write<T>(resource, key, {
      method: 'POST',
      path,
      body: object,
      query: this.#writeQuery(options),
      signal: options.signal,
    })
  }

  /** Replaces an object. Throws StatusError 409 `Conflict` when its resourceVersion is not the newest. */
  async update<T extends KubeObject>(object: T, options: WriteOptions = {}): Promise<T> {
    const resource = await this.discovery.resource(object)
    const key = this.#placed(resource, keyOf(object))
    const path = objectPath(resource, key, options.subresource)
    return this.#write<T>(resource, key, {
      method: 'PUT',
      path,
      body: object,
      query: this.#writeQuery(options),
      signal: options.signal,
    })
  }

  /** Patches an object: `client.patch(Deployment, 'default/web', { merge: { spec: { replicas: 2 } } })`. */
  async patch<T extends KubeObject>(
    kind: KindLike<T>,
    key: KeyLike,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const resource = await this.discovery.resource(kind)
    const placed = this.#placed(resource, toKey(key))
    const [contentType, body] = patchBody(patch)
    const path = objectPath(resource, placed, options.subresource)
    return this.#write<T>(resource, placed, {
      method: 'PATCH',
      path,
      contentType,
      body,
      query: this.#writeQuery(options),
      signal: options.signal,
    })
  }

  /**
   * Server-side apply: sets the fields that this manager owns; creates the object when it does not exist.
   *
   * With `owner` or `isOurs` it follows design decision 5: an existing object that is not ours, or one that another
   * client created at the same time, is left unchanged and reported (ClientError `Collision`); nothing is sent when the
   * object already has these fields. Throws StatusError 409 with causes `FieldManagerConflict` when other managers own
   * the fields and `force` is not set.
   */
  async apply<T extends KubeObject>(object: T, options: ApplyOptions = {}): Promise<T> {
    if (options.owner === undefined && options.isOurs === undefined)
      return (await this.applyRaw<T>(object, options)).object
    return applyClaimed(this, object, {
      ...options,
      cached: options.cached ?? this.#traits.cached?.(kindOfObject(object), await this.keyOf(object)),
    })
  }

  /**
   * Sends one server-side apply request and reports whether it created the object. Most callers want
   * {@link Client.apply}.
   */
  async applyRaw<T extends KubeObject>(
    object: T,
    options: ApplyOptions = {},
  ): Promise<{ readonly object: T; readonly created: boolean }> {
    const resource = await this.discovery.resource(object)
    const key = this.#placed(resource, keyOf(object))
    const query = { ...this.#writeQuery(options), force: (options.force ?? this.#traits.force) || undefined }
    let created = false
    const written = await this.#write<T>(
      resource,
      key,
      {
        method: 'PATCH',
        path: objectPath(resource, key, options.subresource),
        contentType: 'application/apply-patch+yaml',
        body: object,
        query,
        signal: options.signal,
      },
      (response) => (created = response.status === 201),
    )
    return { object: written, created }
  }

  /**
   * Deletes one object. Resolves with the object while finalizers or a grace period keep it, with undefined when it is
   * deleted. Throws StatusError 404.
   */
  async delete<T extends KubeObject>(
    kind: KindLike<T>,
    key: KeyLike,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const resource = await this.discovery.resource(kind)
    const placed = this.#placed(resource, toKey(key))
    const request: ApiRequest = {
      method: 'DELETE',
      path: objectPath(resource, placed),
      body: deleteBody(options),
      signal: options.signal,
    }
    const ticket = options.dryRun ? undefined : this.#traits.observer?.begin(resource, placed)
    try {
      const body = asJson((await this.send(request)) as object)
      const left = body.kind === 'Status' ? undefined : (body as unknown as T)
      ticket?.wrote(left)
      return left
    } catch (error) {
      ticket?.failed()
      throw error
    }
  }

  /** Deletes every object of a scope. */
  async deleteCollection(kind: KindLike, options: Omit<ListOptions, 'pageSize'> & DeleteOptions = {}): Promise<void> {
    const resource = await this.discovery.resource(kind)
    const path = collectionPath(resource, options.namespace)
    await this.send({
      method: 'DELETE',
      path,
      query: scopeQuery(options),
      body: deleteBody(options),
      signal: options.signal,
    })
  }

  /** Returns the scale of an object; sets it first when `replicas` is given. */
  async scale(kind: KindLike, key: KeyLike, replicas?: number, options: WriteOptions = {}): Promise<Scale> {
    if (replicas === undefined) return (await this.get(kind, key, { ...options, subresource: 'scale' })) as Scale
    return (await this.patch(
      kind,
      key,
      { merge: { spec: { replicas } } },
      { ...options, subresource: 'scale' },
    )) as Scale
  }

  /**
   * Watches a scope: first the existing objects, then every change, through lost connections and expired revisions. See
   * {@link WatchChange} for the elements. Ends when `signal` aborts or the loop is left.
   */
  watch<T extends KubeObject>(kind: KindLike<T>, options: ListOptions = {}): AsyncIterableIterator<WatchChange<T>> {
    return watchChanges((listener) => this.reflector(kind, options, listener), options.signal)
  }

  /**
   * Returns the state machine under {@link Client.watch}, for callers that keep the state themselves. Call its `run`.
   */
  reflector<T extends KubeObject>(
    kind: KindLike<T>,
    options: ListOptions,
    listener: ConstructorParameters<typeof Reflector<T>>[0]['listener'],
  ): Reflector<T> {
    return new Reflector<T>({
      source: listWatchOf<T>(this, kind, options),
      listener,
      clock: this.clock,
      random: this.random,
      pageSize: options.pageSize,
      streaming: this.transport.address !== 'in-process',
    })
  }

  /** Returns the requests that list and watch one scope. */
  listWatch<T extends KubeObject>(kind: KindLike<T>, options: ListOptions = {}): ListWatch<T> {
    return listWatchOf<T>(this, kind, options)
  }

  /**
   * Resolves with the object as soon as it exists and `predicate` holds. Throws ClientError `WaitTimeout` after
   * `timeout` (10 s when left out).
   */
  waitFor<T extends KubeObject>(
    kind: KindLike<T>,
    key: KeyLike,
    predicate: (object: T) => boolean,
    options: WaitOptions = {},
  ): Promise<T> {
    return waitFor(this, kind, key, predicate, options)
  }

  /**
   * Resolves as soon as the object does not exist. Throws ClientError `WaitTimeout` after `timeout` (10 s when left
   * out).
   */
  waitForDeletion(kind: KindLike, key: KeyLike, options: WaitOptions = {}): Promise<void> {
    return waitForDeletion(this, kind, key, options)
  }

  /**
   * Returns the key of an object with its namespace filled in: the client's for namespaced kinds, none for the others.
   */
  async keyOf(object: KubeObject): Promise<ObjectKey> {
    return this.#placed(await this.discovery.resource(object), keyOf(object))
  }

  /**
   * Sends a request and returns the body. Throws StatusError for a status of 400 and above; reads are retried (see
   * retry.ts).
   */
  async send(request: ApiRequest): Promise<JsonValue> {
    return this.#accepted(await this.#exchange(request), request).body
  }

  /** Sends a request and returns the response as it is, errors included. */
  sendRaw(request: ApiRequest): Promise<ApiResponse> {
    return this.#exchange(request)
  }

  #options(): ClientOptions {
    return {
      transport: this.transport,
      clock: this.clock,
      random: this.random,
      manager: this.manager,
      namespace: this.namespace,
    }
  }

  #exchange(request: ApiRequest): Promise<ApiResponse> {
    const signal = request.signal ?? this.#traits.signal
    return withRetries({ ...request, signal }, (sent) => this.transport.request(sent), this)
  }

  #accepted(response: ApiResponse, request: ApiRequest): ApiResponse {
    for (const warning of response.warnings) this.#traits.onWarning?.(warning, request)
    const error = statusErrorOf(response)
    if (error === undefined) return response
    // Discovery may be out of date: the kind moved to another resource, or its CRD was deleted.
    if (isNoSuchResource(error)) this.discovery.invalidate(groupOfPath(request.path))
    throw error
  }

  async #write<T extends KubeObject>(
    resource: ResourcePath,
    key: ObjectKey,
    request: ApiRequest,
    look?: (response: ApiResponse) => void,
  ): Promise<T> {
    const ticket = request.query?.dryRun === undefined ? this.#traits.observer?.begin(resource, key) : undefined
    try {
      const response = this.#accepted(
        await this.#exchange({ ...request, body: withoutUndefined(request.body) }),
        request,
      )
      look?.(response)
      const object = response.body as unknown as T
      ticket?.wrote(object)
      if (resource.kind === 'CustomResourceDefinition')
        this.discovery.invalidate(asJson((object as JsonObject).spec as JsonObject).group as string)
      return object
    } catch (error) {
      ticket?.failed()
      throw error
    }
  }

  #writeQuery(options: WriteOptions): Record<string, string | undefined> {
    return {
      fieldManager: options.manager ?? this.manager,
      fieldValidation: options.fieldValidation,
      dryRun: options.dryRun ? 'All' : undefined,
    }
  }

  #placed(resource: ResourcePath, key: ObjectKey): ObjectKey {
    if (!resource.namespaced) return key.namespace === '' ? key : { namespace: '', name: key.name }
    return key.namespace === '' ? { namespace: this.namespace, name: key.name } : key
  }
}

function patchBody(patch: Patch): [string, JsonValue] {
  if ('merge' in patch) return ['application/merge-patch+json', patch.merge]
  if ('json' in patch) return ['application/json-patch+json', patch.json]
  if ('strategic' in patch) return ['application/strategic-merge-patch+json', patch.strategic]
  throw new ClientError('InvalidRequest', 'A patch needs one of merge, json and strategic')
}

function deleteBody(options: DeleteOptions): JsonObject {
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...(options.propagation === undefined ? {} : { propagationPolicy: options.propagation }),
    ...(options.gracePeriod === undefined ? {} : { gracePeriodSeconds: options.gracePeriod }),
    ...(options.preconditions === undefined ? {} : { preconditions: options.preconditions as JsonObject }),
    ...(options.dryRun ? { dryRun: ['All'] } : {}),
  }
}

function groupOfPath(path: string): string {
  const [, root, group] = path.split('/')
  return root === 'apis' ? (group ?? '') : ''
}
