// Writes on their way into the journal: those of one turn of the event loop form a batch, and while a batch is being committed the next one gathers.
// Only this file knows what is pending.
import type { Forgotten, Journal } from './journal.ts'
import { StoreError } from './store.ts'
import type { Entry } from './store.ts'

/** A write that has its revision and waits for its commit. */
export interface PendingWrite {
  readonly entry: Entry
  readonly deleted: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The pending write of the same key that this one builds on, for as long as that may still fail. */
  base: PendingWrite | undefined
  /** Writes of one group are committed together or not at all. */
  readonly group: object | undefined
  readonly resolve: (entry: Entry) => void
  readonly reject: (error: StoreError) => void
}

/** What the queue needs from the store around it. */
export interface CommitTarget {
  /** The newest visible revision. */
  readonly revision: number
  /** Makes a committed write visible; answers how many were told. Called in revision order. */
  publish(write: PendingWrite): number
  /** What the journal may forget with the next commit; undefined when it is not worth it yet. */
  takeForgotten(force: boolean): Forgotten | undefined
}

const batchLimit = 1000
/** After so many listeners have been told, everybody else gets a turn. */
const tellingLimit = 20_000

/** Commits writes in order, a batch at a time. */
export class CommitQueue {
  readonly #journal: Journal
  readonly #target: CommitTarget
  readonly #heads = new Map<string, PendingWrite>()
  #gathering: PendingWrite[] = []
  #running: Promise<void> | undefined
  #forget = false
  /** Why the last commit failed; some of it may be in the journal all the same. */
  #trouble: string | undefined

  constructor(journal: Journal, target: CommitTarget) {
    this.#journal = journal
    this.#target = target
  }

  /** Why the last commit failed; undefined when it did not. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** The newest pending write of a key. */
  head(resource: string, key: string): PendingWrite | undefined {
    return this.#heads.size === 0 ? undefined : this.#heads.get(headKey(resource, key))
  }

  add(write: PendingWrite): void {
    this.#heads.set(headKey(write.entry.resource, write.entry.key), write)
    this.#gathering.push(write)
    this.#start()
  }

  /** Resolves when everything added so far has been committed or has failed. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /** Lets the journal forget now, with the next commit or with one of its own. */
  async forget(): Promise<void> {
    this.#forget = true
    this.#start()
    await this.drain()
  }

  #start(): void {
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    while (this.#gathering.length > 0 || this.#forget) {
      // The rest of this turn may still write, and so may those whose writes were just answered.
      await nextTurn()
      await this.#commit(this.#gathering.splice(0, batchLength(this.#gathering)))
    }
    this.#running = undefined
  }

  async #commit(batch: readonly PendingWrite[]): Promise<void> {
    // What these build on has been committed or is among them; keys that are always pending must not drag all their past along.
    for (const write of batch) write.base = undefined
    const forgotten = this.#target.takeForgotten(this.#forget)
    this.#forget = false
    const records = batch.map(({ entry, deleted, at }) => ({ ...entryFields(entry), deleted, at }))
    try {
      await this.#journal.commit({
        records,
        forgotten,
        dropAbove: this.#trouble === undefined ? undefined : this.#target.revision,
      })
    } catch (error) {
      this.#trouble = error instanceof Error ? error.message : String(error)
      this.#fail(batch, this.#trouble, error)
      return
    }
    this.#trouble = undefined
    let told = 0
    for (const write of batch) {
      this.#settle(write)
      told += this.#target.publish(write)
      write.resolve(write.entry)
      if (told < tellingLimit) continue
      told = 0
      await nextTurn()
    }
  }

  #fail(batch: readonly PendingWrite[], reason: string, cause: unknown): void {
    const failed = new Set(batch)
    const surviving: PendingWrite[] = []
    for (const write of this.#gathering) {
      if (write.base !== undefined && failed.has(write.base)) failed.add(write)
      else surviving.push(write)
    }
    this.#gathering = surviving
    for (const write of failed) {
      this.#settle(write)
      const { resource, key } = write.entry
      write.reject(
        new StoreError('CommitFailed', `The change of ${resource} ${key} could not be stored: ${reason}`, { cause }),
      )
    }
  }

  #settle(write: PendingWrite): void {
    const key = headKey(write.entry.resource, write.entry.key)
    if (this.#heads.get(key) === write) this.#heads.delete(key)
  }
}

/** How many writes the next batch takes: it never ends within a group. */
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
