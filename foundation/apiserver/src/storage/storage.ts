// Where an API server keeps its objects: a value that says how to open a store.
import type { Journal } from './journal.ts'
import type { Store } from './store.ts'
import { openStore } from './versioned-store.ts'
import type { StoreOptions } from './versioned-store.ts'

/** Opened when the server starts, closed when it stops. */
export interface Storage {
  /** Throws StoreError `StoreLocked`, `FormatTooNew` or `OpenFailed`. `defaults` is used for what the storage was not told. */
  open(defaults?: StoreOptions): Promise<Store>
  /** The folder it lives in; undefined for memory. */
  readonly folder: string | undefined
}

/** Objects in memory in front of a journal of one's own. A journal belongs to one store at a time. */
export function journaled(journal: Journal, options: StoreOptions = {}): Storage {
  return { folder: undefined, open: (defaults) => openStore(journal, { ...defaults, ...options }) }
}
