// A transport between the controllers and the API server whose events arrive late, and whose requests fail as a test says.
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiRequest, ApiResponse, Impersonation, Transport, WatchEvent } from '@fairlead/client'
import type { StatusError } from '@fairlead/kube'

/** The faults; they can change while the controllers run. */
export interface Faults {
  /** Returns the failure of a request; `hang` for no response at all, undefined for the response of the server. */
  fail?: (request: ApiRequest) => StatusError | 'hang' | undefined
  /** Delays a request until it resolves. */
  pause?: (request: ApiRequest) => Promise<void>
  /** Milliseconds that every event of a watch is late. */
  late?: number
  /** Paths of the DELETE requests. */
  readonly deletes: string[]
}

/** The transport. */
export class FaultyTransport implements Transport {
  readonly address: string
  readonly #inner: Transport
  readonly #faults: Faults

  constructor(inner: Transport, faults: Faults) {
    this.address = inner.address
    this.#inner = inner
    this.#faults = faults
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    if (request.method === 'DELETE') this.#faults.deletes.push(request.path)
    await this.#faults.pause?.(request)
    return (await this.#failure(request)) ?? this.#inner.request(request)
  }

  async watch(request: ApiRequest): ReturnType<Transport['watch']> {
    const refused = await this.#failure(request)
    if (refused !== undefined) return { refused }
    const watch = await this.#inner.watch(request)
    return 'refused' in watch ? watch : { events: this.#delayed(watch.events) }
  }

  as(who: Impersonation): Transport {
    return new FaultyTransport(this.#inner.as(who), this.#faults)
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]()
  }

  async #failure(request: ApiRequest): Promise<ApiResponse | undefined> {
    const failure = this.#faults.fail?.(request)
    if (failure === undefined) return undefined
    if (failure === 'hang')
      return new Promise((_, reject) =>
        request.signal?.addEventListener('abort', () => reject(request.signal?.reason as Error), { once: true }),
      )
    return { status: failure.code, headers: {}, body: failure.status as never, warnings: [] }
  }

  async *#delayed(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchEvent> {
    for await (const event of events) {
      if (this.#faults.late !== undefined) await delay(this.#faults.late)
      yield event
    }
  }
}
