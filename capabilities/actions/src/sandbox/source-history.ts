// The recent past of the sources of snippets: results, and sources that take too long.
import type { Clock } from '@fairlead/kube'

/** Milliseconds that a result may be returned again, where the caller accepts that. */
const keptFor = 10_000
/** Characters of sources, arguments and results that are kept. */
const maxKept = 8_388_608
/** Consecutive timeouts after which a source is not called for a while: others wait for each. */
const maxTimeouts = 3
/** Milliseconds that such a source is not called. */
const pause = 10_000
/** Sources with timeouts that are remembered. */
const maxSources = 1000

interface Kept {
  readonly until: number
  readonly size: number
  readonly value: string
}

/** Remembers results for a short time, and pauses sources after repeated timeouts. */
export class SourceHistory {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** Oldest first. */
  readonly #results = new Map<string, Kept>()
  readonly #timeouts = new Map<string, { count: number; until: number }>()
  #size = 0

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Returns the result of a call a short time ago. */
  result(source: string, args: readonly string[]): string | undefined {
    const found = this.#results.get(keyOf(source, args))
    return found !== undefined && found.until > this.#clock.monotonic() ? found.value : undefined
  }

  /** Reports whether a source took too long again and again a short time ago. */
  isPaused(source: string): boolean {
    const found = this.#timeouts.get(source)
    return found !== undefined && found.count >= maxTimeouts && found.until > this.#clock.monotonic()
  }

  /** Notes that a source returned a result. */
  returned(source: string, args: readonly string[], value: string, isKept: boolean): void {
    this.#timeouts.delete(source)
    const key = keyOf(source, args)
    this.#drop(key)
    if (!isKept) return
    const size = key.length + value.length
    this.#results.set(key, { until: this.#clock.monotonic() + keptFor, size, value })
    this.#size += size
    for (const oldest of this.#results.keys()) {
      if (this.#size <= maxKept) break
      this.#drop(oldest)
    }
  }

  /** Notes that a source took too long. */
  timedOut(source: string): void {
    const until = this.#clock.monotonic() + pause
    const count = (this.#timeouts.get(source)?.count ?? 0) + 1
    if (this.#timeouts.size >= maxSources) this.#timeouts.clear()
    // A source that was paused has one more chance, not three.
    this.#timeouts.set(source, { count, until })
  }

  #drop(key: string): void {
    this.#size -= this.#results.get(key)?.size ?? 0
    this.#results.delete(key)
  }
}

function keyOf(source: string, args: readonly string[]): string {
  return JSON.stringify([source, ...args])
}
