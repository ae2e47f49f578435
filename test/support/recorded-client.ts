// A client whose requests are counted on their way to the server.
import { Client } from '@fairlead/client'
import type { ApiRequest, ApiResponse, Impersonation, Transport, WatchEvent } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'

/** Forwards all requests and records them: `PATCH /api/v1/…`, `WATCH /api/v1/…`. */
export class RecordingTransport implements Transport {
  readonly requests: string[] = []
  readonly #to: Transport
  #closing = new AbortController()
  /** Requests whose answers are not here yet. */
  inFlight = 0
  /** Called before each request; may delay or fail it. */
  before: (request: ApiRequest) => Promise<void> | void = () => {}
  /** Responds in the server's place, to watches too, unless it returns undefined. */
  instead: (request: ApiRequest) => ApiResponse | undefined = () => undefined
  /** Called after each request with its response; may delay it. */
  after: (request: ApiRequest, response: ApiResponse) => Promise<void> | void = () => {}

  constructor(to: Transport) {
    this.#to = to
  }

  get address(): string {
    return this.#to.address
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    this.requests.push(`${request.method} ${request.path}`)
    this.inFlight++
    try {
      await this.before(request)
      const response = this.instead(request) ?? (await this.#to.request(request))
      await this.after(request, response)
      return response
    } finally {
      this.inFlight--
    }
  }

  async watch(request: ApiRequest): ReturnType<Transport['watch']> {
    this.requests.push(`WATCH ${request.path}`)
    const refused = this.instead(request)
    if (refused !== undefined) return { refused }
    const signal = AbortSignal.any([this.#closing.signal, ...(request.signal === undefined ? [] : [request.signal])])
    const watch = await this.#to.watch({ ...request, signal })
    return 'refused' in watch ? watch : { events: untilClosed(watch.events, this.#closing.signal) }
  }

  /** Ends the watches that are open, as a server does at their timeout. */
  closeWatches(): void {
    this.#closing.abort()
    this.#closing = new AbortController()
  }

  as(who: Impersonation): Transport {
    return this.#to.as(who)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#to[Symbol.asyncDispose]()
  }

  /** Requests since the last call that are no watches and no events. */
  take(): string[] {
    return this.requests.splice(0).filter((request) => !request.startsWith('WATCH') && !request.includes('/events'))
  }
}

async function* untilClosed(events: AsyncIterable<WatchEvent>, closing: AbortSignal): AsyncGenerator<WatchEvent> {
  try {
    yield* events
  } catch (error) {
    if (!closing.aborted) throw error
  }
}

export function recorded(client: Client, clock?: Clock): { client: Client; transport: RecordingTransport } {
  const transport = new RecordingTransport(client.transport)
  return { transport, client: new Client({ transport, clock: clock ?? client.clock, random: () => 0 }) }
}
