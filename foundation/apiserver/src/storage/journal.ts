// What makes a store durable: it is handed batches of changes in revision order, and tells them again when the store opens.
// `memory()` has none of it, `sqlite()` a file that a worker writes.
import type { JsonObject } from '@fairlead/kube'

/** A change on its way into the journal. Of a delete `object` is the last object. */
export interface JournalRecord {
  readonly revision: number
  readonly resource: string
  readonly key: string
  readonly deleted: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly object: JsonObject
}

/** A change as it comes back. The object is read when it is first looked at, so that opening does not parse what nobody asks for. */
export interface StoredRecord extends Omit<JournalRecord, 'object'> {
  readonly object: () => JsonObject
}

/** Versions that nobody can read any more. */
export interface Forgotten {
  readonly revisions: readonly number[]
  /** By resource: the oldest revision that can still be read. */
  readonly floors: ReadonlyMap<string, number>
}

/** What is committed as one. */
export interface JournalBatch {
  readonly records: readonly JournalRecord[]
  readonly forgotten: Forgotten | undefined
  /** Set after a commit whose outcome is unknown: whatever is there above this revision was never acknowledged and has to go. */
  readonly dropAbove: number | undefined
}

/** Where a journal stands when it has been read. */
export interface JournalState {
  readonly revision: number
  readonly floors: ReadonlyMap<string, number>
}

/** Durable memory of a store. Only one commit is under way at a time. */
export interface Journal extends AsyncDisposable {
  /** Hands over everything that is kept, in revision order, and says where it ends. Throws StoreLocked, FormatTooNew, OpenFailed. */
  open(load: (records: readonly StoredRecord[]) => void): Promise<JournalState>
  /** Resolves when the whole batch would survive a power cut; rejects when nothing of it is kept, or when that is not known. */
  commit(batch: JournalBatch): Promise<void>
}

/** The revision of a store that has never been written to. */
export const firstRevision = 1000

/** Keeps nothing: the store is gone with its process. */
export const noJournal: Journal = {
  open: () => Promise.resolve({ revision: firstRevision, floors: new Map<string, number>() }),
  commit: () => Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
}
