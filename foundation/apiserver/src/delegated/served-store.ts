// The store as endpoints see it: a write says on whose behalf it is made. The store of the server itself does not care, storages of delegated resources do.
import type { UserInfo } from '../auth/user.ts'
import type { Entry, Store, Write } from '../storage/store.ts'

/** On whose behalf a write is made. */
export interface WriteOrigin {
  readonly user: UserInfo
  readonly subresource: string
  readonly signal: AbortSignal
  readonly warnings: string[]
}

/** A store that takes the origin of writes; every {@link Store} is one. */
export interface ServedStore extends Store {
  write(write: Write, origin?: WriteOrigin): Promise<Entry>
}
