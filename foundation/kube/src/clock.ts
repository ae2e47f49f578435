// The clock that is injected wherever code reads or waits for time (design: "Time, randomness and ids are injected").
// FakeClock is for tests.

/** The only source of time in Fairlead. The real one is `systemClock` of `@fairlead/client`. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Monotonic milliseconds; only differences are meaningful. */
  monotonic(): number
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `run` once after `ms` milliseconds, unless disposed before. Never keeps the process alive. */
  timer(ms: number, run: () => void): Disposable
}

interface Pending {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** A clock that changes only by {@link FakeClock.advance}; timers fire in order of their time. */
export class FakeClock implements Clock {
  #now: number
  #order = 0
  readonly #pending = new Set<Pending>()

  /** Creates a clock at `start`, in milliseconds since the epoch or RFC 3339. */
  constructor(start: number | string = '2026-01-01T00:00:00Z') {
    this.#now = typeof start === 'number' ? start : Date.parse(start)
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  timer(ms: number, run: () => void): Disposable {
    const entry: Pending = { at: this.#now + Math.max(0, ms), order: this.#order++, run }
    this.#pending.add(entry)
    return { [Symbol.dispose]: () => void this.#pending.delete(entry) }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const timer = this.timer(ms, () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      })
      const stop = (): void => {
        timer[Symbol.dispose]()
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', stop, { once: true })
    })
  }

  /** Returns the milliseconds until the next timer fires; undefined without timers. */
  untilNext(): number | undefined {
    const next = this.#next()
    return next && Math.max(0, next.at - this.#now)
  }

  /** Advances the time by `ms`, fires timers in order and lets promises settle between them. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#pending.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.run()
      await settle()
    }
    this.#now = end
    await settle()
  }

  #next(): Pending | undefined {
    let first: Pending | undefined
    for (const entry of this.#pending) {
      if (first === undefined || entry.at < first.at || (entry.at === first.at && entry.order < first.order))
        first = entry
    }
    return first
  }
}

/** Waits until every promise that can settle now has settled. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
