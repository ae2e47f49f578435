// A store that lives and dies with its process.
import { noJournal } from './journal.ts'
import type { Store } from './store.ts'
import { openStore } from './versioned-store.ts'
import type { StoreOptions } from './versioned-store.ts'

/** Where an API server keeps its objects: opened when the server starts, closed when it stops. */
export interface Storage {
  /** Throws StoreError `StoreLocked`, `FormatTooNew` or `OpenFailed`. `defaults` is used for what the storage was not told. */
  open(defaults?: StoreOptions): Promise<Store>
  /** The folder it lives in; undefined for memory. */
  readonly folder: string | undefined
}

/** Objects in memory only; for tests and trials. */
export function memory(options: StoreOptions = {}): Storage {
  return { folder: undefined, open: (defaults) => openStore(noJournal, { ...defaults, ...options }) }
}
