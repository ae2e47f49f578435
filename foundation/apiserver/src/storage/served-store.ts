// The store as handlers call it: each call carries the origin of its request. The server's own store ignores the
// origin, resource storages receive it.
import type { FieldSelector, Selector, UserInfo } from '@fairlead/kube'
import type { Entry, Page, Range, Store, Write } from './store.ts'

/** The request behind a write. */
export interface WriteOrigin {
  readonly user: UserInfo
  readonly subresource: string
  readonly signal: AbortSignal
  readonly warnings: string[]
}

/** The request behind a list, for storages that apply selectors themselves. */
export interface ListOrigin {
  readonly signal: AbortSignal
  readonly labels?: Selector
  readonly fields?: FieldSelector
  /** Maximum number of objects; `limit` of the range is left out where the handler applies the selectors. 0: all. */
  readonly wanted?: number
}

/** A page, with its continuation when the storage paginates. */
export interface ServedPage extends Page {
  /** The key after which the next page begins; set when the storage paginates. */
  readonly next?: string | undefined
}

/** A store that takes the origin of a call; every {@link Store} is one. */
export interface ServedStore extends Store {
  get(resource: string, key: string, revision?: number, signal?: AbortSignal): Promise<Entry | undefined>
  head(resource: string, key: string, signal?: AbortSignal): Promise<Entry | undefined>
  list(resource: string, range?: Range, origin?: ListOrigin): Promise<ServedPage>
  /** Returns true when the storage of a resource applies selectors and paginates itself. */
  paginates(resource: string): boolean
  write(write: Write, origin?: WriteOrigin): Promise<Entry>
}
