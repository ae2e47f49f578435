// What the calls of a Client take and give.
import type { JsonObject, JsonValue, KubeObject, LabelSelector, ObjectKey, Selector } from '@fairlead/kube'

/** Every call can be called off. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

/** Which objects of a kind are meant. */
export interface Scope {
  /** One namespace; all of them when left out. */
  readonly namespace?: string
  /** In query form (`app=web,tier!=db`), as `matchLabels`/`matchExpressions`, or parsed. */
  readonly labelSelector?: string | LabelSelector | Selector
  /** In query form (`metadata.name=x`). */
  readonly fieldSelector?: string
}

/** How objects are read. */
export interface ReadOptions extends CallOptions {
  readonly subresource?: string
}

/** How objects are listed. */
export interface ListOptions extends Scope, CallOptions {
  /** Objects per page; 500 when left out. All pages are followed. 0 asks for everything at once. */
  readonly pageSize?: number
  /** Only apiVersion, kind and metadata of each object. */
  readonly metadataOnly?: boolean
}

/** All objects that a list found. */
export interface List<T> {
  readonly items: readonly T[]
  /** The revision of the list; a watch may continue from here. */
  readonly resourceVersion: string
}

/** One page of a list. */
export interface ListPage<T> extends List<T> {
  /** Token of the next page; undefined on the last. */
  readonly next: string | undefined
}

/** How objects are written. */
export interface WriteOptions extends CallOptions {
  readonly subresource?: string
  /** The field manager; the client's own when left out. */
  readonly manager?: string
  /** Checks everything and stores nothing. */
  readonly dryRun?: boolean
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
}

/** A patch: exactly one of its forms. */
export type Patch =
  | { readonly merge: JsonObject }
  | { readonly json: readonly JsonValue[] }
  /** Built-in kinds only; custom resources answer 415. */
  | { readonly strategic: JsonObject }

/** How a configuration is applied. */
export interface ApplyOptions extends WriteOptions {
  /**
   * Takes fields from other managers instead of failing with a conflict. Default false; true for clients of
   * controllers.
   */
  readonly force?: boolean
  /** Becomes the controlling owner; objects that it does not control already are never touched (design decision 5). */
  readonly owner?: KubeObject
  /** Says which existing objects are ours, where an owner reference does not; turns the protection on like `owner`. */
  readonly isOurs?: (live: KubeObject) => boolean
  /** What a cache holds under this name, if the caller knows; saves the read before the first apply. */
  readonly cached?: KubeObject
}

/** How objects are deleted. */
export interface DeleteOptions extends CallOptions {
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** Seconds. */
  readonly gracePeriod?: number
  /** Only this very object, and only in this version; anything else is a conflict. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly dryRun?: boolean
}

/** Told of every write before it is sent and when its answer is there. Controllers use it to know their own writes. */
export interface WriteObserver {
  /** A write of this object begins. Exactly one member of the result is called when it has ended. */
  begin(
    kind: { readonly group: string; readonly kind: string },
    key: ObjectKey,
  ): {
    /** The object as it stands now; undefined when it is gone or was not told (a delete). */
    wrote(object: KubeObject | undefined): void
    failed(): void
  }
}
