// The Transport over HTTPS (or plain HTTP, for `kubectl proxy` and the like) on Node's client, with keep-alive
// connections.
import type * as http from 'node:http'
import * as https from 'node:https'
import { Readable } from 'node:stream'
import { stringifyJson } from '@fairlead/kube'
import type { Clock, JsonValue } from '@fairlead/kube'
import { ClientError } from '../client-error.ts'
import type { Connection } from '../config/connection.ts'
import { Credentials } from '../config/credentials.ts'
import type { Presented } from '../config/credentials.ts'
import type { Login } from '../login.ts'
import { systemClock } from '../system-clock.ts'
import type { Impersonation } from '../impersonation.ts'
import type { ApiRequest, ApiResponse, Transport, WatchEvent } from '../transport.ts'
import { readJson, readWarnings } from './body.ts'
import { lines } from './json-lines.ts'
import { destroyOnAbort, readAll } from './message.ts'
import { throughSocks } from './socks-agent.ts'

/** An import statement would load all its dependencies, WebSocket and fetch among them: 20 ms of every start. */
const plainHttp = process.getBuiltinModule('node:http')

/** Options of the transport. */
export interface HttpsTransportOptions {
  readonly clock?: Clock
  /**
   * Idle limit of a response. Milliseconds; 90,000 when left out (an API server gives up after 60 s). Watches have no
   * limit.
   */
  readonly timeout?: number
  readonly userAgent?: string
}

/**
 * Idle connections are closed before any server closes them: a write on a connection that is being closed cannot be
 * retried.
 */
const kept: http.AgentOptions = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 64, timeout: 50_000 }

/** A request with bodies of bytes, of any length. */
export interface ByteRequest extends Pick<
  ApiRequest,
  'method' | 'path' | 'query' | 'accept' | 'contentType' | 'signal'
> {
  /** Sent once the server has agreed to read it (`Expect: 100-continue`), as fast as it reads. */
  readonly body?: AsyncIterable<Uint8Array>
}

/** The response, of any status. */
export interface ByteResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Throws ClientError `ConnectionFailed` when the connection breaks before the end. */
  readonly body: AsyncIterable<Uint8Array>
}

interface Shared {
  readonly connection: Connection
  readonly options: HttpsTransportOptions
  readonly base: URL
  /** The parts of `base` that each request needs: its getters compute them anew. */
  readonly origin: { readonly isPlain: boolean; readonly hostname: string; readonly port: string }
  /** Precedes the path of each request. */
  readonly prefix: string
  readonly agent: http.Agent
  readonly credentials: Credentials
  readonly timeout: number
  readonly userAgent: string
}

/** Sends requests to the server of a {@link Connection}. */
export class HttpsTransport implements Transport {
  readonly address: string
  readonly #shared: Shared
  readonly #who: Impersonation | undefined

  /** Creates a transport for a connection. */
  constructor(connection: Connection, options?: HttpsTransportOptions)
  /** @internal for `as` */
  constructor(shared: Shared, options: undefined, who: Impersonation)
  constructor(of: Connection | Shared, options: HttpsTransportOptions = {}, who?: Impersonation) {
    this.#shared = 'agent' in of ? of : share(of, options)
    this.#who = who ?? ('agent' in of ? undefined : of.impersonate)
    this.address = this.#shared.base.href.replace(/\/$/, '')
  }

  as(who: Impersonation): Transport {
    return new HttpsTransport(this.#shared, undefined, who)
  }

  /** Returns a transport to the same server with another login; the credentials of this transport are not sent. */
  withLogin(login: (clock: Clock) => Login): Transport {
    const { server, ca, insecure, tlsServerName, proxyUrl, namespace } = this.#shared.connection
    const connection: Connection = { server, ca, insecure, tlsServerName, proxyUrl, namespace, login }
    return new HttpsTransport(connection, this.#shared.options)
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const response = await this.#send(request, this.#shared.timeout)
    return readResponse(response, this.#describe(request))
  }

  async watch(
    request: ApiRequest,
  ): Promise<{ readonly events: AsyncIterable<WatchEvent> } | { readonly refused: ApiResponse }> {
    const response = await this.#send(request, 0)
    if (response.statusCode !== 200) return { refused: await readResponse(response, this.#describe(request)) }
    return { events: readEvents(response, this.#describe(request)) }
  }

  /**
   * Sends and receives bytes, for paths that are not resources. Has no time limit: pass a signal.
   * Throws ClientError `ConnectionFailed`, and what `body` throws.
   */
  async exchange(request: ByteRequest): Promise<ByteResponse> {
    const what = this.#describe(request)
    const response = await this.#send(request, 0, request.body)
    return { status: response.statusCode ?? 0, headers: headersOf(response), body: readBytes(response, what) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#shared.agent.destroy()
  }

  /**
   * A request with a 401 response had no effect: it is sent again with new credentials, unless its body was consumed.
   */
  async #send(
    request: ApiRequest | ByteRequest,
    timeout: number,
    bytes?: AsyncIterable<Uint8Array>,
  ): Promise<http.IncomingMessage> {
    const { credentials } = this.#shared
    const shown = await credentials.present()
    const response = await this.#sendWith(shown, request, timeout, bytes)
    if (response.statusCode !== 401 || !credentials.refused(shown) || bytes !== undefined) return response
    response.resume()
    return this.#sendWith(await credentials.present(), request, timeout)
  }

  #sendWith(
    shown: Presented,
    request: ApiRequest | ByteRequest,
    timeout: number,
    bytes?: AsyncIterable<Uint8Array>,
  ): Promise<http.IncomingMessage> {
    const { base, origin, prefix, agent, userAgent } = this.#shared
    const { signal } = request
    const body =
      request.body === undefined || request.body === bytes
        ? undefined
        : Buffer.from(stringifyJson(request.body as JsonValue))
    const headers: http.OutgoingHttpHeaders = {
      host: base.host,
      accept: request.accept ?? 'application/json',
      'user-agent': userAgent,
      ...shown.headers,
      ...impersonationHeaders(this.#who),
      ...(body === undefined
        ? {}
        : { 'content-type': request.contentType ?? 'application/json', 'content-length': body.length }),
      ...(bytes === undefined
        ? {}
        : { 'content-type': request.contentType ?? 'application/octet-stream', expect: '100-continue' }),
      ...('headers' in request ? request.headers : {}),
    }
    signal?.throwIfAborted()
    return new Promise((resolve, reject) => {
      const sent = (origin.isPlain ? plainHttp : https).request(
        {
          hostname: origin.hostname,
          port: origin.port,
          path: prefix + request.path + queryText(request.query),
          method: request.method,
          headers: headerList(headers),
          agent,
          timeout,
          ...(shown.login?.certificate && { cert: shown.login.certificate, key: shown.login.key }),
        },
        resolve,
      )
      // The `signal` option of requests costs several listeners on the request, its response and its socket.
      if (signal !== undefined) destroyOnAbort(sent, signal)
      // The socket's limit for idle connections must not end a watch.
      if (timeout > 0) sent.on('timeout', () => sent.destroy(new Error(`no response within ${timeout / 1000} s`)))
      sent.on('error', (error) => reject(signal?.aborted ? (signal.reason as Error) : this.#failed(request, error)))
      if (bytes === undefined) return void sent.end(body)
      // The response may arrive before the body was read; the rest is not needed then.
      sent.once('continue', () => {
        const source = Readable.from(bytes)
        sent.once('response', () => source.destroy())
        source.on('error', (error) => {
          reject(error)
          sent.destroy()
        })
        source.pipe(sent)
      })
      sent.flushHeaders()
    })
  }

  #describe(request: Pick<ApiRequest, 'method' | 'path'>): string {
    return `${request.method} ${this.address}${request.path}`
  }

  #failed(request: Pick<ApiRequest, 'method' | 'path'>, cause: Error): ClientError {
    return connectionFailed(this.#describe(request), cause, this.#shared.base.host)
  }
}

function share(connection: Connection, options: HttpsTransportOptions): Shared {
  const base = new URL(connection.server)
  const isPlain = base.protocol === 'http:'
  const agent = agentFor(connection, isPlain)
  return {
    connection,
    options,
    base,
    origin: { isPlain, hostname: base.hostname.replace(/^\[(.*)\]$/, '$1'), port: base.port },
    prefix: base.pathname.replace(/\/$/, ''),
    agent,
    credentials: new Credentials(connection, options.clock ?? systemClock),
    timeout: options.timeout ?? 90_000,
    userAgent: options.userAgent ?? 'fairlead',
  }
}

function agentFor(connection: Connection, isPlain: boolean): http.Agent {
  const { proxyUrl, ca, certificate: cert, key, insecure, tlsServerName } = connection
  const trust = {
    ca,
    cert,
    key,
    rejectUnauthorized: !insecure,
    // client-go trusts every certificate of a bundle, self-signed or not.
    allowPartialTrustChain: true,
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  }
  const socks = proxyUrl?.startsWith('socks5') ? new URL(proxyUrl) : undefined
  if (socks !== undefined)
    return throughSocks(isPlain ? new plainHttp.Agent(kept) : new https.Agent({ ...kept, ...trust }), socks, !isPlain)
  const proxyEnv = proxyUrl === undefined ? undefined : { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl }
  const common: http.AgentOptions = { ...kept, ...(proxyEnv && { proxyEnv }) }
  return isPlain ? new plainHttp.Agent(common) : withOneName(new https.Agent({ ...common, ...trust }))
}

/**
 * Makes an agent compute the name of its connections once: they are all to one server. Node's name has every option of
 * TLS in it, whole certificates among them, and each request needs it several times.
 */
function withOneName(agent: https.Agent): https.Agent {
  const nameOf = agent.getName.bind(agent)
  const { cert } = agent.options
  let name: string | undefined
  return Object.assign(agent, {
    getName: (options: https.RequestOptions = {}): string =>
      options.cert === cert ? (name ??= nameOf(options)) : nameOf(options),
  })
}

async function readResponse(response: http.IncomingMessage, what: string): Promise<ApiResponse> {
  let bytes: Buffer
  try {
    bytes = await readAll(response)
  } catch (error) {
    throw connectionFailed(what, error as Error)
  }
  const text = bytes.toString('utf8')
  const headers = headersOf(response)
  const isJson = (headers['content-type'] ?? '').includes('json')
  return {
    status: response.statusCode ?? 0,
    headers,
    body: isJson && text !== '' ? parseBody(text, what) : text,
    warnings: headers['warning'] === undefined ? [] : readWarnings(response.headersDistinct['warning'] ?? []),
  }
}

function headersOf(response: http.IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(response.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  return headers
}

async function* readBytes(response: http.IncomingMessage, what: string): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* response as AsyncIterable<Buffer>
  } catch (error) {
    throw connectionFailed(what, error as Error)
  }
}

async function* readEvents(response: http.IncomingMessage, what: string): AsyncGenerator<WatchEvent, void, undefined> {
  try {
    for await (const line of lines(response)) yield parseBody(line, what) as unknown as WatchEvent
  } catch (error) {
    throw error instanceof ClientError ? error : connectionFailed(what, error as Error)
  } finally {
    response.destroy()
  }
}

function parseBody(text: string, what: string): JsonValue {
  try {
    return readJson(text)
  } catch (cause) {
    throw new ClientError('InvalidResponse', `${what}: the response is not JSON (${(cause as Error).message})`, {
      cause,
    })
  }
}

function connectionFailed(what: string, cause: Error & { code?: string }, server?: string): ClientError {
  const reason = cause.message || cause.code || 'the connection broke'
  return new ClientError('ConnectionFailed', `${what}: ${reason}`, { cause, server })
}

/** Returns the names and values of headers in turn: Node takes them as they are, without a map of its own. */
function headerList(headers: http.OutgoingHttpHeaders): readonly string[] {
  const list: string[] = []
  for (const name in headers) {
    const value = headers[name]
    if (Array.isArray(value)) for (const one of value) list.push(name, one)
    else if (value !== undefined) list.push(name, String(value))
  }
  return list
}

function queryText(query: ApiRequest['query']): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) parameters.set(name, String(value))
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

/** `Impersonate-*` headers; keys of `extra` are percent-encoded in header names, as the API server reads them. */
export function impersonationHeaders(who: Impersonation | undefined): http.OutgoingHttpHeaders {
  if (who === undefined) return {}
  const headers: http.OutgoingHttpHeaders = { 'impersonate-user': who.user }
  if (who.uid !== undefined) headers['impersonate-uid'] = who.uid
  if (who.groups?.length) headers['impersonate-group'] = [...who.groups]
  for (const [key, values] of Object.entries(who.extra ?? {}))
    headers[`impersonate-extra-${encodeURIComponent(key)}`] = [...values]
  return headers
}
