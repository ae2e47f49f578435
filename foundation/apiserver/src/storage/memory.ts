// A store in memory, without a journal.
import { noJournal } from './journal.ts'
import { journaled } from './storage.ts'
import type { Storage } from './storage.ts'
import type { StoreOptions } from './versioned-store.ts'

/** Stores objects in memory only; for tests and trials. */
export function memory(options: StoreOptions = {}): Storage {
  return journaled(noJournal, options)
}
