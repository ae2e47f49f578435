// Reads for relations, with the rights of the user that asks. Start with ObjectReader; ClientReader implements it.
import type { KeyLike, Kind, KindLike, ServedKind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'

/** An object or a list that could not be read, and why: its objects may exist, or not. */
export interface Unreadable {
  readonly reason: 'Forbidden' | 'NotServed' | 'Failed' | 'TooMany'
  readonly verb: 'get' | 'list'
  /** `deployments.apps`; the kind, where the plural is not known. */
  readonly resource: string
  /** Undefined for cluster-scoped kinds, and for all namespaces. */
  readonly namespace?: string
  /** Undefined for a list. */
  readonly name?: string
  readonly message: string
}

/** The result of reading one object. */
export type ObjectRead<T extends KubeObject = KubeObject> =
  | { readonly found: 'yes'; readonly object: T }
  | { readonly found: 'no' }
  | { readonly found: 'unknown'; readonly why: Unreadable }

/** The result of listing objects. */
export interface ObjectList<T extends KubeObject = KubeObject> {
  readonly objects: readonly T[]
  /** Set when there may be more than `objects`. */
  readonly why?: Unreadable
}

/** Reads each object and each list at most once. */
export interface ObjectReader {
  /** Reads one object. A version that is not served is read in the one that is. */
  get<T extends KubeObject>(kind: KindLike<T>, key: KeyLike): Promise<ObjectRead<T>>
  /**
   * Lists a kind in a namespace, in all of them when left out. Where all namespaces may not be listed, the result has
   * those of the namespace that the reader is for.
   */
  list<T extends KubeObject>(kind: KindLike<T>, namespace?: string): Promise<ObjectList<T>>
  /** Returns metadata of the objects of a list; apiVersion and kind are those of the kind. */
  listMetadata(kind: KindLike, namespace?: string): Promise<ObjectList>
  /** Returns the kinds that the server serves, in all versions; none when discovery fails. */
  served(): Promise<readonly ServedKind[]>
  /** Returns a kind in the version that clients prefer; undefined when the server does not serve it. */
  preferred(group: string, kind: string): Promise<Kind | undefined>
}
