// The storage option of an API server: a value that opens a store.
import type { Journal } from './journal.ts'
import type { Store } from './store.ts'
import { openStore } from './versioned-store.ts'
import type { StoreOptions } from './versioned-store.ts'

/** A store to open when the server starts and to close when it stops. */
export interface Storage {
  /**
   * Opens the store; `defaults` apply to options that the storage does not set. Throws StoreError `StoreLocked`,
   * `FormatTooNew` or `OpenFailed`.
   */
  open(defaults?: StoreOptions): Promise<Store>
  /** The data folder; undefined for memory. */
  readonly folder: string | undefined
}

/** Stores objects in memory in front of a custom journal. A journal belongs to one store at a time. */
export function journaled(journal: Journal, options: StoreOptions = {}): Storage {
  return { folder: undefined, open: (defaults) => openStore(journal, { ...defaults, ...options }) }
}
