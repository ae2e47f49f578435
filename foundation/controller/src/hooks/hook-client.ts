// Calls users' hooks: POST JSON over HTTP(S), bounded in time and size. A hook never runs with our rights (design
// decision 6).
import { createHash } from 'node:crypto'
import type * as http from 'node:http'
import * as https from 'node:https'
import { destroyOnAbort, readAll } from '@fairlead/client'
import { stringifyJson } from '@fairlead/kube'
import type { Clock, JsonValue } from '@fairlead/kube'
import { RemoteError } from '../queue/retry-policy.ts'
import type { EndpointWaiters } from '../queue/endpoint-waiters.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { HookHosts } from './hook-hosts.ts'
import { isLinkLocal, linkLocalError, lookupHookHost } from './hook-address.ts'
import { ResponseBudget, ResponseReservation, smallResponse } from './response-budget.ts'

/** An import statement would load all its dependencies, WebSocket and fetch among them: 20 ms of every start. */
const plainHttp = process.getBuiltinModule('node:http')

/** TLS configuration of a hook. Certificates are PEM. */
export interface HookTls {
  /** Authorities that may sign the hook's certificate; those of the system when left out. */
  readonly ca?: string
  readonly certificate?: string
  readonly key?: string
}

/** Credentials for the hook. */
export type HookAuthorization =
  /** `Authorization: <type> <credentials>`; the type is `Bearer` when left out. */
  { readonly type?: string; readonly credentials: string } | { readonly username: string; readonly password: string }

/** The address of a hook and the options of calls to it. */
export interface HookEndpoint {
  readonly url: string
  /** Time limit of the whole call, in milliseconds; 10,000 when left out or not above 0. */
  readonly timeout?: number
  readonly tls?: HookTls
  readonly authorization?: HookAuthorization
  /** Maximum size of the response in bytes; 32 MiB when left out. */
  readonly maxResponseBytes?: number
}

/** One call of a hook. */
export interface HookCall {
  readonly body: JsonValue
  readonly headers?: Readonly<Record<string, string>>
  /** Status codes besides 200 that are not failures (304 and 412 with an ETag). */
  readonly alsoAccepted?: readonly number[]
  readonly signal?: AbortSignal
  /**
   * Holds the memory of a large response until it is disposed. Without one it is counted until the call ends.
   */
  readonly reservation?: ResponseReservation
}

/** A hook's response. Its JSON is parsed by the caller, which decides how strictly. */
export interface HookResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly bytesSent: number
  readonly bytesReceived: number
}

/**
 * Stable codes of {@link HookError}:
 * - `HookUnreachable`: no connection, or it broke.
 * - `HookTimeout`: no complete response in time.
 * - `HookFailed`: a status that is not a success.
 * - `HookThrottled`: 429 with `Retry-After`; it needs no event.
 * - `HookResponseTooLarge`: more bytes than allowed.
 * - `HookAddressUnknown`: the resolver does not know the host.
 * - `HookHostRefused`: an administrator has not allowed hooks at this host.
 * - `HookSuspended`: no call was made, because the last ones failed; `retryAfter` says when the next may be made. It
 *   needs neither event nor log line.
 */
export type HookErrorCode =
  | 'HookUnreachable'
  | 'HookTimeout'
  | 'HookFailed'
  | 'HookThrottled'
  | 'HookResponseTooLarge'
  | 'HookAddressUnknown'
  | 'HookHostRefused'
  | 'HookSuspended'

/** A call that failed. */
export class HookError extends RemoteError {
  declare readonly code: HookErrorCode
  /** HTTP status of the response, if there was one. */
  readonly status: number | undefined

  constructor(
    code: HookErrorCode,
    message: string,
    options: { endpoint: string; status?: number; retryAfter?: number; cause?: unknown },
  ) {
    super(code, message, options)
    this.name = 'HookError'
    this.status = options.status
  }
}

/**
 * Resolves a host that DNS may not know (a Service name outside its cluster); undefined falls back to DNS.
 */
export type HookResolver = (
  host: string,
  port: number,
) => Promise<{ readonly host: string; readonly port: number } | undefined>

/** Dependencies of a {@link HookClient}. */
export interface HookClientOptions {
  readonly clock: Clock
  /** Notified of successes, so that work that waits for the endpoint is retried. */
  readonly endpoints?: EndpointWaiters
  readonly resolve?: HookResolver
  /** The hosts that hooks may be called at; any but link-local ones when left out. */
  readonly hosts?: HookHosts
  readonly userAgent?: string
  /** Suspends calls of hooks that are down, for callers that retry by themselves; see {@link CircuitBreaker}. */
  readonly suspendsCalls?: boolean
  /**
   * Sum of the large responses in use at a time, in bytes; 64 MiB when left out. More are read when others are
   * disposed; their time limits do not run meanwhile.
   */
  readonly maxBytesInUse?: number
}

const defaultTimeout = 10_000
/** Bounds of `Retry-After` in milliseconds: no hot loop, and no wait that an operator would take for a hang. */
const minRetryAfter = 1000
const maxRetryAfter = 3_600_000
const defaultMaxBytes = 32 * 1024 * 1024
const defaultMaxBytesInUse = 2 * defaultMaxBytes
/** Bytes that a large response without `Content-Length` reserves first; once it has more, it counts as the largest. */
const unannounced = 8 * 1024 * 1024
/** Statuses that gateways respond with when the hook behind them is down. */
const gatewayFailures: ReadonlySet<number> = new Set([502, 503, 504])

/** Calls hooks over keep-alive connections, one pool per TLS identity. */
export class HookClient implements AsyncDisposable {
  readonly #options: HookClientOptions
  readonly #agents = new Map<string, http.Agent>()
  readonly #breaker: CircuitBreaker | undefined
  readonly #budget: ResponseBudget

  /** Creates a client; opens no connection. */
  constructor(options: HookClientOptions) {
    this.#options = options
    this.#breaker = options.suspendsCalls === true ? new CircuitBreaker(options.clock) : undefined
    this.#budget = new ResponseBudget(options.maxBytesInUse ?? defaultMaxBytesInUse)
  }

  /**
   * Calls a hook, unless its last calls failed because it is down. Redirects are not followed. Throws
   * {@link HookError}, or the reason of the signal.
   */
  async call(endpoint: HookEndpoint, call: HookCall): Promise<HookResponse> {
    const url = new URL(endpoint.url)
    const name = endpointName(url)
    call.signal?.throwIfAborted()
    const suspension = this.#breaker?.suspension(name)
    if (suspension !== undefined) {
      const { failures, lastError, retryAfter } = suspension
      const message = `The hook ${name} is tried again in ${Math.ceil(retryAfter / 1000)} s, because its last ${failures} calls failed: ${lastError}`
      throw new HookError('HookSuspended', message, { endpoint: name, retryAfter })
    }
    try {
      const response = await this.#call(url, name, endpoint, call)
      this.#breaker?.succeeded(name)
      return response
    } catch (error) {
      if (!(error instanceof HookError)) throw error
      if (error.status === undefined || gatewayFailures.has(error.status)) this.#breaker?.failed(name, error.message)
      else this.#breaker?.succeeded(name)
      throw error
    }
  }

  async #call(url: URL, name: string, endpoint: HookEndpoint, call: HookCall): Promise<HookResponse> {
    const answer = await this.#exchange(url, name, endpoint, call)
    if (answer.status === 200 || call.alsoAccepted?.includes(answer.status)) {
      this.#options.endpoints?.succeeded(name)
      return answer
    }
    const retryAfter = answer.status === 429 ? this.#retryAfter(answer.headers['retry-after']) : undefined
    if (retryAfter !== undefined) {
      throw new HookError('HookThrottled', `The hook ${name} is throttling: try again in ${retryAfter / 1000} s`, {
        endpoint: name,
        status: 429,
        retryAfter,
      })
    }
    const advice = answer.status === 404 ? '; check the path of its address' : ''
    throw new HookError('HookFailed', `The hook ${name} responded ${answer.status}: ${excerpt(answer.text)}${advice}`, {
      endpoint: name,
      status: answer.status,
    })
  }

  /** Closes idle connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  async #exchange(url: URL, name: string, endpoint: HookEndpoint, call: HookCall): Promise<HookResponse> {
    const timeout = endpoint.timeout && endpoint.timeout > 0 ? endpoint.timeout : defaultTimeout
    const cancel = new AbortController()
    const abort = (): void => cancel.abort(call.signal?.reason)
    const { clock } = this.#options
    const limit = new TimeLimit(clock, timeout, () => cancel.abort())
    using own = new ResponseReservation()
    let isAnswered = false
    call.signal?.addEventListener('abort', abort, { once: true })
    try {
      const address = await this.#address(url, name)
      if (isLinkLocal(address.host)) throw linkLocalError(address.host)
      const body = Buffer.from(stringifyJson(call.body))
      const incoming = await this.#send(url, address, endpoint, call, body, cancel.signal)
      isAnswered = true
      const bytes = await readLimited(incoming, endpoint.maxResponseBytes ?? defaultMaxBytes, name, async (size) => {
        using _pause = limit.pause()
        await this.#budget.reserve(call.reservation ?? own, size, cancel.signal)
      })
      return {
        status: incoming.statusCode ?? 0,
        headers: plainHeaders(incoming.headers),
        text: bytes.toString('utf8'),
        bytesSent: body.length,
        bytesReceived: bytes.length,
      }
    } catch (cause) {
      if (call.signal?.aborted) throw call.signal.reason
      if (limit.isOver)
        throw new HookError('HookTimeout', `The hook ${name} did not respond within ${timeout / 1000} s`, {
          endpoint: name,
          cause,
        })
      if (cause instanceof HookError) throw cause
      const reason = reasonOf(cause as Error)
      if (isAnswered)
        throw new HookError('HookUnreachable', `The hook ${name} broke off its response: ${reason}`, {
          endpoint: name,
          cause,
        })
      throw new HookError('HookUnreachable', `The hook ${name} cannot be reached: ${reason}`, {
        endpoint: name,
        cause,
      })
    } finally {
      limit[Symbol.dispose]()
      call.signal?.removeEventListener('abort', abort)
    }
  }

  async #address(url: URL, name: string): Promise<{ readonly host: string; readonly port: number }> {
    const { hosts } = this.#options
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    if (hosts !== undefined && !hosts.allows(host))
      throw new HookError(
        'HookHostRefused',
        `The hook ${name} is refused: ${host} is not among the hosts that hooks may have (${hosts.toString()})`,
        { endpoint: name },
      )
    const own = {
      host,
      port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    }
    try {
      return (await this.#options.resolve?.(own.host, own.port)) ?? own
    } catch (cause) {
      throw new HookError(
        'HookAddressUnknown',
        `The address of the hook ${name} cannot be found: ${(cause as Error).message}`,
        { endpoint: name, cause },
      )
    }
  }

  async #send(
    url: URL,
    address: { readonly host: string; readonly port: number },
    endpoint: HookEndpoint,
    call: HookCall,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    const secure = url.protocol === 'https:'
    const options: https.RequestOptions = {
      method: 'POST',
      host: address.host,
      port: address.port,
      path: url.pathname + url.search,
      agent: this.#agent(secure, endpoint.tls),
      lookup: lookupHookHost,
      // Routing and certificates use the name that the user wrote, whatever it resolves to.
      ...(secure && { servername: isAddress(url.hostname) ? '' : url.hostname }),
      headers: {
        host: url.host,
        'content-type': 'application/json',
        'content-length': body.length,
        accept: 'application/json',
        'user-agent': this.#options.userAgent ?? 'fairlead',
        ...authorizationHeader(endpoint.authorization),
        ...call.headers,
      },
    }
    const first = await send(secure, options, body, signal)
    if (first.answer !== undefined) return first.answer
    // The hook closed an idle keep-alive connection at the same time; it has read nothing of the call.
    const second = first.stale ? await send(secure, options, body, signal) : first
    if (second.answer !== undefined) return second.answer
    throw second.error
  }

  #agent(secure: boolean, tls: HookTls = {}): http.Agent {
    const id = secure
      ? createHash('sha256')
          .update(JSON.stringify([tls.ca, tls.certificate, tls.key]))
          .digest('base64')
      : 'http'
    let agent = this.#agents.get(id)
    if (agent === undefined) {
      const common: http.AgentOptions = { keepAlive: true, maxFreeSockets: 32 }
      agent = secure
        ? new https.Agent({
            ...common,
            ca: tls.ca,
            cert: tls.certificate,
            key: tls.key,
            minVersion: 'TLSv1.2',
            // Go trusts every certificate of a bundle, self-signed or not.
            allowPartialTrustChain: true,
          })
        : new plainHttp.Agent(common)
      this.#agents.set(id, agent)
    }
    return agent
  }

  /** Returns the milliseconds of a `Retry-After`, in seconds or as a date; undefined when it is missing or invalid. */
  #retryAfter(text: string | undefined): number | undefined {
    if (text === undefined) return undefined
    const until = Date.parse(text)
    const wait = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : until - this.#options.clock.now()
    return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, minRetryAfter), maxRetryAfter)
  }
}

interface Sent {
  readonly answer?: http.IncomingMessage
  readonly error?: Error
  /** Reports whether the error came from a keep-alive connection that had been closed. */
  readonly stale: boolean
}

function send(secure: boolean, options: https.RequestOptions, body: Buffer, signal: AbortSignal): Promise<Sent> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ error: signal.reason as Error, stale: false })
    const sent = (secure ? https : plainHttp).request(options, (answer) => resolve({ answer, stale: false }))
    destroyOnAbort(sent, signal)
    sent.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ error, stale: sent.reusedSocket && error.code === 'ECONNRESET' }),
    )
    sent.end(body)
  })
}

/** Returns the name of a hook's endpoint: its URL without query and credentials. */
export function endpointName(url: URL | string): string {
  const { protocol, host, pathname } = typeof url === 'string' ? new URL(url) : url
  return `${protocol}//${host}${pathname}`
}

/** Reads a response; one that is large is read on when `reserve` resolves, which is called with its size. */
async function readLimited(
  incoming: http.IncomingMessage,
  limit: number,
  name: string,
  reserve: (bytes: number) => Promise<void>,
): Promise<Buffer> {
  let size = 0
  let reserved = smallResponse
  return readAll(incoming, (count) => {
    size += count
    if (size > limit)
      throw new HookError('HookResponseTooLarge', `The hook ${name} returned more than ${limit} bytes`, {
        endpoint: name,
        status: incoming.statusCode,
      })
    if (size <= reserved) return
    const announced = Number(incoming.headers['content-length'])
    const known = announced > 0 ? announced : reserved === smallResponse ? unannounced : limit
    const more = Math.min(known, limit) - (reserved === smallResponse ? 0 : reserved)
    reserved = Math.max(Math.min(known, limit), size)
    incoming.pause()
    void reserve(more).then(
      () => incoming.resume(),
      (error: unknown) => incoming.destroy(error as Error),
    )
  })
}

/** The time limit of a call; it can be paused. */
class TimeLimit implements Disposable {
  readonly #clock: Clock
  readonly #onOver: () => void
  #left: number
  #since = 0
  #timer: Disposable | undefined
  #isOver = false

  constructor(clock: Clock, milliseconds: number, onOver: () => void) {
    this.#clock = clock
    this.#left = milliseconds
    this.#onOver = onOver
    this.#start()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Stops the time until the returned value is disposed. */
  pause(): Disposable {
    this[Symbol.dispose]()
    this.#left -= this.#clock.monotonic() - this.#since
    return { [Symbol.dispose]: () => this.#start() }
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]()
    this.#timer = undefined
  }

  #start(): void {
    this.#since = this.#clock.monotonic()
    this.#timer = this.#clock.timer(Math.max(this.#left, 0), () => {
      this.#isOver = true
      this.#onOver()
    })
  }
}

function authorizationHeader(authorization: HookAuthorization | undefined): Record<string, string> {
  if (authorization === undefined) return {}
  if ('credentials' in authorization)
    return { authorization: `${authorization.type ?? 'Bearer'} ${authorization.credentials}` }
  return {
    authorization: `Basic ${Buffer.from(`${authorization.username}:${authorization.password}`).toString('base64')}`,
  }
}

function plainHeaders(headers: http.IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}

function isAddress(host: string): boolean {
  return host.startsWith('[') || /^[\d.]+$/.test(host)
}

function excerpt(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ')
  return line === '' ? 'no message' : line.length > 300 ? `${line.slice(0, 300)}…` : line
}

function reasonOf(cause: Error & { code?: string }): string {
  return cause.message || cause.code || 'the connection broke'
}
