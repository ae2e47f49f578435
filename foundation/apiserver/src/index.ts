// The door of @fairlead/apiserver.

// storage
export { StoreError } from './storage/store.ts'
export type { Change, ChangeListener, Entry, Page, Range, Store, StoreErrorCode, Write } from './storage/store.ts'
export { memory } from './storage/memory.ts'
export { sqlite } from './storage/sqlite.ts'
export { journaled } from './storage/storage.ts'
export type { Storage } from './storage/storage.ts'
export type { Forgotten, Journal, JournalBatch, JournalRecord, JournalState, StoredRecord } from './storage/journal.ts'
export type { StoreOptions } from './storage/versioned-store.ts'
export type { Window } from './storage/resource-table.ts'
