// The common log of all watchers of a server: every event once, in the order of revisions, the same for all.

/** One event as a watcher saw it. */
export interface SeenEvent {
  readonly type: string
  readonly name: string
  readonly revision: number
  /** The written value; '' of a deletion. */
  readonly value: string
}

const same = (a: SeenEvent, b: SeenEvent): boolean =>
  a.revision === b.revision && a.type === b.type && a.name === b.name && a.value === b.value

/** The common log. The first watcher at its end appends to it; the others must see exactly what it holds. */
export class WatchLog {
  readonly #events: SeenEvent[] = []
  /** Position by revision, for watchers that join. */
  readonly #at = new Map<number, number>()

  /** A reader that has seen everything up to the end of the log so far. */
  reader(): WatchLogReader {
    return new WatchLogReader(this, this.#events.length)
  }

  get length(): number {
    return this.#events.length
  }

  /** The event of a revision; undefined when no watcher has seen one. */
  find(revision: number): SeenEvent | undefined {
    const at = this.#at.get(revision)
    return at === undefined ? undefined : this.#events[at]
  }

  at(position: number): SeenEvent | undefined {
    return this.#events[position]
  }

  append(event: SeenEvent): void {
    this.#at.set(event.revision, this.#events.length)
    this.#events.push(event)
  }
}

/** One watcher's place in the log. */
export class WatchLogReader {
  readonly #log: WatchLog
  #next: number

  constructor(log: WatchLog, next: number) {
    this.#log = log
    this.#next = next
  }

  /** The number of events of the log that this watcher has not seen yet. */
  get behind(): number {
    return this.#log.length - this.#next
  }

  /** Takes an event; gives what is wrong with it: one that was lost before it, or one seen twice. */
  take(event: SeenEvent): string | undefined {
    const expected = this.#log.at(this.#next)
    if (expected === undefined) {
      const last = this.#log.at(this.#next - 1)
      if (last !== undefined && last.revision >= event.revision)
        return `revision ${event.revision} of ${event.name} came again after ${last.revision}`
      this.#log.append(event)
    } else if (!same(expected, event)) {
      return expected.revision < event.revision
        ? `revision ${expected.revision} of ${expected.name} was lost before ${event.revision}`
        : `revision ${event.revision} of ${event.name} came again or was not seen by others (next was ${expected.revision})`
    }
    this.#next++
    return undefined
  }
}
