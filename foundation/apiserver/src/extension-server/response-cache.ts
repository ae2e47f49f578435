// A cache of responses of another server: concurrent callers share one request, entries expire, their number is
// bounded, errors are not cached.
import type { Clock } from '@fairlead/kube'

interface CachedResponse<T> {
  until: number
  readonly response: Promise<T>
}

/** A cache of responses by key. */
export class ResponseCache<T> {
  readonly #clock: Clock
  readonly #lifetime: number
  readonly #maxSize: number
  readonly #responses = new Map<string, CachedResponse<T>>()

  /** `lifetime` in milliseconds from the response; `maxSize` is the maximum number of entries. */
  constructor(clock: Clock, lifetime: number, maxSize: number) {
    this.#clock = clock
    this.#lifetime = lifetime
    this.#maxSize = maxSize
  }

  /** Returns the cached response of a key, or that of `request`. Rejects as `request` does. */
  async get(key: string, request: () => Promise<T>): Promise<T> {
    const known = this.#responses.get(key)
    if (known !== undefined && this.#clock.monotonic() < known.until) return known.response
    const added: CachedResponse<T> = { until: Number.POSITIVE_INFINITY, response: request() }
    this.#responses.delete(key)
    this.#responses.set(key, added)
    const [oldest] = this.#responses.keys()
    if (this.#responses.size > this.#maxSize && oldest !== undefined) this.#responses.delete(oldest)
    try {
      const response = await added.response
      added.until = this.#clock.monotonic() + this.#lifetime
      return response
    } catch (error) {
      if (this.#responses.get(key) === added) this.#responses.delete(key)
      throw error
    }
  }
}
