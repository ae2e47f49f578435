// The queue of writes in front of the journal: the writes of one iteration of the event loop form a batch, and the next
// batch collects while one is being committed. Only this file knows the pending writes.
import type { Compaction, Journal } from './journal.ts'
import { StoreError } from './store.ts'
import type { Entry } from './store.ts'

/** A write with an assigned revision that waits for its commit. */
export interface PendingWrite {
  readonly entry: Entry
  readonly deleted: boolean
  /** The object as JSON, and its bytes. */
  readonly json: string
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The pending write of the same key that this one builds on, while that may still fail. */
  base: PendingWrite | undefined
  /** Writes of one group are committed together or not at all. */
  readonly group: object | undefined
  readonly resolve: (entry: Entry) => void
  readonly reject: (error: StoreError) => void
}

/** The interface of the store that the queue calls. */
export interface CommitTarget {
  /** The newest visible revision. */
  readonly revision: number
  /** Makes a committed write visible and returns the number of notified listeners. Called in revision order. */
  publish(write: PendingWrite): number
  /** Returns the versions to delete with the next commit; undefined while there are too few. */
  takeCompaction(force: boolean): Compaction | undefined
}

const batchLimit = 1000
/** Number of notified listeners after which the queue yields to the event loop. */
const notificationLimit = 20_000

/** Commits writes in order, a batch at a time. */
export class CommitQueue {
  readonly #journal: Journal
  readonly #target: CommitTarget
  readonly #heads = new Map<string, PendingWrite>()
  #pending: PendingWrite[] = []
  #running: Promise<void> | undefined
  #compact = false
  /** The error of the last commit; some of its records may be in the journal all the same. */
  #lastError: string | undefined

  constructor(journal: Journal, target: CommitTarget) {
    this.#journal = journal
    this.#target = target
  }

  /** The error of the last commit; undefined when it succeeded. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  /** Returns the newest pending write of a key. */
  head(resource: string, key: string): PendingWrite | undefined {
    return this.#heads.size === 0 ? undefined : this.#heads.get(headKey(resource, key))
  }

  add(write: PendingWrite): void {
    this.#heads.set(headKey(write.entry.resource, write.entry.key), write)
    this.#pending.push(write)
    this.#start()
  }

  /** Resolves when every write added so far has been committed or has failed. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /** Compacts the journal now, with the next commit or one of its own. */
  async compact(): Promise<void> {
    this.#compact = true
    this.#start()
    await this.drain()
  }

  #start(): void {
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0 || this.#compact) {
      // More writes may come in this iteration, also from callers whose writes just resolved.
      await nextTurn()
      await this.#commit(this.#pending.splice(0, batchLength(this.#pending)))
    }
    this.#running = undefined
  }

  async #commit(batch: readonly PendingWrite[]): Promise<void> {
    // Their bases are committed or in this batch; keys that are always pending must not retain their whole history.
    for (const write of batch) write.base = undefined
    const compaction = this.#target.takeCompaction(this.#compact)
    this.#compact = false
    const records = batch.map(({ entry, deleted, at, json }) => ({ ...entryFields(entry), deleted, at, json }))
    try {
      await this.#journal.commit({
        records,
        compaction,
        dropAbove: this.#lastError === undefined ? undefined : this.#target.revision,
      })
    } catch (error) {
      this.#lastError = error instanceof Error ? error.message : String(error)
      this.#fail(batch, this.#lastError, error)
      return
    }
    this.#lastError = undefined
    let notified = 0
    for (const write of batch) {
      this.#settle(write)
      notified += this.#target.publish(write)
      write.resolve(write.entry)
      if (notified < notificationLimit) continue
      notified = 0
      await nextTurn()
    }
  }

  #fail(batch: readonly PendingWrite[], reason: string, cause: unknown): void {
    const failed = new Set(batch)
    const surviving: PendingWrite[] = []
    for (const write of this.#pending) {
      if (write.base !== undefined && failed.has(write.base)) failed.add(write)
      else surviving.push(write)
    }
    this.#pending = surviving
    for (const write of failed) {
      this.#settle(write)
      const { resource, key } = write.entry
      const code = cause instanceof StoreError && cause.code === 'StorageFull' ? 'StorageFull' : 'CommitFailed'
      write.reject(new StoreError(code, `The change of ${resource} ${key} could not be stored: ${reason}`, { cause }))
    }
  }

  #settle(write: PendingWrite): void {
    const key = headKey(write.entry.resource, write.entry.key)
    if (this.#heads.get(key) === write) this.#heads.delete(key)
  }
}

/** Returns the number of writes of the next batch: it never splits a group. */
function batchLength(writes: readonly PendingWrite[]): number {
  let length = Math.min(batchLimit, writes.length)
  const group = writes[length - 1]?.group
  if (group !== undefined) while (writes[length]?.group === group) length++
  return length
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function headKey(resource: string, key: string): string {
  return `${resource}\0${key}`
}

function entryFields(entry: Entry): Entry {
  return { resource: entry.resource, key: entry.key, revision: entry.revision, object: entry.object }
}
