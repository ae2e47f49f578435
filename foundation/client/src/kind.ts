// Kinds as values that carry the TypeScript type of their objects.
import { parseApiVersion, parseKey } from '@fairlead/kube'
import type { GroupVersionKind, KubeObject, ObjectKey } from '@fairlead/kube'

declare const objectType: unique symbol

/** A kind in one version. `T` is the type of its objects; nothing at run time depends on it. */
export interface Kind<T extends KubeObject = KubeObject> extends GroupVersionKind {
  readonly apiVersion: string
  /** Name of the resource in URLs (`deployments`); looked up by discovery when left out. */
  readonly plural?: string
  /** Objects are namespaced; looked up by discovery when left out. */
  readonly namespaced?: boolean
  /** Carries `T` for the type checker; never set. */
  readonly [objectType]?: T
}

/** A kind, or just its names as objects carry them. */
export type KindLike<T extends KubeObject = KubeObject> =
  | Kind<T>
  | { readonly apiVersion: string; readonly kind: string }

/** A key: `namespace/name`, `name`, or both apart. */
export type KeyLike = string | ObjectKey

/**
 * Declares a kind: `const Memcached = kind<Memcached>('cache.example.com/v1alpha1', 'Memcached')`.
 * With `plural` and `namespaced` given, no discovery request is ever made for it.
 */
export function kind<T extends KubeObject = KubeObject>(
  apiVersion: string,
  name: string,
  resource?: { readonly plural?: string; readonly namespaced?: boolean },
): Kind<T> {
  return Object.freeze({ apiVersion, ...parseApiVersion(apiVersion), kind: name, ...resource })
}

/** Returns the kind that `like` names; `like` itself when it is a Kind. */
export function toKind<T extends KubeObject>(like: KindLike<T>): Kind<T> {
  return 'group' in like ? like : kind<T>(like.apiVersion, like.kind)
}

/** The kind of an object. */
export function kindOfObject<T extends KubeObject>(object: T): Kind<T> {
  return kind<T>(object.apiVersion, object.kind)
}

/** Returns group and kind as one string, `Deployment.apps`; the same for every version. For map keys and messages. */
export function groupKindName(of: { readonly group: string; readonly kind: string }): string {
  return of.group === '' ? of.kind : `${of.kind}.${of.group}`
}

/** Returns the key that `like` represents. */
export function toKey(like: KeyLike): ObjectKey {
  return typeof like === 'string' ? parseKey(like) : like
}
