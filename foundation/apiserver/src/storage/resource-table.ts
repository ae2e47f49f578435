// Everything a store knows of one resource: keys in order, their versions, the changes that can be replayed, and who listens.
import { KeyIndex } from './key-index.ts'
import { StoreError } from './store.ts'
import type { Change, ChangeListener, Entry, Page, Range } from './store.ts'
import { versionAt } from './version.ts'
import type { Version } from './version.ts'

/** How much of the past stays readable: whichever bound is reached first. */
export interface Window {
  readonly milliseconds: number
  readonly changes: number
}

class Slot {
  readonly key: string
  newest: Version

  constructor(version: Version) {
    this.key = version.entry.key
    this.newest = version
  }

  get live(): boolean {
    return !this.newest.deleted
  }
}

interface Watcher {
  seen: number
  readonly listener: ChangeListener
}

/** One resource. All methods are synchronous and work on committed state. */
export class ResourceTable {
  readonly name: string
  /** The oldest revision that can be read or resumed from. */
  floor: number
  readonly #slots = new KeyIndex<Slot>()
  readonly #watchers = new Set<Watcher>()
  /** Versions whose changes can be replayed, oldest first; those before `#logStart` are gone already. */
  #log: Version[] = []
  #logStart = 0

  constructor(name: string, floor: number) {
    this.name = name
    this.floor = floor
  }

  newest(key: string): Version | undefined {
    return this.#slots.get(key)?.newest
  }

  count(prefix: string | undefined): number {
    return this.#slots.count({ prefix })
  }

  /** The entry of a key at a revision. */
  at(key: string, revision: number): Entry | undefined {
    this.#assertReadable(revision)
    const version = versionAt(this.newest(key), revision)
    return version === undefined || version.deleted ? undefined : version.entry
  }

  /** A page as of `revision`; `now` says that nothing newer exists. */
  list(range: Range, revision: number, now: boolean): Page {
    this.#assertReadable(revision)
    const limit = range.limit === undefined || range.limit <= 0 ? Infinity : range.limit
    const entries: Entry[] = []
    let remaining = 0
    this.#slots.scan(range, (slot) => {
      const version = now ? slot.newest : versionAt(slot.newest, revision)
      if (version === undefined || version.deleted) return true
      if (entries.length < limit) entries.push(version.entry)
      else if (now) return false
      else remaining++
      return true
    })
    // Now, chunks know how many live keys they hold; in the past they have to be walked.
    if (now && entries.length === limit)
      remaining = this.#slots.count({ prefix: range.prefix, after: entries.at(-1)!.key })
    return { entries, revision, remaining }
  }

  /** All that exists now, in order. */
  entries(): Entry[] {
    const entries: Entry[] = []
    this.#slots.scan({}, ({ newest }) => {
      if (!newest.deleted) entries.push(newest.entry)
      return true
    })
    return entries
  }

  /** Takes a change in, without telling anybody. */
  apply(entry: Entry, deleted: boolean, at: number): Change {
    const slot = this.#slots.get(entry.key)
    const older = slot?.newest
    const change: Change = {
      type: deleted ? 'delete' : 'put',
      entry,
      previous: older === undefined || older.deleted ? undefined : older.entry,
    }
    const version: Version = { entry, deleted, at, older, change }
    if (slot?.live === !deleted) slot.newest = version
    else this.#slots.set(new Slot(version))
    this.#log.push(version)
    return change
  }

  /** How many watch. */
  get audience(): number {
    return this.#watchers.size
  }

  /** Tells those who watch. */
  publish(change: Change): void {
    for (const watcher of this.#watchers) {
      // One that was added by a listener of this very change has had it from the log.
      if (watcher.seen >= change.entry.revision) continue
      watcher.seen = change.entry.revision
      tell(watcher.listener, change)
    }
  }

  /** Replays what came after `since`, then stays. */
  watch(since: number, listener: ChangeListener): Disposable {
    if (since < this.floor) throw this.#expired(since)
    const watcher: Watcher = { seen: since, listener }
    for (let index = this.#firstAfter(since); index < this.#log.length; index++) {
      const change = this.#log[index]!.change!
      watcher.seen = change.entry.revision
      tell(listener, change)
    }
    this.#watchers.add(watcher)
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) }
  }

  /**
   * Forgets the changes that have left the window, or that are not newer than `upTo`.
   * Adds the revisions of versions that nobody can read any more to `gone`.
   */
  trim(window: Window, now: number, gone: number[], upTo = 0): void {
    const oldest = now - window.milliseconds
    while (this.#logStart < this.#log.length) {
      const version = this.#log[this.#logStart]!
      const { revision } = version.entry
      if (revision > upTo && version.at >= oldest && this.#log.length - this.#logStart <= window.changes) break
      this.#logStart++
      this.floor = revision
      this.#forget(version, gone)
    }
    if (this.#logStart > 1024 && this.#logStart * 2 > this.#log.length) {
      this.#log = this.#log.slice(this.#logStart)
      this.#logStart = 0
    }
    if (upTo > this.floor) this.floor = upTo
  }

  /** A version that every read from now on may start at: what is behind it can go, and a delete with nothing after it goes itself. */
  #forget(version: Version, gone: number[]): void {
    if (version.older !== undefined) gone.push(version.older.entry.revision)
    version.older = undefined
    version.change = undefined
    if (version.deleted && this.newest(version.entry.key) === version) {
      this.#slots.delete(version.entry.key)
      gone.push(version.entry.revision)
    }
  }

  #firstAfter(revision: number): number {
    let low = this.#logStart
    let high = this.#log.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#log[middle]!.entry.revision > revision) high = middle
      else low = middle + 1
    }
    return low
  }

  #assertReadable(revision: number): void {
    if (revision < this.floor) throw this.#expired(revision)
  }

  #expired(revision: number): StoreError {
    return new StoreError(
      'RevisionExpired',
      `Revision ${revision} of ${this.name} has been forgotten; the oldest that can be read is ${this.floor}. List again.`,
      {
        oldest: this.floor,
      },
    )
  }
}

/** Tells one listener. If it throws, that is a bug of its own: the store and the other listeners go on, and the bug stays loud. */
export function tell(listener: ChangeListener, change: Change): void {
  try {
    listener(change)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
