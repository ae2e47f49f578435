// A transport between controllers and an API server that disturbs them as a test says: requests fail or hang, events
// of watches and responses of writes arrive late. It records the requests by right, and every deletion.
import { setTimeout as delay } from 'node:timers/promises'
import { ClientError } from '@fairlead/client'
import type { ApiRequest, ApiResponse, Impersonation, Transport, WatchEvent } from '@fairlead/client'
import { failure } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'

/** A failure of a request. `hang`: there is no response until the fault ends; then the request is sent. */
export type Fault = 403 | 404 | 429 | 500 | 'hang'

/** All ways to fail. */
export const faults: readonly Fault[] = [403, 404, 429, 500, 'hang']

/** A deletion that was sent. */
export interface SentDeletion {
  readonly path: string
  readonly preconditions: JsonObject
}

/** The state of the disturbance, shared by a transport and those that it impersonates with. */
export class Disturbance {
  /** The right whose requests fail, as {@link rightOf} returns it; none when undefined. */
  #right: string | undefined
  #fault: Fault | undefined
  #end = Promise.withResolvers<void>()
  readonly #watches = new Map<AbortController, string>()
  /** Milliseconds by which events of watches are late. */
  eventDelay = 0
  /** Milliseconds by which responses of writes are late: their events arrive before them. */
  responseDelay = 0
  /** Requests and late events that are under way; hanging requests do not count. */
  busy = 0
  /** Requests that failed or hung. */
  failed = 0
  readonly deletions: SentDeletion[] = []
  /** The rights that were used. */
  readonly used = new Set<string>()

  /** Refuses streaming lists, as servers before Kubernetes 1.34 do: caches are filled by lists. */
  refusesStreaming = false

  /** Lets the requests of a right fail. */
  begin(right: string, fault: Fault): void {
    this.#right = right
    this.#fault = fault
    this.#end = Promise.withResolvers<void>()
  }

  /**
   * Ends the watches of a right's resource: they break, as when a server restarts; for the right to list they expire,
   * so that the resource must be listed again.
   */
  interrupt(right: string): void {
    const reason = right.startsWith('list ') ? 'expired' : 'broken'
    for (const [watch, watched] of this.#watches) if (watched === resourceOf(right)) watch.abort(reason)
  }

  /** Ends the fault. */
  heal(): void {
    this.#right = undefined
    this.#fault = undefined
    this.#end.resolve()
  }

  /** Returns the fault of a request, and counts the request. */
  faultOf(right: string): Fault | undefined {
    this.used.add(right)
    if (right !== this.#right) return undefined
    this.failed++
    return this.#fault
  }

  /** Resolves when the fault ends; rejects when the request is aborted. */
  async waitForEnd(signal: AbortSignal | undefined): Promise<void> {
    const aborted = Promise.withResolvers<never>()
    const abort = (): void => aborted.reject(signal?.reason as Error)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([this.#end.promise, aborted.promise])
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Registers a watch until disposed; the signal aborts when it is interrupted. */
  watching(right: string): { readonly signal: AbortSignal } & Disposable {
    const interruption = new AbortController()
    this.#watches.set(interruption, resourceOf(right))
    return { signal: interruption.signal, [Symbol.dispose]: () => void this.#watches.delete(interruption) }
  }
}

const noStreaming = statusResponse(422, 'Invalid', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden')
/** The last event of a watch whose revision has been compacted. */
const expired: WatchEvent = {
  type: 'ERROR',
  object: failure(410, 'Expired', 'too old resource version').status as unknown as KubeObject,
}

/** The transport. */
export class DisturbedTransport implements Transport {
  readonly address: string
  readonly #to: Transport
  readonly #disturbance: Disturbance

  constructor(to: Transport, disturbance: Disturbance) {
    this.address = to.address
    this.#to = to
    this.#disturbance = disturbance
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const disturbance = this.#disturbance
    if (request.method === 'DELETE') {
      const { preconditions = {} } = (request.body ?? {}) as { readonly preconditions?: JsonObject }
      disturbance.deletions.push({ path: request.path, preconditions })
    }
    const failure = await this.#failure(request)
    if (failure !== undefined) return failure
    disturbance.busy++
    try {
      const response = await this.#to.request(request)
      if (request.method !== 'GET' && disturbance.responseDelay > 0) await delay(disturbance.responseDelay)
      return response
    } finally {
      disturbance.busy--
    }
  }

  async watch(request: ApiRequest): ReturnType<Transport['watch']> {
    if (this.#disturbance.refusesStreaming && request.query?.['sendInitialEvents'] === true)
      return { refused: noStreaming }
    const failure = await this.#failure(request)
    if (failure !== undefined) return { refused: failure }
    this.#disturbance.busy++
    try {
      const watch = await this.#to.watch(request)
      return 'refused' in watch ? watch : { events: this.#late(watch.events, rightOf(request) ?? '') }
    } finally {
      this.#disturbance.busy--
    }
  }

  as(who: Impersonation): Transport {
    return new DisturbedTransport(this.#to.as(who), this.#disturbance)
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#to[Symbol.asyncDispose]()
  }

  async #failure(request: ApiRequest): Promise<ApiResponse | undefined> {
    const right = rightOf(request)
    const fault = right === undefined ? undefined : this.#disturbance.faultOf(right)
    if (fault === undefined) return undefined
    if (fault === 'hang') return this.#disturbance.waitForEnd(request.signal) as Promise<undefined>
    return responseOf(fault, request)
  }

  /** Passes events on, each {@link Disturbance.eventDelay} after it was received, in order. */
  async *#late(events: AsyncIterable<WatchEvent>, right: string): AsyncGenerator<WatchEvent> {
    const disturbance = this.#disturbance
    using watching = disturbance.watching(right)
    const interrupted = new Promise<undefined>((resolve) =>
      watching.signal.addEventListener('abort', () => resolve(undefined), { once: true }),
    )
    const received = events[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = received.next()
        // The rejection is handled when the race is lost.
        next.catch(() => {})
        const result = await Promise.race([next, interrupted])
        if (result === undefined && watching.signal.reason === 'expired') return yield expired
        if (result === undefined) throw new ClientError('ConnectionFailed', 'The watch was interrupted')
        if (result.done === true) return
        if (disturbance.eventDelay > 0) {
          disturbance.busy++
          await delay(disturbance.eventDelay).finally(() => disturbance.busy--)
        }
        yield result.value
      }
    } finally {
      // Not awaited: the server may hold the connection open.
      void received.return?.()
    }
  }
}

/** Returns the right that a request needs: `verb resource.group`, with `/subresource`; undefined for other paths. */
export function rightOf({ method, path, query }: ApiRequest): string | undefined {
  const segments = path.split('/').slice(1)
  const group = segments[0] === 'apis' ? segments[1]! : ''
  const rest = segments.slice(segments[0] === 'apis' ? 3 : 2)
  if (rest[0] === 'namespaces' && rest.length > 2) rest.splice(0, 2)
  const [resource, name, subresource] = rest
  if (resource === undefined) return undefined
  const read = name === undefined ? (query?.['watch'] === true ? 'watch' : 'list') : 'get'
  const verbs = { GET: read, POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const
  return `${verbs[method]} ${formatResource(group, subresource === undefined ? resource : `${resource}/${subresource}`)}`
}

/** Formats a resource as rights name it: `resource.group`, `pods/log` in the core group. */
export function formatResource(group: string, resource: string): string {
  const [plural = '', subresource] = resource.split('/')
  return `${plural}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`
}

function resourceOf(right: string): string {
  return right.slice(right.indexOf(' ') + 1)
}

/** Returns the response of a server for which the request fails. */
function responseOf(fault: Exclude<Fault, 'hang'>, { path }: ApiRequest): ApiResponse {
  // The kind is not served; an object that does not exist would be another 404.
  if (fault === 404) return { status: 404, headers: {}, body: '404 page not found\n', warnings: [] }
  const errors = {
    403: ['Forbidden', `${path} is forbidden: denied by a policy of the test`],
    429: ['TooManyRequests', 'Too many requests, please try again later.'],
    500: ['InternalError', 'Internal error occurred: failed by the test'],
  } as const
  const [reason, message] = errors[fault]
  return statusResponse(fault, reason, message, fault === 429 ? { 'retry-after': '1' } : {})
}

function statusResponse(
  code: number,
  reason: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  return { status: code, headers, body: failure(code, reason, message).status as never, warnings: [] }
}
