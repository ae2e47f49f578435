// One resource in a store: its keys in order, their versions, the log of changes that can be replayed, and its
// watchers.
import { KeyIndex } from './key-index.ts'
import { StoreError } from './store.ts'
import type { Change, ChangeListener, Entry, Page, Range } from './store.ts'
import { versionAt } from './version.ts'
import type { Version } from './version.ts'

/** The history that stays readable: whichever bound is reached first. */
export interface Window {
  readonly milliseconds: number
  readonly changes: number
  /** Bytes of JSON of the objects of these changes. */
  readonly bytes: number
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

/** One resource. All methods are synchronous and read committed state. */
export class ResourceTable {
  readonly name: string
  /** The oldest revision that can be read or resumed from. */
  compactedRevision: number
  readonly #slots = new KeyIndex<Slot>()
  readonly #watchers = new Set<Watcher>()
  /** Versions whose changes can be replayed, oldest first; those before `#logStart` are compacted. */
  #log: Version[] = []
  #logStart = 0
  #logBytes = 0
  #liveBytes = 0

  constructor(name: string, compactedRevision: number) {
    this.name = name
    this.compactedRevision = compactedRevision
  }

  /** Bytes of JSON of the objects that exist. */
  get liveBytes(): number {
    return this.#liveBytes
  }

  newest(key: string): Version | undefined {
    return this.#slots.get(key)?.newest
  }

  count(prefix: string | undefined): number {
    return this.#slots.count({ prefix })
  }

  /** Returns the entry of a key at a revision. */
  at(key: string, revision: number): Entry | undefined {
    this.#assertReadable(revision)
    const version = versionAt(this.newest(key), revision)
    return version === undefined || version.deleted ? undefined : version.entry
  }

  /** Returns a page as of `revision`; `now` = it is the newest revision. */
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
    // Chunks count their live keys of now; past revisions have to be walked.
    if (now && entries.length === limit)
      remaining = this.#slots.count({ prefix: range.prefix, after: entries.at(-1)!.key })
    return { entries, revision, remaining }
  }

  /** Returns the existing entries in key order. */
  entries(): Entry[] {
    const entries: Entry[] = []
    this.#slots.scan({}, ({ newest }) => {
      if (!newest.deleted) entries.push(newest.entry)
      return true
    })
    return entries
  }

  /** Applies a change without notifying watchers. */
  apply(entry: Entry, { deleted, at, bytes }: Pick<Version, 'deleted' | 'at' | 'bytes'>): Change {
    const slot = this.#slots.get(entry.key)
    const older = slot?.newest
    const change: Change = {
      type: deleted ? 'delete' : 'put',
      entry,
      previous: older === undefined || older.deleted ? undefined : older.entry,
    }
    const version: Version = { entry, deleted, at, bytes, older, change }
    this.#liveBytes += liveBytesOf(version) - liveBytesOf(older)
    this.#logBytes += bytes
    if (slot?.live === !deleted) slot.newest = version
    else this.#slots.set(new Slot(version))
    this.#log.push(version)
    return change
  }

  /** Number of watchers. */
  get watcherCount(): number {
    return this.#watchers.size
  }

  /** Notifies the watchers. */
  publish(change: Change): void {
    for (const watcher of this.#watchers) {
      // A watcher added by a listener of this very change has already received it from the log.
      if (watcher.seen >= change.entry.revision) continue
      watcher.seen = change.entry.revision
      notify(watcher.listener, change)
    }
  }

  /** Replays the changes after `since`, then follows new ones. */
  watch(since: number, listener: ChangeListener): Disposable {
    if (since < this.compactedRevision) throw this.#expired(since)
    const watcher: Watcher = { seen: since, listener }
    for (let index = this.#firstAfter(since); index < this.#log.length; index++) {
      const change = this.#log[index]!.change!
      watcher.seen = change.entry.revision
      notify(listener, change)
    }
    this.#watchers.add(watcher)
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) }
  }

  /**
   * Drops the changes outside the window, and those not newer than `upTo`. Appends the revisions of unreadable versions
   * to `dropped`.
   */
  trim(window: Window, now: number, dropped: number[], upTo = 0): void {
    const oldest = now - window.milliseconds
    while (this.#logStart < this.#log.length) {
      const version = this.#log[this.#logStart]!
      const { revision } = version.entry
      const isWithin = this.#log.length - this.#logStart <= window.changes && this.#logBytes <= window.bytes
      if (revision > upTo && version.at >= oldest && isWithin) break
      this.#logStart++
      this.#logBytes -= version.bytes
      this.compactedRevision = revision
      this.#drop(version, dropped)
    }
    if (this.#logStart > 1024 && this.#logStart * 2 > this.#log.length) {
      this.#log = this.#log.slice(this.#logStart)
      this.#logStart = 0
    }
    if (upTo > this.compactedRevision) this.compactedRevision = upTo
  }

  /**
   * Drops the versions older than the oldest readable one, and that one itself when it is a delete without a successor.
   */
  #drop(version: Version, dropped: number[]): void {
    if (version.older !== undefined) dropped.push(version.older.entry.revision)
    version.older = undefined
    version.change = undefined
    if (version.deleted && this.newest(version.entry.key) === version) {
      this.#slots.delete(version.entry.key)
      dropped.push(version.entry.revision)
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
    if (revision < this.compactedRevision) throw this.#expired(revision)
  }

  #expired(revision: number): StoreError {
    return new StoreError(
      'RevisionExpired',
      `Revision ${revision} of ${this.name} has been compacted; the oldest readable revision is ${this.compactedRevision}. List again.`,
      { oldest: this.compactedRevision },
    )
  }
}

function liveBytesOf(version: Version | undefined): number {
  return version === undefined || version.deleted ? 0 : version.bytes
}

/**
 * Calls one listener. A listener that throws has a bug: the store and the other listeners go on, and the error surfaces
 * as uncaught.
 */
export function notify(listener: ChangeListener, change: Change): void {
  try {
    listener(change)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
