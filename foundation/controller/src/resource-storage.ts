// API resources with a storage of the capability; the server implements everything else (discovery, OpenAPI,
// tables, selectors, watch, RBAC, admission, schemas, defaults, field validation, patches and server-side apply).
// Embedded in `fairlead up` the server is ours; the same storage, hosted in a process of its own behind an APIService,
// serves a real cluster.
import type { FieldSelector, KubeObject, Selector } from '@fairlead/kube'

/** One resource of a delegated group. */
export interface ResourceStorage {
  /**
   * Names, scope, versions, schemas, columns, selectable fields and the `status` subresource, in the form of a
   * CustomResourceDefinition that is never installed. Objects are exchanged in its storage version; `spec.conversion`
   * must be `None`.
   */
  readonly definition: KubeObject
  readonly storage: RestStorage
  /**
   * Subresources beside `status` and `scale` (which the definition declares). A name: the whole object is read and
   * written through it, such as `approval`; the storage distinguishes them by {@link StorageWrite.subresource}.
   * {@link SubresourceHandlers} handle their own requests. RBAC treats each as a separate resource.
   */
  readonly subresources?: readonly (string | SubresourceHandlers)[]
  /** Fields that field selectors may name beyond those of the definition, with how to read them ('' when absent). */
  readonly selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>
  /** Maximum size of an object's JSON in bytes; 1.5 MiB when left out. */
  readonly maxObjectBytes?: number
  /** Columns of tables, in place of `additionalPrinterColumns`: for values that no JSONPath finds. */
  readonly columns?: readonly StorageColumn[]
  /**
   * Maximum size of a request body in bytes; 3 MiB when left out. Larger ones get a 413 and are never kept in memory.
   */
  readonly maxBodyBytes?: number
}

/** A column of the tables that kubectl prints. The first is the name. */
export interface StorageColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean' | 'date'
  readonly description: string
  /** 0 when left out; larger ones are shown by `-o wide`. */
  readonly priority?: number
  cell(object: KubeObject): string | number | boolean | null
}

/**
 * A subresource that is not the object itself: an action (`POST …/eviction`), a computed value, a log. It serves the
 * verbs whose methods are defined.
 */
export interface SubresourceHandlers {
  readonly name: string
  /** Type of request and response bodies; that of the resource when left out. */
  readonly apiVersion?: string
  readonly kind?: string
  /**
   * Handles GET: returns an object, or a stream of bytes. Throws a StatusError to refuse, also for a missing object.
   */
  get?(call: SubresourceRequest): Promise<KubeObject | StreamedResponse>
  /**
   * Handles POST: returns the body of the 201 response. The request body has apiVersion and kind; nothing else was
   * checked: there is no schema, so fieldValidation finds repeated fields only. Policies, validators and webhooks of
   * the cluster see the body as a CREATE of the subresource.
   */
  create?(object: KubeObject, call: SubresourceRequest): Promise<KubeObject>
  /** `create` supports {@link SubresourceRequest.dryRun}. Without it a dry run is refused with a 400. */
  readonly canDryRun?: boolean
}

/** A request to a subresource with handlers. */
export interface SubresourceRequest extends StorageWrite {
  readonly key: StorageKey
  /** The whole query of the request. */
  readonly query: URLSearchParams
  /** The handler must not change anything. */
  readonly dryRun: boolean
}

/** A streamed response, such as a log. */
export interface StreamedResponse {
  /** `text/plain` when left out. */
  readonly contentType?: string
  /** Read as fast as the caller reads; closed when the caller disconnects. */
  readonly chunks: AsyncIterable<Uint8Array>
}

/** The namespace and name of an object. */
export interface StorageKey {
  /** '' for cluster-scoped resources. */
  readonly namespace: string
  readonly name: string
}

/** The attributes of a write besides its objects. */
export interface StorageWrite {
  /** The caller, authenticated and authorized. */
  readonly user: {
    readonly name: string
    readonly uid?: string
    readonly groups: readonly string[]
    readonly extra?: Readonly<Record<string, readonly string[]>>
  }
  /** '' for the object itself. */
  readonly subresource: string
  /** Aborts when the caller disconnects or the server stops. A storage may finish a write that it has started. */
  readonly signal: AbortSignal
  /** Adds a message to the `Warning` headers. */
  readonly warnings: string[]
}

/**
 * A write to validate, for {@link RestStorage.validate}. For the subresource `scale`, `object` and `old` are Scales.
 */
export interface StorageReview extends StorageWrite {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  /** The new object; undefined for deletions. */
  readonly object: KubeObject | undefined
  /** The existing object; undefined for creations. */
  readonly old: KubeObject | undefined
  /** The write will not be made. */
  readonly dryRun: boolean
}

/** A change of an object, by any writer. */
export interface StoredObjectChange {
  readonly type: 'put' | 'delete'
  /** The object after the change; the last state for a deletion. */
  readonly object: KubeObject
  /** The object before the change; undefined for a creation. Watches with selectors need it. */
  readonly previous: KubeObject | undefined
}

/**
 * A change of one object; or `replaced`: so many have changed at once that they are not notified one by one. Watches
 * then end with a 410 Expired, and their clients list again.
 */
export type StorageChange = StoredObjectChange | { readonly type: 'replaced' }

/** The request for a page, for storages that select and page themselves. */
export interface StorageQuery {
  /** One namespace; all of them, or none for cluster-scoped resources, when undefined. */
  readonly namespace: string | undefined
  /** A page may hold objects that do not match; the server leaves them out. */
  readonly labels: Selector
  readonly fields: FieldSelector
  /** Maximum number of objects; 0: as many as the storage chooses to return at once. */
  readonly limit: number
  /**
   * {@link StoragePage.next} of the previous page; undefined for the first. It comes from clients: throw a StatusError
   * 400 for an invalid one.
   */
  readonly after: string | undefined
}

/** The name of an object that is composed of its fields. */
export interface StorageIdentity {
  readonly name: string
  /** A random one when left out. */
  readonly uid?: string
}

/** One page. */
export interface StoragePage {
  readonly objects: readonly KubeObject[]
  /** Token of the next page, an opaque string; undefined on the last. */
  readonly next?: string
  /** Number of remaining objects, if known. */
  readonly remaining?: number
}

/** Operations whose dry run a storage may not support. */
export type StorageOperation = 'create' | 'update' | 'delete'

/**
 * The storage of one resource. Objects carry no resourceVersion: revisions come from the server's counter, and it
 * checks them before it calls. Writes of one object never overlap; those of different objects do. The server freezes
 * the returned objects. Signals abort when the caller disconnects and when the server stops.
 *
 * | verbs | served with | dryRun | fieldValidation |
 * |---|---|---|---|
 * | `get` | `get` | | |
 * | `list` | `list` or `page` | | |
 * | `watch` | `watch`, and `list` or `page` | | |
 * | `create` | `create` | yes | yes |
 * | `update`, `patch` (with apply) | `update`, `get` and `watch` | yes | yes |
 * | `delete` | `delete`, `get` and `watch` | yes | |
 * | `deletecollection` | as `delete`, and `list` or `page` | yes | |
 *
 * - Dry runs call {@link validate} only; the response is the object that the server would have passed to the storage.
 *   Operations named in {@link noDryRun} refuse them with a 400.
 * - The server does field validation, by the schema of the definition.
 * - Without `watch` changes of an object are unknown: its resourceVersion is the current one, so objects can only be
 *   read and created. Without `get` and `list` as well, `create` is a review (as SubjectAccessReview is): the object
 *   needs no name and is not stored.
 * - Finalizers: an object that has some gets a deletionTimestamp by {@link update}; {@link delete} is called when the
 *   last one is removed.
 * - To refuse, throw a StatusError of `@fairlead/kube`; any other error is a 500.
 */
export interface RestStorage {
  get?(key: StorageKey, signal: AbortSignal): Promise<KubeObject | undefined>
  /** Returns all objects, or those of one namespace, in any order. The server selects, sorts and pages. */
  list?(namespace: string | undefined, signal: AbortSignal): Promise<readonly KubeObject[]>
  /** Returns a page, for storages that select and page themselves, in place of `list`. Their order is kept. */
  page?(query: StorageQuery, signal: AbortSignal): Promise<StoragePage>
  /**
   * Returns the name of an object to create, and its uid where that follows from the name, for resources whose names
   * are composed of fields: names given by clients are ignored. Called before validation.
   */
  identity?(object: KubeObject): StorageIdentity
  /** Makes the checks that need more than the schema; called before every write, dry runs included. */
  validate?(review: StorageReview): void | Promise<void>
  /** Operations without dry run, because their result is not known in advance. */
  readonly noDryRun?: readonly StorageOperation[]
  /** Creates an object and returns it as stored; uid and creationTimestamp are set. */
  create?(object: KubeObject, write: StorageWrite): Promise<KubeObject>
  /** Updates an object and returns it as stored. */
  update?(object: KubeObject, old: KubeObject, write: StorageWrite): Promise<KubeObject>
  delete?(old: KubeObject, write: StorageWrite): Promise<void>
  /**
   * Notifies the listener of every change from now on, the server's own writes included. A change can be read before
   * its notification, and its notification precedes the resolution of its write. Changes of one object are notified in
   * order. Do not delay notifications where others change objects: an update based on the previous state is a conflict
   * only once the change has been notified.
   */
  watch?(listener: (change: StorageChange) => void): Disposable
}
