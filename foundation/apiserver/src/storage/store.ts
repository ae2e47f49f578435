// What the API server keeps objects in: one ordered revision, compare-and-swap per key, reads at a revision, a change log to resume watches from.
// `memory()` and `sqlite()` implement it and pass one conformance table (specs/foundation.md §1.3).
import type { JsonObject } from '@fairlead/kube'

/**
 * One stored version of an object. `object` is frozen and holds no resourceVersion: the revision is it. Everything served is a view of this.
 * The identity of an Entry is stable for as long as it is current, so views may be cached by it (WeakMap).
 */
export interface Entry {
  /** The resource it belongs to: `<plural>.<group>` (`configmaps.`, `deployments.apps`). */
  readonly resource: string
  /** `namespace/name`, or `name` for cluster-scoped resources. */
  readonly key: string
  readonly revision: number
  readonly object: JsonObject
}

/** A change that has become visible. `entry` of a delete carries the revision of the delete and the last object. */
export interface Change {
  readonly type: 'put' | 'delete'
  readonly entry: Entry
  /** The version before, undefined for a creation. */
  readonly previous: Entry | undefined
}

/** A page of a list, all of it at `revision`. */
export interface Page {
  readonly entries: readonly Entry[]
  readonly revision: number
  /** Keys left after this page, 0 when it was the last. */
  readonly remaining: number
}

/** Which keys a list wants. */
export interface Range {
  /** Only keys that start with it (`my-namespace/`). */
  readonly prefix?: string
  /** Only keys after this one (for continue tokens). */
  readonly after?: string
  readonly limit?: number
  /** At this revision instead of now. Throws RevisionExpired or RevisionInFuture. */
  readonly revision?: number
}

/** A write that a later one of the same batch may build on. */
export interface Write {
  readonly resource: string
  readonly key: string
  /** The revision the key must have now; 0 = it must not exist. */
  readonly expected: number
  /** The new object, or undefined to delete. The store freezes it. A delete may carry the final object in `last`. */
  readonly object: JsonObject | undefined
  readonly last?: JsonObject
}

/**
 * Why a store refuses:
 * - `Conflict`: the key is not at the expected revision. Read again and decide anew.
 * - `RevisionExpired`: that revision cannot be read any more. List again.
 * - `RevisionInFuture`: that revision does not exist yet.
 * - `CommitFailed`: the journal did not take the write; whether it is kept is unknown until the next one.
 * - `StoreClosed`: the store was disposed.
 * - `StoreLocked`: another process uses the data folder; the message names it.
 * - `FormatTooNew`: a newer version wrote the data folder. It stays as it is.
 * - `OpenFailed`: the data folder cannot be opened, or is damaged.
 */
export type StoreErrorCode =
  | 'Conflict'
  | 'RevisionExpired'
  | 'RevisionInFuture'
  | 'CommitFailed'
  | 'StoreClosed'
  | 'StoreLocked'
  | 'FormatTooNew'
  | 'OpenFailed'

/** What the store throws; `code` is stable. */
export class StoreError extends Error {
  readonly code: StoreErrorCode
  /** For RevisionExpired: the oldest revision that can still be read. */
  readonly oldest: number | undefined

  constructor(code: StoreErrorCode, message: string, options?: { oldest?: number; cause?: unknown }) {
    super(message, { cause: options?.cause })
    this.name = 'StoreError'
    this.code = code
    this.oldest = options?.oldest
  }
}

/**
 * Receives changes in revision order, each once. Must not throw and must not write synchronously. While it runs, the store stands exactly at the
 * change's revision.
 */
export type ChangeListener = (change: Change) => void

/** The store. All reads see committed state only. */
export interface Store extends AsyncDisposable {
  /** The newest visible revision. A fresh store begins at 1000. */
  readonly revision: number
  /** Why the last write could not be stored; undefined when it could. */
  readonly trouble?: string | undefined
  get(resource: string, key: string, revision?: number): Promise<Entry | undefined>
  /**
   * The newest state of a key including writes that wait for their commit: what compare-and-swap checks against.
   * For read-modify-write loops; never to be served.
   */
  head(resource: string, key: string): Promise<Entry | undefined>
  list(resource: string, range?: Range): Promise<Page>
  /** Keys that exist now under a prefix, without a page's bookkeeping. */
  count(resource: string, prefix?: string): number
  /** Takes the next revision, joins the open batch, resolves after the commit. Throws Conflict at once when `expected` is not the pending head. */
  write(write: Write): Promise<Entry>
  /**
   * Takes all of these writes, in this order, in one commit, or none of them. A delete may be followed by a creation of the same key (`expected` 0).
   * Their revisions are above `above` as well. Holds up the process for as long as the encoding of all of them takes: for restoring, not for serving.
   * Throws Conflict as `write` does.
   */
  writeAll(writes: readonly Write[], above?: number): Promise<readonly Entry[]>
  /**
   * Calls `listener` with every visible change of `resource` after `since` (exclusive), past ones first, before this returns, then as they become
   * visible. Past and present never overlap or leave a gap. Throws RevisionExpired when `since` is older than the log.
   */
  watch(resource: string, since: number, listener: ChangeListener): Disposable
  /** Every change of every resource from now on; for caches of the server itself. */
  watchAll(listener: ChangeListener): Disposable
  /** Resolves when the visible revision is `revision` or newer (for reads "not older than"); rejects with the signal's reason. */
  reached(revision: number, signal: AbortSignal): Promise<void>
  /**
   * Forgets what has left the window (five minutes or 10,000 changes of a resource, whichever is reached first), in the journal too. With a
   * revision it also forgets, inside the window, every version older than that: reads and watches before it throw RevisionExpired.
   */
  compact(revision?: number): Promise<void>
  /** A consistent copy of everything, for backups: entries in key order, at the revision that is visible when the first is asked for. */
  snapshot(): AsyncIterable<Entry>
}
