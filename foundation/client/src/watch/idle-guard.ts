// Detects dead connections: a watch on which nothing arrives for too long is closed and opened again.
import type { Clock } from '@fairlead/kube'

/**
 * A real server sends a bookmark about every minute; after the first one, this long a silence means that the connection
 * is dead. Milliseconds.
 */
const bookmarkSilence = 150_000
/** Allowed delay of a server in ending a watch at its timeout. Milliseconds. */
const grace = 10_000

/**
 * Aborts its signal when a stream is idle for too long, or when the outer signal aborts. Dispose it when the stream has
 * ended.
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

  /** `timeout`: milliseconds after which the server ends the stream. */
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

  /** Reports whether the stream was closed because it was idle. */
  get fired(): boolean {
    return this.#fired
  }

  /** Records that data arrived. */
  alive(bookmark: boolean): void {
    this.#last = this.#clock.monotonic()
    if (bookmark && this.#limit > bookmarkSilence) this.#rearm(bookmarkSilence)
  }

  /** Sets the milliseconds after which the server ends the stream from now on. */
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
