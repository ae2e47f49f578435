// The controllers' way to the server, on which the writes of one object can be held up.
import type { ApiRequest, ApiResponse, Impersonation, Transport } from '@fairlead/client'

/** Wraps a transport. */
export class PausableTransport implements Transport {
  readonly #inner: Transport
  #path: string | undefined
  #waiting: (() => void)[] = []

  constructor(inner: Transport) {
    this.#inner = inner
  }

  get address(): string {
    return this.#inner.address
  }

  /** Number of requests that are held up. */
  get paused(): number {
    return this.#waiting.length
  }

  /** Holds up writes of an object from now on. `path` is a part of theirs, such as `/namespaces/a/models/m`. */
  pause(path: string): void {
    this.#path = path
  }

  /** Lets everything pass again. */
  resume(): void {
    this.#path = undefined
    for (const go of this.#waiting.splice(0)) go()
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    if (request.method !== 'GET' && this.#path !== undefined && request.path.includes(this.#path))
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.#inner.request(request)
  }

  watch(request: ApiRequest): ReturnType<Transport['watch']> {
    return this.#inner.watch(request)
  }

  as(who: Impersonation): Transport {
    return this.#inner.as(who)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inner[Symbol.asyncDispose]()
  }
}
