// Notices connections that died without a word: a watch on which nothing arrives for too long is given up and opened
// again.
import type { Clock } from '@fairlead/kube'

/**
 * A real server sends a bookmark about every minute; once it has, this long a silence means that the connection is
 * dead. Milliseconds.
 */
const bookmarkSilence = 150_000
/** How much later than asked for a server may end a watch. Milliseconds. */
const grace = 10_000

/**
 * Aborts its signal when a stream falls silent, or when the outer signal aborts. Dispose it when the stream has ended.
 */
export class IdleGuard implements Disposable {
  readonly #clock: Clock
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #stop: () => void
  #limit: number
  #last: number
  #timer: Disposable
  #fired = false

  /** `timeout`: after so many milliseconds the server ends the stream by itself. */
  constructor(clock: Clock, timeout: number, outer: AbortSignal) {
    this.#clock = clock
    this.#outer = outer
    this.#limit = timeout + grace
    this.#last = clock.monotonic()
    this.#stop = () => this.#controller.abort(outer.reason)
    if (outer.aborted) this.#stop()
    outer.addEventListener('abort', this.#stop, { once: true })
    this.#timer = clock.timer(this.#limit, () => this.#check())
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The stream fell silent and was given up. */
  get fired(): boolean {
    return this.#fired
  }

  /** Something arrived. */
  alive(bookmark: boolean): void {
    this.#last = this.#clock.monotonic()
    if (bookmark && this.#limit > bookmarkSilence) this.#rearm(bookmarkSilence)
  }

  /** From now on the stream is one that the server ends after so many milliseconds. */
  within(timeout: number): void {
    this.#rearm(timeout + grace)
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]()
    this.#outer.removeEventListener('abort', this.#stop)
    // Also ends a stream that the reader left in the middle.
    if (!this.#controller.signal.aborted) this.#controller.abort(new DOMException('The watch was left', 'AbortError'))
  }

  #rearm(limit: number): void {
    this.#limit = limit
    this.#timer[Symbol.dispose]()
    this.#timer = this.#clock.timer(limit, () => this.#check())
  }

  #check(): void {
    const left = this.#last + this.#limit - this.#clock.monotonic()
    if (left > 0) {
      this.#timer = this.#clock.timer(left, () => this.#check())
      return
    }
    this.#fired = true
    this.#controller.abort(new DOMException('Nothing arrived on the watch for too long', 'TimeoutError'))
  }
}
