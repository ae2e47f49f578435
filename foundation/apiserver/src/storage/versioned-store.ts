// The store: all live objects and a window of their history in memory, in front of a journal. Start with `write` and
// `#publish`.
import { systemClock } from '@fairlead/client'
import { deepFreeze } from '@fairlead/kube'
import type { Clock } from '@fairlead/kube'
import { CommitQueue } from './commit-queue.ts'
import type { PendingWrite } from './commit-queue.ts'
import type { Compaction, Journal, StoredRecord } from './journal.ts'
import { firstRevision } from './journal.ts'
import { encodeObject } from './object-text.ts'
import { notify, ResourceTable } from './resource-table.ts'
import { RevisionTimes } from './revision-times.ts'
import type { Window } from './resource-table.ts'
import { StoredBytes } from './stored-bytes.ts'
import { StoreError } from './store.ts'
import type { ChangeListener, Entry, Page, Range, Store, Write } from './store.ts'
import { StoredEntry } from './version.ts'

/** Options of every store. */
export interface StoreOptions {
  readonly clock?: Pick<Clock, 'now'>
  /**
   * The history that stays readable per resource. Default: five minutes, 10,000 changes or 128 MiB, whichever is
   * reached first.
   */
  readonly window?: Partial<Window>
  /** Bytes of JSON that live objects may take; a quarter of the memory for objects when left out. */
  readonly maxStoredBytes?: number
}

interface Waiter {
  readonly revision: number
  readonly resolve: () => void
  readonly reject: (error: StoreError) => void
}

const defaultWindow: Window = { milliseconds: 5 * 60_000, changes: 10_000, bytes: 128 * 1024 * 1024 }
/** Milliseconds between sweeps that compact tables without writes. */
const sweepEvery = 30_000
/** The journal deletes versions in batches, so that its pages are not rewritten for each of them. */
const compactionBatch = 1000

/** Opens a store over a journal and loads its records. */
export async function openStore(journal: Journal, options: StoreOptions): Promise<Store> {
  const store = new VersionedStore(journal, options)
  await store.load()
  return store
}

class VersionedStore implements Store {
  readonly #journal: Journal
  readonly #clock: Pick<Clock, 'now'>
  readonly #window: Window
  readonly #queue: CommitQueue
  readonly #tables = new Map<string, ResourceTable>()
  readonly #listeners = new Set<ChangeListener>()
  readonly #waiters = new Set<Waiter>()
  readonly #times = new RevisionTimes()
  /** The bytes of live objects, and their limit. */
  readonly bytes: StoredBytes
  #compactedRevisions: ReadonlyMap<string, number> = new Map()
  #visible = firstRevision
  #assigned = firstRevision
  #dropped: number[] = []
  #swept: number
  #closed = false

  constructor(journal: Journal, options: StoreOptions) {
    this.#journal = journal
    this.#clock = options.clock ?? systemClock
    this.#window = { ...defaultWindow, ...options.window }
    this.bytes = new StoredBytes(options.maxStoredBytes)
    this.#swept = this.#clock.now()
    const visible = (): number => this.#visible
    this.#queue = new CommitQueue(journal, {
      get revision() {
        return visible()
      },
      publish: (write) => this.#publish(write),
      takeCompaction: (force) => this.#takeCompaction(force),
    })
  }

  get revision(): number {
    return this.#visible
  }

  get lastError(): string | undefined {
    return this.#queue.lastError
  }

  /** Loads the journal. Called once, before any other method. */
  async load(): Promise<void> {
    const records: StoredRecord[][] = []
    const state = await this.#journal.open((chunk) => records.push([...chunk]))
    this.#compactedRevisions = state.compactedRevisions
    this.#visible = this.#assigned = state.revision
    for (const chunk of records) {
      for (const record of chunk) {
        const { resource, key, revision, object } = record
        this.#table(resource).apply(new StoredEntry(resource, key, revision, object), record)
        this.#times.add(revision, record.at)
      }
      // Loading may take a second; let timers and sockets of the process run meanwhile.
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const table of this.#tables.values()) this.bytes.add(table.liveBytes)
    this.#sweep()
  }

  async get(resource: string, key: string, revision?: number): Promise<Entry | undefined> {
    return this.#table(resource).at(key, this.#readable(revision))
  }

  async head(resource: string, key: string): Promise<Entry | undefined> {
    return this.#head(resource, key)
  }

  async list(resource: string, range: Range = {}): Promise<Page> {
    const at = this.#readable(range.revision)
    return this.#table(resource).list(range, at, at === this.#visible)
  }

  count(resource: string, prefix?: string): number {
    return this.#tables.get(resource)?.count(prefix) ?? 0
  }

  write(write: Write): Promise<Entry> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw closedError()
      const { resource, key, expected } = write
      const head = this.#head(resource, key)
      const actual = head?.revision ?? 0
      if (actual !== expected || (head === undefined && write.object === undefined)) throw conflict(write, actual)
      this.#enqueue(write, head, undefined, resolve, reject)
    })
  }

  async writeAll(writes: readonly Write[], above: number = 0): Promise<readonly Entry[]> {
    if (this.#closed) throw closedError()
    this.#assertGroup(writes)
    if (writes.length > 0) this.#assigned = Math.max(this.#assigned, above)
    const group = {}
    return Promise.all(
      writes.map(
        (write) =>
          new Promise<Entry>((resolve, reject) => {
            this.#enqueue(write, this.#head(write.resource, write.key), group, resolve, reject)
          }),
      ),
    )
  }

  watch(resource: string, since: number, listener: ChangeListener): Disposable {
    return this.#table(resource).watch(since, listener)
  }

  watchAll(listener: ChangeListener): Disposable {
    // The same function may be registered twice.
    const own: ChangeListener = (change) => listener(change)
    this.#listeners.add(own)
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) }
  }

  reached(revision: number, signal: AbortSignal): Promise<void> {
    if (revision <= this.#visible) return Promise.resolve()
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      if (this.#closed) throw closedError()
      const unsubscribe = (): void => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', abort)
      }
      const abort = (): void => {
        unsubscribe()
        reject(signal.reason as Error)
      }
      const waiter: Waiter = {
        revision,
        resolve: () => {
          unsubscribe()
          resolve()
        },
        reject: (error) => {
          unsubscribe()
          reject(error)
        },
      }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  async compact(revision?: number): Promise<void> {
    if (this.#closed) throw closedError()
    this.#sweep(revision === undefined ? undefined : this.#readable(revision))
    await this.#queue.compact()
  }

  async *snapshot(): AsyncIterable<Entry> {
    const tables = [...this.#tables.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1))
    const entries = tables.map((table) => table.entries())
    for (const part of entries) yield* part
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#queue.drain()
    for (const waiter of this.#waiters) waiter.reject(closedError())
    this.#listeners.clear()
    await this.#journal[Symbol.asyncDispose]()
  }

  #enqueue(
    write: Write,
    head: Entry | undefined,
    group: object | undefined,
    resolve: PendingWrite['resolve'],
    reject: PendingWrite['reject'],
  ): void {
    const { resource, key } = write
    const object = deepFreeze(write.object ?? write.last ?? (head as Entry).object)
    const json = encodeObject(object)
    const bytes = Buffer.byteLength(json)
    const deleted = write.object === undefined
    const before = head === undefined ? 0 : this.#headBytes(resource, key)
    const growth = (deleted ? 0 : bytes) - before
    if (group === undefined) this.bytes.admit(`${resource} ${key}`, write.object, deleted ? 0 : bytes, before)
    else this.bytes.add(growth)
    const entry: Entry = { resource, key, revision: ++this.#assigned, object }
    this.#queue.add({
      entry,
      deleted,
      json,
      bytes,
      at: this.#clock.now(),
      base: this.#queue.head(resource, key),
      group,
      resolve,
      reject: (error) => {
        this.bytes.add(-growth)
        reject(error)
      },
    })
  }

  /** Returns the bytes of the newest state of an existing key, pending writes included. */
  #headBytes(resource: string, key: string): number {
    return (this.#queue.head(resource, key) ?? this.#tables.get(resource)?.newest(key))?.bytes ?? 0
  }

  /** Throws Conflict unless every write of a group is valid after those before it. */
  #assertGroup(writes: readonly Write[]): void {
    const deleted = new Map<string, boolean>()
    for (const write of writes) {
      const id = `${write.resource}\0${write.key}`
      const before = deleted.get(id)
      const actual = before === undefined ? (this.#head(write.resource, write.key)?.revision ?? 0) : before ? 0 : -1
      if (actual !== write.expected || (actual === 0 && write.object === undefined)) throw conflict(write, actual)
      deleted.set(id, write.object === undefined)
    }
  }

  #head(resource: string, key: string): Entry | undefined {
    const pending = this.#queue.head(resource, key)
    if (pending !== undefined) return pending.deleted ? undefined : pending.entry
    const newest = this.#tables.get(resource)?.newest(key)
    return newest === undefined || newest.deleted ? undefined : newest.entry
  }

  #table(resource: string): ResourceTable {
    let table = this.#tables.get(resource)
    if (table === undefined) {
      table = new ResourceTable(resource, this.#compactedRevisions.get(resource) ?? firstRevision)
      this.#tables.set(resource, table)
    }
    return table
  }

  #publish(write: PendingWrite): number {
    const { entry, at } = write
    const table = this.#table(entry.resource)
    const change = table.apply(entry, write)
    this.#visible = entry.revision
    this.#times.add(entry.revision, at)
    for (const listener of this.#listeners) notify(listener, change)
    table.publish(change)
    table.trim(this.#window, at, this.#dropped)
    for (const waiter of this.#waiters) if (waiter.revision <= this.#visible) waiter.resolve()
    if (at - this.#swept >= sweepEvery) this.#sweep()
    return table.watcherCount + this.#listeners.size
  }

  #sweep(upTo?: number): void {
    this.#swept = this.#clock.now()
    for (const table of this.#tables.values()) table.trim(this.#window, this.#swept, this.#dropped, upTo)
  }

  #takeCompaction(force: boolean): Compaction | undefined {
    if (!force && this.#dropped.length < compactionBatch) return undefined
    const revisions = this.#dropped
    this.#dropped = []
    const compactedRevisions = new Map(
      [...this.#tables.values()].map(({ name, compactedRevision }) => [name, compactedRevision]),
    )
    return { revisions, compactedRevisions }
  }

  #readable(revision: number | undefined): number {
    if (revision === undefined) return this.#visible
    if (revision > this.#visible) {
      throw new StoreError(
        'RevisionInFuture',
        `Revision ${revision} does not exist yet; the newest is ${this.#visible}.`,
      )
    }
    // Compaction is by age, as in etcd: on a server without writes, too, a read finds its revision too old.
    const oldest = this.#times.at(this.#clock.now() - this.#window.milliseconds)
    if (revision < oldest)
      throw new StoreError(
        'RevisionExpired',
        `Revision ${revision} has been compacted; the oldest readable revision is ${oldest}. List again.`,
        { oldest },
      )
    return revision
  }
}

function conflict(write: Write, actual: number): StoreError {
  const { resource, key, expected } = write
  const found = actual < 0 ? 'is written twice at once' : actual === 0 ? 'does not exist' : `is at revision ${actual}`
  const wanted = expected === 0 ? 'must not exist' : `must be at revision ${expected}`
  return new StoreError('Conflict', `${resource} ${key} ${wanted}, but ${found}. Read it again.`)
}

function closedError(): StoreError {
  return new StoreError('StoreClosed', 'The store has been closed.')
}
