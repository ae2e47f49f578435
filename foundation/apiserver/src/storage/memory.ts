// A store that lives and dies with its process.
import { noJournal } from './journal.ts'
import { journaled } from './storage.ts'
import type { Storage } from './storage.ts'
import type { StoreOptions } from './versioned-store.ts'

/** Objects in memory only; for tests and trials. */
export function memory(options: StoreOptions = {}): Storage {
  return journaled(noJournal, options)
}
