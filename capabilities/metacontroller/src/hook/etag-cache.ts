// The responses that a hook with ETags need not send again, bounded in time and memory.
import type { Clock } from '@fairlead/kube'
import type { ResponseBody } from '../engine/response.ts'

/** A response that the hook may declare unchanged. */
export interface CachedResponse {
  readonly etag: string
  readonly body: ResponseBody
}

interface Entry extends CachedResponse {
  readonly until: number
  readonly bytes: number
}

/** Options of an {@link EtagCache}. Milliseconds and bytes. */
export interface EtagCacheOptions {
  readonly clock: Clock
  /** Time for which a response is cached. */
  readonly maxAge: number
  /** Interval at which expired responses are removed. */
  readonly cleanupInterval: number
  /** Size of all responses together; the ones that were not used for longest are dropped. */
  readonly maxBytes: number
}

/** Responses by group. */
export class EtagCache {
  readonly #options: EtagCacheOptions
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0
  #nextCleanup = 0

  constructor(options: EtagCacheOptions) {
    this.#options = options
  }

  /** Returns the response of a group that has not expired. */
  get(group: string): CachedResponse | undefined {
    const now = this.#options.clock.now()
    if (now >= this.#nextCleanup) {
      this.#nextCleanup = now + this.#options.cleanupInterval
      for (const [key, { until }] of this.#entries) if (until <= now) this.#delete(key)
    }
    const found = this.#entries.get(group)
    if (found === undefined || found.until <= now) return undefined
    this.#entries.delete(group)
    this.#entries.set(group, found)
    return found
  }

  /** Caches a response whose JSON has so many bytes. */
  set(group: string, response: CachedResponse, bytes: number): void {
    this.#delete(group)
    if (bytes > this.#options.maxBytes) return
    this.#entries.set(group, { ...response, bytes, until: this.#options.clock.now() + this.#options.maxAge })
    this.#bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#options.maxBytes) break
      this.#delete(oldest)
    }
  }

  #delete(group: string): void {
    this.#bytes -= this.#entries.get(group)?.bytes ?? 0
    this.#entries.delete(group)
  }
}
