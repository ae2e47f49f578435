// The messages between the store's thread and the journal worker. Types only: the worker must load nothing but itself
// and Node.

/** A row of the journal: revision, resource, key, deleted, milliseconds since the epoch, the object's JSON. */
export type Row = readonly [revision: number, resource: string, key: string, deleted: 0 | 1, at: number, object: string]

/** A request to the worker; it replies in order, with the request's id. */
export type JournalRequest = { readonly id: number } & (
  | {
      readonly kind: 'open'
      readonly folder: string
      readonly startedAt: string
      readonly firstRevision: number
      readonly load: boolean
    }
  | {
      readonly kind: 'commit'
      readonly rows: readonly Row[]
      readonly compaction:
        | { readonly revisions: readonly number[]; readonly compactedRevisions: ReadonlyMap<string, number> }
        | undefined
      readonly dropAbove: number | undefined
    }
  | { readonly kind: 'close' }
)

/** A reply of the worker. Rows precede the reply to `open`. */
export type JournalReply = { readonly id: number } & (
  | { readonly kind: 'rows'; readonly rows: readonly Row[] }
  | { readonly kind: 'opened'; readonly revision: number; readonly compactedRevisions: ReadonlyMap<string, number> }
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed'
      readonly code: 'StoreLocked' | 'FormatTooNew' | 'OpenFailed' | 'CommitFailed' | 'StorageFull'
      readonly message: string
    }
)
