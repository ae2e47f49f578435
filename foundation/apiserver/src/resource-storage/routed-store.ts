// Routes store calls: those for resource storages to their tables, all others to the server's store.
import type { Change, ChangeListener, Entry, Range, Store, Write } from '../storage/store.ts'
import type { StorageTable } from './storage-table.ts'
import type { ListOrigin, ServedPage, ServedStore, WriteOrigin } from '../storage/served-store.ts'

const serverOrigin = (): WriteOrigin => ({
  user: { name: 'system:apiserver', groups: ['system:masters'] },
  subresource: '',
  signal: new AbortController().signal,
  warnings: [],
})

/** The store that handlers call. Its owner disposes the server's store. */
export class RoutedStore implements ServedStore {
  readonly #store: Store
  readonly #tables = new Map<string, StorageTable>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Adds the table of a resource storage until the returned value is disposed. */
  add(table: StorageTable): Disposable {
    this.#tables.set(table.resource, table)
    return { [Symbol.dispose]: () => void this.#tables.delete(table.resource) }
  }

  get revision(): number {
    return this.#store.revision
  }

  get bytes(): Store['bytes'] {
    return this.#store.bytes
  }

  get(resource: string, key: string, revision?: number, signal?: AbortSignal): Promise<Entry | undefined> {
    const table = this.#tables.get(resource)
    return table === undefined ? this.#store.get(resource, key, revision) : table.get(key, revision, signal)
  }

  head(resource: string, key: string, signal?: AbortSignal): Promise<Entry | undefined> {
    const table = this.#tables.get(resource)
    return table === undefined ? this.#store.head(resource, key) : table.get(key, undefined, signal)
  }

  list(resource: string, range?: Range, origin?: ListOrigin): Promise<ServedPage> {
    const table = this.#tables.get(resource)
    return table === undefined ? this.#store.list(resource, range) : table.list(range, origin)
  }

  paginates(resource: string): boolean {
    return this.#tables.get(resource)?.paginates ?? false
  }

  count(resource: string, prefix?: string): number {
    return this.#store.count(resource, prefix)
  }

  write(write: Write, origin?: WriteOrigin): Promise<Entry> {
    const table = this.#tables.get(write.resource)
    return table === undefined ? this.#store.write(write) : table.write(write, origin ?? serverOrigin())
  }

  writeAll(writes: readonly Write[], above?: number): Promise<readonly Entry[]> {
    return this.#store.writeAll(writes, above)
  }

  watch(resource: string, since: number, listener: ChangeListener, onExpired?: () => void): Disposable {
    const table = this.#tables.get(resource)
    return table === undefined ? this.#store.watch(resource, since, listener) : table.watch(since, listener, onExpired)
  }

  watchAll(listener: (change: Change) => void): Disposable {
    return this.#store.watchAll(listener)
  }

  reached(revision: number, signal: AbortSignal): Promise<void> {
    return this.#store.reached(revision, signal)
  }

  compact(revision?: number): Promise<void> {
    return this.#store.compact(revision)
  }

  snapshot(): AsyncIterable<Entry> {
    return this.#store.snapshot()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }
}
