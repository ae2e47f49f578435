// The store as endpoints see it: a call says on whose behalf it is made. The store of the server itself does not care, storages of delegated resources
// do.
import type { FieldSelector, Selector, UserInfo } from '@fairlead/kube'
import type { Entry, Page, Range, Store, Write } from './store.ts'

/** On whose behalf a write is made. */
export interface WriteOrigin {
  readonly user: UserInfo
  readonly subresource: string
  readonly signal: AbortSignal
  readonly warnings: string[]
}

/** What a list looks for, for storages that select themselves. */
export interface ListOrigin {
  readonly signal: AbortSignal
  readonly labels?: Selector
  readonly fields?: FieldSelector
  /** Objects that are wanted; `limit` of the range is left out where the endpoint selects. 0: all. */
  readonly wanted?: number
}

/** A page, with how it goes on where the storage has cut it. */
export interface ServedPage extends Page {
  /** The key after which the next page begins; present where the storage cut this one itself. */
  readonly next?: string | undefined
}

/** A store that takes the origin of calls; every {@link Store} is one. */
export interface ServedStore extends Store {
  get(resource: string, key: string, revision?: number, signal?: AbortSignal): Promise<Entry | undefined>
  head(resource: string, key: string, signal?: AbortSignal): Promise<Entry | undefined>
  list(resource: string, range?: Range, origin?: ListOrigin): Promise<ServedPage>
  /** Whether lists of a resource are selected and cut by its storage. */
  cutsPages(resource: string): boolean
  write(write: Write, origin?: WriteOrigin): Promise<Entry>
}
