// Options and results of the methods of Client.
import type { JsonObject, JsonValue, KubeObject, LabelSelector, ObjectKey, Selector } from '@fairlead/kube'

/** Options of every call: a signal that cancels it. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

/** Selects objects of a kind. */
export interface Scope {
  /** One namespace; all of them when left out. */
  readonly namespace?: string
  /** In query form (`app=web,tier!=db`), as `matchLabels`/`matchExpressions`, or parsed. */
  readonly labelSelector?: string | LabelSelector | Selector
  /** In query form (`metadata.name=x`). */
  readonly fieldSelector?: string
}

/** Options of reads. */
export interface ReadOptions extends CallOptions {
  readonly subresource?: string
}

/** Options of lists. */
export interface ListOptions extends Scope, CallOptions {
  /** Objects per page; 500 when left out. All pages are followed. 0 asks for everything at once. */
  readonly pageSize?: number
  /** Only apiVersion, kind and metadata of each object. */
  readonly metadataOnly?: boolean
}

/** The objects of a list. */
export interface List<T> {
  readonly items: readonly T[]
  /** The revision of the list; a watch can start here. */
  readonly resourceVersion: string
}

/** One page of a list. */
export interface ListPage<T> extends List<T> {
  /** Token of the next page; undefined on the last. */
  readonly next: string | undefined
}

/** Options of writes. */
export interface WriteOptions extends CallOptions {
  readonly subresource?: string
  /** The field manager; the client's own when left out. */
  readonly manager?: string
  /** Runs all checks without storing anything. */
  readonly dryRun?: boolean
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
}

/** A patch: exactly one of its forms. */
export type Patch =
  | { readonly merge: JsonObject }
  | { readonly json: readonly JsonValue[] }
  /** Built-in kinds only; custom resources respond 415. */
  | { readonly strategic: JsonObject }

/** Options of server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /**
   * Takes over fields from other managers instead of failing with a conflict. Default false; true for clients of
   * controllers.
   */
  readonly force?: boolean
  /** Becomes the controlling owner; existing objects that it does not control are never changed (design decision 5). */
  readonly owner?: KubeObject
  /**
   * Reports whether an existing object is ours, where an owner reference does not show it; protects others as `owner`
   * does.
   */
  readonly isOurs?: (live: KubeObject) => boolean
  /** The cached object of this name, if the caller has it; saves the read before the first apply. */
  readonly cached?: KubeObject
}

/** Options of deletes. */
export interface DeleteOptions extends CallOptions {
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** Seconds. */
  readonly gracePeriod?: number
  /** Delete only the object with this UID and resourceVersion; anything else is a conflict. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly dryRun?: boolean
}

/** Observes every write before it is sent and after its response. Controllers use it to recognize their own writes. */
export interface WriteObserver {
  /** Called before a write of this object. Exactly one method of the result is called after it. */
  begin(
    kind: { readonly group: string; readonly kind: string },
    key: ObjectKey,
  ): {
    /** The object after the write; undefined when it was deleted or the response has no object. */
    wrote(object: KubeObject | undefined): void
    failed(): void
  }
}
