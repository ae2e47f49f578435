// The HTTPS listener: it reads requests from sockets for the handler, and writes its responses. Start with `listen`.
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { IncomingMessage, ServerResponse as Http1Response } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { failure, internalError, methodNotAllowed, StatusError } from '@fairlead/kube'
import type { Clock } from '@fairlead/kube'
import type { HttpRequest, HttpResponse } from './http-message.ts'
import type { RequestTarget, ServerRequest, ServerResponse } from './message.ts'
import { dropBody, incomingBody, isTooLongToDrop, maxBodyBytes, streamBody } from './request-body.ts'
import { RequestOrder } from './request-order.ts'
import { writeResponse } from './response-writer.ts'
import { serverRequest, splitTarget } from './server-request.ts'
import type { RequestHead } from './server-request.ts'

/** The server's side of TLS, PEM. */
export interface ListenerTls {
  readonly key: string
  readonly cert: string
  /** The authorities of client certificates, PEM; an empty list trusts none. */
  readonly clientCa: string | readonly string[]
}

/** Options of a listener. */
export interface ListenOptions {
  readonly tls: ListenerTls
  /** Handles every request, and reads its body where it wants one. An error that it throws becomes a 500. */
  readonly handle: (request: ServerRequest) => Promise<ServerResponse>
  readonly clock: Clock
  /** Default: loopback only. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number
  /** The time in which headers, and a whole request, must arrive. Milliseconds. Default 30 s and 60 s. */
  readonly arrival?: { readonly headers: number; readonly request: number }
  /** Resolves a request before its body is read and its user authenticated; without it every body may have 3 MiB. */
  readonly resolve?: (method: string, path: string, query: URLSearchParams) => RequestTarget
  /** Offers HTTP/2 beside HTTP/1.1; true when left out. */
  readonly http2?: boolean
  /** Connections beyond these are closed at once. Default 10,000. */
  readonly maxConnections?: number
  /** Connections from one address; more are closed at once. 2,000 by default. */
  readonly maxConnectionsPerAddress?: number
  /** Takes over connections that upgrade to another protocol; without it upgrades are ignored. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Decides whether `upgrade` is called for a request; without it, for every upgrade request. */
  readonly wantsUpgrade?: (request: IncomingMessage) => boolean
}

/** An open listener. Disposing it ends watches, lets running requests finish for a few seconds, and closes. */
export interface Listener extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** `https://127.0.0.1:6443`; for a listener on all addresses that of loopback. */
  readonly url: string
  /** Replaces the certificates, from the next connection on; open connections keep theirs. */
  renew(tls: ListenerTls): void
}

/** The listener cannot bind its port. */
export class ListenError extends Error {
  readonly code = 'ListenFailed'
}

/** Far more than clients of one machine open; each costs tens of kilobytes. */
const maxConnections = 10_000
/** One address cannot take the connections of all others. */
const maxConnectionsPerAddress = 2_000

/** The addresses at which this machine reaches a listener on all of its addresses. */
const wildcards: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** The time that running requests have to finish after the listener was closed. Milliseconds. */
const closingTimeout = 5_000

/** Opens a listener. Throws ListenError when the address is in use or not allowed. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const listener = new HttpsListener(options)
  await listener.open()
  return listener
}

class HttpsListener implements Listener {
  readonly host: string
  readonly #options: ListenOptions
  readonly #server: Server
  /** Watches and other responses without an end of their own. */
  readonly #streams = new Set<AbortController>()
  /** Connections by the address of their client. */
  readonly #addresses = new Map<string, number>()
  readonly #sockets = new Set<Duplex>()
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #orders = new WeakMap<Duplex, RequestOrder>()
  #closing: Promise<void> | undefined

  constructor(options: ListenOptions) {
    this.#options = options
    this.host = options.host ?? '127.0.0.1'
    const { headers, request } = options.arrival ?? { headers: 30_000, request: 60_000 }
    this.#server = createServer({
      ...secureContext(options.tls),
      requestCert: true,
      // A client without a trusted certificate may have a token.
      rejectUnauthorized: false,
      handshakeTimeout: 10_000,
      maxHeaderSize: 1024 * 1024,
      headersTimeout: headers,
      requestTimeout: request,
      keepAliveTimeout: 120_000,
      connectionsCheckingInterval: Math.min(5_000, headers),
      noDelay: true,
      ...(options.http2 === false ? {} : { ALPNProtocols: ['h2', 'http/1.1'] }),
      ...(options.wantsUpgrade === undefined ? {} : { shouldUpgradeCallback: options.wantsUpgrade }),
    })
    this.#server.maxConnections = options.maxConnections ?? maxConnections
    this.#serveByProtocol(request)
    const serve = (request: IncomingMessage, response: Http1Response): void =>
      this.#orderOf(request.socket).add(response, () => void this.#serve(request, response, this.#resolve(request)))
    this.#server.on('request', serve)
    // The reader of the body asks the client to continue.
    this.#server.on('checkContinue', serve)
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      respondToParserError(error, socket, options.clock),
    )
    this.#server.on('connection', (socket: Socket) => {
      const address = socket.remoteAddress ?? ''
      const count = (this.#addresses.get(address) ?? 0) + 1
      if (count > (options.maxConnectionsPerAddress ?? maxConnectionsPerAddress)) return void socket.destroy()
      this.#addresses.set(address, count)
      this.#sockets.add(socket)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        const left = this.#addresses.get(address)! - 1
        if (left > 0) this.#addresses.set(address, left)
        else this.#addresses.delete(address)
      })
    })
    if (options.upgrade !== undefined) this.#server.on('upgrade', options.upgrade)
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  get url(): string {
    const host = wildcards.get(this.host) ?? this.host
    return `https://${host.includes(':') ? `[${host}]` : host}:${this.port}`
  }

  open(): Promise<void> {
    const { host } = this
    const { port = 0 } = this.#options
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException): void => {
        const reason = error.code === 'EADDRINUSE' ? 'another process listens there' : error.message
        reject(
          new ListenError(`Cannot listen on ${host} port ${port}: ${reason}. Stop it, or use another port.`, {
            cause: error,
          }),
        )
      }
      this.#server.once('error', fail)
      this.#server.listen(port, host, () => {
        this.#server.off('error', fail)
        resolve()
      })
    })
  }

  renew(tls: ListenerTls): void {
    this.#server.setSecureContext(secureContext(tls))
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
    for (const stream of this.#streams) stream.abort(new Error('The server is closing.'))
    for (const session of this.#sessions) session.close()
    this.#server.closeIdleConnections()
    // The HTTP server does not close connections that were upgraded, or never finish.
    using _deadline = this.#options.clock.timer(closingTimeout, () => {
      for (const socket of this.#sockets) socket.destroy()
    })
    await closed
  }

  /** Hands connections that negotiated HTTP/2 to a session of their own, before node:https reads from them. */
  #serveByProtocol(requestTimeout: number): void {
    const [serveHttp1] = this.#server.listeners('secureConnection') as [(socket: TLSSocket) => void]
    this.#server.off('secureConnection', serveHttp1)
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') void this.#serveHttp2(socket, requestTimeout)
      else serveHttp1.call(this.#server, socket)
    })
  }

  async #serveHttp2(socket: TLSSocket, requestTimeout: number): Promise<void> {
    // Until the session listens, an error of the socket would end the process.
    const ignore = (): void => undefined
    socket.on('error', ignore)
    const { serveHttp2 } = await import('./http2.ts')
    if (socket.destroyed) return
    const session = serveHttp2(socket, {
      clock: this.#options.clock,
      requestTimeout,
      onRequest: (request, response) => void this.#serve(request, response, this.#resolve(request)),
    })
    this.#sessions.add(session)
    session.on('close', () => this.#sessions.delete(session))
    if (this.#closing !== undefined) session.close()
  }

  #orderOf(socket: Duplex): RequestOrder {
    let order = this.#orders.get(socket)
    if (order === undefined) this.#orders.set(socket, (order = new RequestOrder(socket)))
    return order
  }

  async #serve(request: HttpRequest, response: HttpResponse, head: RequestHead): Promise<void> {
    const disconnected = new AbortController()
    response.on('close', () => {
      this.#streams.delete(disconnected)
      // The response has promised to keep its connection alive, before the listener was closed.
      if (this.#closing !== undefined) setImmediate(() => this.#server.closeIdleConnections())
      if (!response.writableFinished) disconnected.abort(new Error('The client closed the connection.'))
    })
    response.on('error', () => response.destroy())
    const result = await this.#respond(request, response, head, disconnected.signal)
    if (response.destroyed) return
    if (result.body.kind === 'watch' || result.body.kind === 'stream') this.#streams.add(disconnected)
    if (this.#closing !== undefined) {
      // A kept-alive connection would delay closing, and so would a watch that has only just begun.
      response.shouldKeepAlive = false
      for (const stream of this.#streams) stream.abort(new Error('The server is closing.'))
    }
    await writeResponse(result, request, response, this.#options.clock)
  }

  async #respond(
    request: HttpRequest,
    response: HttpResponse,
    head: RequestHead,
    signal: AbortSignal,
  ): Promise<ServerResponse> {
    const limit = limitOf(head)
    let isContinued = !/^100-continue$/i.test(request.headers.expect ?? '')
    const begin = (): void => {
      if (isContinued) return
      isContinued = true
      response.writeContinue()
    }
    // A response whose client has left is closed already, and emits nothing more.
    const onSent = (callback: () => void): void => {
      if (response.closed) callback()
      else response.once('close', callback)
    }
    const body = limit === 'stream' ? undefined : incomingBody(request, limit, begin)
    const stream = limit === 'stream' ? { stream: streamBody(request, begin) } : {}
    const result = await this.#handle({
      ...serverRequest(request, head, undefined, signal),
      ...stream,
      incoming: body,
      onSent,
    })
    if (!request.complete) {
      // The response came before the end of the body. A body that is long, or may never come, ends the connection.
      if (!isContinued || limit === 'stream' || isTooLongToDrop(request)) response.setHeader('connection', 'close')
      dropBody(request)
    }
    return result
  }

  async #handle(request: ServerRequest): Promise<ServerResponse> {
    try {
      return await this.#options.handle(request)
    } catch (error) {
      return statusResponse(
        error instanceof StatusError ? error : internalError(error instanceof Error ? error.message : String(error)),
      )
    }
  }

  #resolve({ method = 'GET', url = '/' }: HttpRequest): RequestHead {
    const { path, query } = splitTarget(url)
    return { path, query, target: this.#options.resolve?.(method, path, query) }
  }
}

function limitOf({ target }: RequestHead): number | 'stream' {
  return target?.bodyLimit ?? maxBodyBytes
}

/** An empty list of authorities trusts no client; without a list Node would trust those of the system. */
function secureContext({ key, cert, clientCa }: ListenerTls): SecureContextOptions {
  return { key, cert, ca: typeof clientCa === 'string' ? clientCa : [...clientCa] }
}

const statusHeaders = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }

/** Returns the response of an error. */
export function statusResponse(error: StatusError): ServerResponse {
  return { status: error.code, headers: statusHeaders, body: { kind: 'json', value: error.status as never } }
}

const responded = new WeakSet<Duplex>()

/** Responds with a Status to a request that Node's parser rejects, which never reaches the handler. */
function respondToParserError(error: NodeJS.ErrnoException, socket: Duplex, clock: Clock): void {
  // The parser reports every chunk that follows, too.
  if (responded.has(socket)) return
  responded.add(socket)
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { status, code } = parserError(error.code)
  const body = Buffer.from(JSON.stringify(status))
  const lines = [
    `HTTP/1.1 ${code} ${reasonPhrases[code] ?? 'Bad Request'}`,
    ...Object.entries(statusHeaders).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    'connection: close',
  ]
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]))
  // The rest of the request must be read, or the response is lost with the connection.
  socket.removeAllListeners('data')
  socket.resume()
  const deadline = clock.timer(closingTimeout, () => socket.destroy())
  socket.on('close', () => deadline[Symbol.dispose]())
}

const reasonPhrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function parserError(code: string | undefined): StatusError {
  switch (code) {
    case 'HPE_INVALID_METHOD':
      return methodNotAllowed()
    case 'HPE_HEADER_OVERFLOW':
      return failure(431, undefined, 'the headers of the request are too large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return failure(408, 'Timeout', 'the request did not arrive in time')
    default:
      return failure(400, 'BadRequest', 'the request is not HTTP/1.1')
  }
}
