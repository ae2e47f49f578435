// API resources that a capability serves itself: it gives a storage, the server does the rest (discovery, OpenAPI,
// tables, selectors, watch, RBAC, admission, schemas, defaults, field validation, patches and server-side apply).
// Embedded in `fairlead up` the server is ours; the same storage, hosted in a process of its own behind an APIService,
// serves a real cluster.
import type { FieldSelector, KubeObject, Selector } from '@fairlead/kube'

/** One resource of a delegated group. */
export interface ResourceStorage {
  /**
   * Names, scope, versions, schemas, columns, selectable fields and the `status` subresource, in the form of a
   * CustomResourceDefinition that is never installed. Objects come and go in its storage version; `spec.conversion`
   * must be `None`.
   */
  readonly definition: KubeObject
  readonly storage: RestStorage
  /**
   * Subresources beside `status` and `scale` (which the definition declares). A name: the whole object is read and
   * written through it, such as `approval`; the storage tells them apart by {@link StorageWrite.subresource}. A
   * {@link SubresourceHandlers} answers for itself. Each is a resource of its own to RBAC.
   */
  readonly subresources?: readonly (string | SubresourceHandlers)[]
  /** Fields that field selectors may name beyond those of the definition, with how to read them ('' when absent). */
  readonly selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>
  /** Bytes of JSON that one object may have; 1.5 MiB when left out. */
  readonly maxObjectBytes?: number
  /**
   * Bytes that the body of a request may have; 3 MiB when left out. Larger ones are answered 413 and never kept in
   * memory.
   */
  readonly maxBodyBytes?: number
}

/**
 * A subresource that is not the object itself: an action (`POST …/eviction`), something computed, a log. It answers the
 * verbs whose methods are there.
 */
export interface SubresourceHandlers {
  readonly name: string
  /** Of bodies and answers; those of the resource when left out. */
  readonly apiVersion?: string
  readonly kind?: string
  /** GET. An object, or bytes as they come; refuse with a StatusError, a missing object too. */
  get?(call: SubresourceRequest): Promise<KubeObject | StreamedResponse>
  /**
   * POST. Gives what is answered with 201. The body has apiVersion and kind and nothing else was checked: there is no
   * schema, so fieldValidation finds repeated fields only. Policies, validators and webhooks of the cluster see the
   * body as a CREATE of the subresource.
   */
  create?(object: KubeObject, call: SubresourceRequest): Promise<KubeObject>
  /** `create` minds {@link SubresourceRequest.dryRun}. A dry run is refused with a 400 otherwise. */
  readonly canDryRun?: boolean
}

/** A request to a subresource that answers for itself. */
export interface SubresourceRequest extends StorageWrite {
  readonly key: StorageKey
  /** Of the request, whole. */
  readonly query: URLSearchParams
  /** Nothing may be changed. */
  readonly dryRun: boolean
}

/** Bytes that are answered as they come, such as a log. */
export interface StreamedResponse {
  /** `text/plain` when left out. */
  readonly contentType?: string
  /** Read as fast as the caller reads; left when the caller goes. */
  readonly chunks: AsyncIterable<Uint8Array>
}

/** Where an object is. */
export interface StorageKey {
  /** '' for cluster-scoped resources. */
  readonly namespace: string
  readonly name: string
}

/** What is known of a write besides its objects. */
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
  /** Aborted when the caller goes, or the server. A storage may finish what it has begun. */
  readonly signal: AbortSignal
  /** Texts for `Warning` headers may be added. */
  readonly warnings: string[]
}

/**
 * A write before it is made, for {@link RestStorage.validate}. Of the subresource `scale`, `object` and `old` are
 * Scales.
 */
export interface StorageReview extends StorageWrite {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  /** As it would be; undefined for deletions. */
  readonly object: KubeObject | undefined
  /** As it is; undefined for creations. */
  readonly old: KubeObject | undefined
  /** Nothing will follow. */
  readonly dryRun: boolean
}

/** A change of an object, made by whoever. */
export interface StorageChange {
  readonly type: 'put' | 'delete'
  /** After the change; of a deletion the last state. */
  readonly object: KubeObject
  /** Before the change; undefined for a creation. Watches with selectors need it. */
  readonly previous: KubeObject | undefined
}

/** What a list asks of a storage that finds pages itself. */
export interface StorageQuery {
  /** One namespace; all of them, or none for cluster-scoped resources, when undefined. */
  readonly namespace: string | undefined
  /** A page may hold objects that do not match; the server leaves them out. */
  readonly labels: Selector
  readonly fields: FieldSelector
  /** Objects wanted at most; 0: as many as the storage likes to give at once. */
  readonly limit: number
  /**
   * {@link StoragePage.next} of the page before; undefined for the first. It comes from clients: throw a StatusError
   * 400 for what is none.
   */
  readonly after: string | undefined
}

/** One page. */
export interface StoragePage {
  readonly objects: readonly KubeObject[]
  /** What to ask the next page with, in any words; undefined on the last. */
  readonly next?: string
  /** How many objects follow, if that is known. */
  readonly remaining?: number
}

/** Writes that a storage may be unable to try. */
export type StorageOperation = 'create' | 'update' | 'delete'

/**
 * The storage of one resource. Objects carry no resourceVersion: revisions come from the server's counter, and it
 * checks them before it calls. Writes of one object never overlap; those of different ones do. What is handed out is
 * frozen by the server. Signals are aborted when the caller hangs up and when the server stops.
 *
 * | verbs | served where there is | dryRun | fieldValidation |
 * |---|---|---|---|
 * | `get` | `get` | | |
 * | `list` | `list` or `page` | | |
 * | `watch` | `watch`, and `list` or `page` | | |
 * | `create` | `create` | yes | yes |
 * | `update`, `patch` (with apply) | `update`, `get` and `watch` | yes | yes |
 * | `delete` | `delete`, `get` and `watch` | yes | |
 * | `deletecollection` | as `delete`, and `list` or `page` | yes | |
 *
 * - Dry runs call {@link validate} and nothing else; the answer is the object as the server would have handed it to the
 *   storage. Operations named in {@link noDryRun} refuse them with a 400.
 * - fieldValidation is the server's work, by the schema of the definition.
 * - Without `watch` nobody can say when an object has changed: its resourceVersion is that of the moment, so nothing
 *   but reading and creating it is possible. Without `get` and `list` as well, `create` answers a question (as
 *   SubjectAccessReview does): the object needs no name and is not kept.
 * - Finalizers: an object with some is marked by {@link update} with a deletionTimestamp; {@link delete} comes when the
 *   last is gone.
 * - To refuse, throw a StatusError of `@fairlead/kube`; any other error is a 500.
 */
export interface RestStorage {
  get?(key: StorageKey, signal: AbortSignal): Promise<KubeObject | undefined>
  /** Every object, or those of one namespace, in any order. The server selects, sorts and cuts pages. */
  list?(namespace: string | undefined, signal: AbortSignal): Promise<readonly KubeObject[]>
  /** In place of `list`, for storages that select and cut pages themselves. Their order is kept. */
  page?(query: StorageQuery, signal: AbortSignal): Promise<StoragePage>
  /** Checks that need more than the schema; runs before every write, dry runs included. */
  validate?(review: StorageReview): void | Promise<void>
  /** Operations that cannot be tried, because what they would do is not known before it is done. */
  readonly noDryRun?: readonly StorageOperation[]
  /** Makes an object and gives it as it is kept; uid and creationTimestamp are set. */
  create?(object: KubeObject, write: StorageWrite): Promise<KubeObject>
  /** Changes an object and gives it as it is kept. */
  update?(object: KubeObject, old: KubeObject, write: StorageWrite): Promise<KubeObject>
  delete?(old: KubeObject, write: StorageWrite): Promise<void>
  /**
   * Tells of every change from now on, the server's own writes included. A change can be read before it is told, and is
   * told before the write behind it resolves. Changes of one object are told in order. Let no time pass between the two
   * where others change objects: an update on the basis of what was there before is a conflict only once the change has
   * been told.
   */
  watch?(listener: (change: StorageChange) => void): Disposable
}
