// The durable log behind a store: it commits batches of changes in revision order and returns them when the store
// opens. `memory()` keeps none, `sqlite()` a file that a worker thread writes.
import type { JsonObject } from '@fairlead/kube'

/** A change to commit. The `object` of a delete is the last object. */
export interface JournalRecord {
  readonly revision: number
  readonly resource: string
  readonly key: string
  readonly deleted: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly object: JsonObject
  /** The object as JSON. */
  readonly json: string
}

/**
 * A change read back. Its object is parsed on first access, so that opening does not parse objects that are never read.
 */
export interface StoredRecord extends Omit<JournalRecord, 'object' | 'json'> {
  readonly object: () => JsonObject
  /** Bytes of its JSON. */
  readonly bytes: number
}

/** Versions to delete because they are no longer readable. */
export interface Compaction {
  readonly revisions: readonly number[]
  /** By resource: the oldest readable revision. */
  readonly compactedRevisions: ReadonlyMap<string, number>
}

/** The contents of one commit. */
export interface JournalBatch {
  readonly records: readonly JournalRecord[]
  readonly compaction: Compaction | undefined
  /**
   * Set after a commit with an unknown outcome: records above this revision were never acknowledged and are deleted.
   */
  readonly dropAbove: number | undefined
}

/** The state of a journal after it was read. */
export interface JournalState {
  readonly revision: number
  readonly compactedRevisions: ReadonlyMap<string, number>
}

/** The durable log of a store. At most one commit runs at a time. */
export interface Journal extends AsyncDisposable {
  /**
   * Passes every record to `load`, in revision order, and returns the state after the last. Throws StoreLocked,
   * FormatTooNew, OpenFailed.
   */
  open(load: (records: readonly StoredRecord[]) => void): Promise<JournalState>
  /**
   * Resolves when the whole batch would survive a power cut; rejects when none of it is persisted or the outcome is
   * unknown.
   */
  commit(batch: JournalBatch): Promise<void>
}

/** The revision of a store without writes. */
export const firstRevision = 1000

/** Persists nothing: the data of the store ends with its process. */
export const noJournal: Journal = {
  open: () => Promise.resolve({ revision: firstRevision, compactedRevisions: new Map<string, number>() }),
  commit: () => Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
}
