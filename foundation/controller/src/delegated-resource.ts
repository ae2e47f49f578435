// API resources that a capability serves itself: it gives a storage, the server does the rest (discovery, OpenAPI, tables, selectors, watch, RBAC,
// admission, schemas, defaults, field validation, patches and server-side apply). Embedded in `fairlead up` the server is ours; the same storage,
// hosted in a process of its own behind an APIService, serves a real cluster.
import type { KubeObject } from '@fairlead/kube'

/** One resource of a delegated group. */
export interface DelegatedResource {
  /**
   * Names, scope, versions, schemas, columns, selectable fields and the `status` subresource, in the form of a CustomResourceDefinition that is
   * never installed. Objects come and go in its storage version; `spec.conversion` must be `None`.
   */
  readonly definition: KubeObject
  readonly storage: DelegatedStorage
  /**
   * Subresources beside `status` through which the whole object is read and written, such as `approval`. Each is a resource of its own to RBAC.
   * The storage tells them apart by {@link DelegatedWrite.subresource}.
   */
  readonly subresources?: readonly string[]
  /** Fields that field selectors may name beyond those of the definition, with how to read them ('' when absent). */
  readonly selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>
  /** Bytes of JSON that one object may have; 1.5 MiB when left out. Request bodies are bounded by 3 MiB in any case. */
  readonly maxObjectBytes?: number
}

/** Where an object is. */
export interface DelegatedKey {
  /** '' for cluster-scoped resources. */
  readonly namespace: string
  readonly name: string
}

/** What is known of a write besides its objects. */
export interface DelegatedWrite {
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

/** A write before it is made, for {@link DelegatedStorage.validate}. */
export interface DelegatedReview extends DelegatedWrite {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  /** As it would be; undefined for deletions. */
  readonly object: KubeObject | undefined
  /** As it is; undefined for creations. */
  readonly old: KubeObject | undefined
  /** Nothing will follow. */
  readonly dryRun: boolean
}

/** A change of an object, made by whoever. */
export interface DelegatedChange {
  readonly type: 'put' | 'delete'
  /** After the change; of a deletion the last state. */
  readonly object: KubeObject
  /** Before the change; undefined for a creation. Watches with selectors need it. */
  readonly previous: KubeObject | undefined
}

/**
 * The storage of one resource. Objects carry no resourceVersion: revisions come from the server's counter, and it checks them before it calls.
 * Writes of one object never overlap; those of different ones do. What is handed out is frozen by the server.
 *
 * - Verbs: `get`, `list` and `watch` are always served; `create`, `update` and `patch`, `delete` and `deletecollection` where the method is there.
 * - Dry runs call {@link validate} and nothing else; the answer is the object as the server would have handed it to the storage.
 * - Finalizers: an object with some is marked by {@link update} with a deletionTimestamp; {@link delete} comes when the last is gone.
 * - To refuse, throw a StatusError of `@fairlead/kube`; any other error is a 500.
 */
export interface DelegatedStorage {
  get(key: DelegatedKey, signal: AbortSignal): Promise<KubeObject | undefined>
  /** Every object, or those of one namespace, in any order. */
  list(namespace: string | undefined, signal: AbortSignal): Promise<readonly KubeObject[]>
  /** Checks that need more than the schema; runs before every write, dry runs included. */
  validate?(review: DelegatedReview): void | Promise<void>
  /** Makes an object and gives it as it is kept; uid and creationTimestamp are set. */
  create?(object: KubeObject, write: DelegatedWrite): Promise<KubeObject>
  /** Changes an object and gives it as it is kept. */
  update?(object: KubeObject, old: KubeObject, write: DelegatedWrite): Promise<KubeObject>
  delete?(old: KubeObject, write: DelegatedWrite): Promise<void>
  /**
   * Tells of every change from now on, the server's own writes included. A change can be read before it is told, and is told before the write
   * behind it resolves. Changes of one object are told in order.
   */
  watch(listener: (change: DelegatedChange) => void): Disposable
}
