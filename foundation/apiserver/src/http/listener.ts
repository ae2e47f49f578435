// The HTTPS door: sockets in, ServerRequests to the handler, its answers out. Start with `listen`.
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { IncomingMessage, ServerResponse as HttpResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions } from 'node:tls'
import { failure, internalError, methodNotAllowed, requestEntityTooLarge } from '@fairlead/kube'
import type { Clock, StatusError } from '@fairlead/kube'
import type { RequestTarget, ServerRequest, ServerResponse } from './message.ts'
import { announcesTooMuch, maxBodyBytes, readBody, streamBody } from './request-body.ts'
import { writeResponse } from './response-writer.ts'
import { serverRequest, splitTarget } from './server-request.ts'
import type { RequestHead } from './server-request.ts'

/** PEM texts of the server's side of TLS. */
export interface ListenerTls {
  readonly key: string
  readonly cert: string
  /** Sign the client certificates that count, PEM; none with an empty list. */
  readonly clientCa: string | readonly string[]
}

/** How to listen. */
export interface ListenOptions {
  readonly tls: ListenerTls
  /** Answers every request. What it throws becomes a 500. */
  readonly handle: (request: ServerRequest) => Promise<ServerResponse>
  readonly clock: Clock
  /** Default: loopback only. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number
  /** Milliseconds that headers, and a whole request, may take to arrive. Default 30 s and 60 s. */
  readonly arrival?: { readonly headers: number; readonly request: number }
  /** Resolves a request before its body is read and its user authenticated; without it every body may have 3 MiB. */
  readonly resolve?: (method: string, path: string, query: URLSearchParams) => RequestTarget
  /** Takes over connections that ask for another protocol; without it they are answered as ordinary requests. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Whether `upgrade` is asked about a request at all; without it about every one that wants to upgrade. */
  readonly wantsUpgrade?: (request: IncomingMessage) => boolean
}

/** An open door. Disposing it ends watches, lets running requests finish for a few seconds, and closes. */
export interface Listener extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** `https://127.0.0.1:6443` */
  readonly url: string
  /** From the next connection on; those that stand go on with what they began with. */
  renew(tls: ListenerTls): void
}

/** The port cannot be had. */
export class ListenError extends Error {
  readonly code = 'ListenFailed'
}

/** How long running requests may go on after the door is closed. */
const closingTime = 5_000

/** Opens the door. Throws ListenError when the address is taken or not allowed. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const door = new Door(options)
  await door.open()
  return door
}

class Door implements Listener {
  readonly host: string
  readonly #options: ListenOptions
  readonly #server: Server
  /** Watches and other answers that end only when someone ends them. */
  readonly #streams = new Set<AbortController>()
  readonly #sockets = new Set<Duplex>()
  #closing: Promise<void> | undefined

  constructor(options: ListenOptions) {
    this.#options = options
    this.host = options.host ?? '127.0.0.1'
    const { headers, request } = options.arrival ?? { headers: 30_000, request: 60_000 }
    this.#server = createServer({
      ...secureContext(options.tls),
      requestCert: true,
      // Whose certificate is not ours may still have a token.
      rejectUnauthorized: false,
      handshakeTimeout: 30_000,
      maxHeaderSize: 1024 * 1024,
      headersTimeout: headers,
      requestTimeout: request,
      keepAliveTimeout: 120_000,
      connectionsCheckingInterval: Math.min(5_000, headers),
      noDelay: true,
      ...(options.wantsUpgrade === undefined ? {} : { shouldUpgradeCallback: options.wantsUpgrade }),
    })
    this.#server.on('request', (request, response) => void this.#serve(request, response, this.#resolve(request)))
    this.#server.on('checkContinue', (request, response) => {
      const head = this.#resolve(request)
      const limit = limitOf(head)
      // The reader of an unbuffered body asks the client to continue.
      if (limit !== 'stream' && !announcesTooMuch(request, limit)) response.writeContinue()
      void this.#serve(request, response, head)
    })
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseRaw(error, socket, options.clock))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    if (options.upgrade !== undefined) this.#server.on('upgrade', options.upgrade)
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  get url(): string {
    return `https://${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}`
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
    this.#server.closeIdleConnections()
    // Connections that were upgraded, or never finish, are not the HTTP server's to close.
    using _deadline = this.#options.clock.timer(closingTime, () => {
      for (const socket of this.#sockets) socket.destroy()
    })
    await closed
  }

  async #serve(request: IncomingMessage, response: HttpResponse, head: RequestHead): Promise<void> {
    const leaving = new AbortController()
    response.on('close', () => {
      this.#streams.delete(leaving)
      // Its connection was promised to be kept, before anybody knew of the end.
      if (this.#closing !== undefined) setImmediate(() => this.#server.closeIdleConnections())
      if (!response.writableFinished) leaving.abort(new Error('The client closed the connection.'))
    })
    response.on('error', () => response.destroy())
    const answer = await this.#answer(request, response, head, leaving.signal)
    if (answer === undefined || response.destroyed) return
    if (answer.body.kind === 'watch' || answer.body.kind === 'stream') this.#streams.add(leaving)
    if (this.#closing !== undefined) {
      // A connection that is kept alive would hold up the closing, and so would a watch that has only just begun.
      response.shouldKeepAlive = false
      for (const stream of this.#streams) stream.abort(new Error('The server is closing.'))
    }
    await writeResponse(answer, request, response, this.#options.clock)
  }

  async #answer(
    request: IncomingMessage,
    response: HttpResponse,
    head: RequestHead,
    signal: AbortSignal,
  ): Promise<ServerResponse | undefined> {
    const limit = limitOf(head)
    if (limit === 'stream') return this.#answerStream(request, response, head, signal)
    let body: Awaited<ReturnType<typeof readBody>>
    try {
      body = await readBody(request, limit)
    } catch {
      return undefined
    }
    if (body === 'too-large') {
      if (!request.complete) response.setHeader('connection', 'close')
      return statusAnswer(requestEntityTooLarge(`limit is ${limit}`))
    }
    return this.#handle(serverRequest(request, head, body, signal))
  }

  async #answerStream(
    request: IncomingMessage,
    response: HttpResponse,
    head: RequestHead,
    signal: AbortSignal,
  ): Promise<ServerResponse> {
    const stream = streamBody(request, () => {
      if (/^100-continue$/i.test(request.headers.expect ?? '')) response.writeContinue()
    })
    const answer = await this.#handle({ ...serverRequest(request, head, undefined, signal), stream })
    if (!request.complete) {
      // Refused before its end: the rest is dropped, and nothing else can follow on this connection.
      response.setHeader('connection', 'close')
      request.on('error', () => undefined)
      request.resume()
    }
    return answer
  }

  async #handle(request: ServerRequest): Promise<ServerResponse> {
    try {
      return await this.#options.handle(request)
    } catch (error) {
      return statusAnswer(internalError(error instanceof Error ? error.message : String(error)))
    }
  }

  #resolve({ method = 'GET', url = '/' }: IncomingMessage): RequestHead {
    const { path, query } = splitTarget(url)
    return { path, query, target: this.#options.resolve?.(method, path, query) }
  }
}

function limitOf({ target }: RequestHead): number | 'stream' {
  return target?.bodyLimit ?? maxBodyBytes
}

/** An empty list of authorities trusts nobody; none at all would trust those of the system. */
function secureContext({ key, cert, clientCa }: ListenerTls): SecureContextOptions {
  return { key, cert, ca: typeof clientCa === 'string' ? clientCa : [...clientCa] }
}

const statusHeaders = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }

/** The answer that an error is. */
export function statusAnswer(error: StatusError): ServerResponse {
  return { status: error.code, headers: statusHeaders, body: { kind: 'json', value: error.status as never } }
}

const refused = new WeakSet<Duplex>()

/** What Node's parser refuses never becomes a request; the client gets its Status all the same. */
function refuseRaw(error: NodeJS.ErrnoException, socket: Duplex, clock: Clock): void {
  // The parser complains of every piece that follows, too.
  if (refused.has(socket)) return
  refused.add(socket)
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { status, code } = parserRefusal(error.code)
  const body = Buffer.from(JSON.stringify(status))
  const lines = [
    `HTTP/1.1 ${code} ${reasonPhrases[code] ?? 'Bad Request'}`,
    ...Object.entries(statusHeaders).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    'connection: close',
  ]
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]))
  // What is still on its way has to be read, or the answer is lost with the connection.
  socket.removeAllListeners('data')
  socket.resume()
  const deadline = clock.timer(closingTime, () => socket.destroy())
  socket.on('close', () => deadline[Symbol.dispose]())
}

const reasonPhrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function parserRefusal(code: string | undefined): StatusError {
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
