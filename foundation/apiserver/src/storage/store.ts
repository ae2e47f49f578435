// The store of the API server: one ordered revision, compare-and-swap per key, reads at a revision, a change log to
// resume watches from. `memory()` and `sqlite()` implement it and pass one conformance table (specs/foundation.md
// §1.3).
import type { JsonObject } from '@fairlead/kube'

/**
 * One stored version of an object. `object` is frozen and has no resourceVersion: `revision` is its resourceVersion.
 * Everything served is a view of it. The identity of an Entry is stable while it is current, so views may be cached by
 * it (WeakMap).
 */
export interface Entry {
  /** The resource it belongs to: `<plural>.<group>` (`configmaps.`, `deployments.apps`). */
  readonly resource: string
  /** `namespace/name`, or `name` for cluster-scoped resources. */
  readonly key: string
  readonly revision: number
  readonly object: JsonObject
}

/** A visible change. The `entry` of a delete carries the revision of the delete and the last object. */
export interface Change {
  readonly type: 'put' | 'delete'
  readonly entry: Entry
  /** The previous version; undefined for a creation. */
  readonly previous: Entry | undefined
}

/** One page of a list, read at `revision`. */
export interface Page {
  readonly entries: readonly Entry[]
  readonly revision: number
  /** Number of keys after this page; 0 on the last page. */
  readonly remaining: number
}

/** The range of keys that a list reads. */
export interface Range {
  /** Only keys that start with it (`my-namespace/`). */
  readonly prefix?: string
  /** Only keys after this one (for continue tokens). */
  readonly after?: string
  readonly limit?: number
  /** Reads at this revision instead of the newest. Throws RevisionExpired or RevisionInFuture. */
  readonly revision?: number
}

/** One write. A later write of the same batch may build on it. */
export interface Write {
  readonly resource: string
  readonly key: string
  /** The current revision that the key must have; 0 = it must not exist. */
  readonly expected: number
  /** The new object, or undefined to delete. The store freezes it. A delete may carry the final object in `last`. */
  readonly object: JsonObject | undefined
  readonly last?: JsonObject
}

/**
 * Reasons of a StoreError:
 * - `Conflict`: the key is not at the expected revision. Read again and decide anew.
 * - `RevisionExpired`: that revision has been compacted. List again.
 * - `RevisionInFuture`: that revision does not exist yet.
 * - `CommitFailed`: the journal failed to commit the write; whether it persists is unknown until the next commit.
 * - `StorageFull`: the disk has no space for the write; nothing of it was kept.
 * - `LimitReached`: live objects take all the bytes that they may; the write would add to them. Delete objects.
 * - `StoreClosed`: the store was disposed.
 * - `StoreLocked`: another process uses the data folder; the message names it.
 * - `FormatTooNew`: a newer version wrote the data folder. It is left unchanged.
 * - `OpenFailed`: the data folder cannot be opened or is damaged.
 */
export type StoreErrorCode =
  | 'Conflict'
  | 'RevisionExpired'
  | 'RevisionInFuture'
  | 'CommitFailed'
  | 'StorageFull'
  | 'LimitReached'
  | 'StoreClosed'
  | 'StoreLocked'
  | 'FormatTooNew'
  | 'OpenFailed'

/** Error of a store; `code` is stable. */
export class StoreError extends Error {
  readonly code: StoreErrorCode
  /** For RevisionExpired: the oldest readable revision. */
  readonly oldest: number | undefined

  constructor(code: StoreErrorCode, message: string, options?: { oldest?: number; cause?: unknown }) {
    super(message, { cause: options?.cause })
    this.name = 'StoreError'
    this.code = code
    this.oldest = options?.oldest
  }
}

/**
 * Receives each change once, in revision order. Must not throw and must not write synchronously. While it runs,
 * `revision` of the store is exactly that of the change.
 */
export type ChangeListener = (change: Change) => void

/** The store. Reads see committed state only. */
export interface Store extends AsyncDisposable {
  /** The newest visible revision. A new store starts at 1000. */
  readonly revision: number
  /** The error of the last commit; undefined when it succeeded. */
  readonly lastError?: string | undefined
  /** Bytes of JSON of all live objects, and their limit; undefined for stores that count none. */
  readonly bytes?: { readonly live: number; readonly limit: number }
  get(resource: string, key: string, revision?: number): Promise<Entry | undefined>
  /**
   * Returns the newest state of a key, pending writes included: the state that compare-and-swap checks. For
   * read-modify-write loops; never serve it.
   */
  head(resource: string, key: string): Promise<Entry | undefined>
  list(resource: string, range?: Range): Promise<Page>
  /** Returns the number of existing keys under a prefix, without building a page. */
  count(resource: string, prefix?: string): number
  /**
   * Assigns the next revision, joins the open batch and resolves after the commit. Throws Conflict at once when
   * `expected` is not the pending head.
   */
  write(write: Write): Promise<Entry>
  /**
   * Commits all of these writes together, in this order, or none of them. A delete may be followed by a creation of the
   * same key (`expected` 0). Their revisions are also above `above`. Blocks the process while all of them are encoded:
   * for restoring, not for serving. Throws Conflict as `write` does.
   */
  writeAll(writes: readonly Write[], above?: number): Promise<readonly Entry[]>
  /**
   * Calls `listener` with every visible change of `resource` after `since` (exclusive): past changes before this
   * returns, later ones as they become visible, without overlap or gap. Throws RevisionExpired when `since` is older
   * than the log. Calls `onExpired` once when later changes are not reported: the watch is over, and its client lists
   * again.
   */
  watch(resource: string, since: number, listener: ChangeListener, onExpired?: () => void): Disposable
  /** Calls `listener` with every later change of every resource; for caches of the server itself. */
  watchAll(listener: ChangeListener): Disposable
  /**
   * Resolves when the visible revision is at least `revision` (for reads "not older than"); rejects with the signal's
   * reason.
   */
  reached(revision: number, signal: AbortSignal): Promise<void>
  /**
   * Drops the versions outside the window (five minutes, 10,000 changes or 128 MiB of a resource, whichever is reached
   * first), in the journal too. With a revision it also drops every older version inside the window: reads and watches
   * before it throw RevisionExpired.
   */
  compact(revision?: number): Promise<void>
  /**
   * Yields a consistent copy of all objects, for backups: entries in key order, at the revision that is visible when
   * the first is requested.
   */
  snapshot(): AsyncIterable<Entry>
}
