// HTTP/2 on the port of HTTP/1.1: one connection of a client carries all of its requests and watches. Loaded with the
// first connection that negotiates it. Limits: RFC 9113; the number of streams is that of kube-apiserver.
import { constants, performServerHandshake } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { OutgoingHttpHeaders } from 'node:http'
import { Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '@fairlead/kube'
import type { HttpRequest, HttpResponse } from './http-message.ts'

/** Options of {@link serveHttp2}. */
export interface Http2Options {
  readonly clock: Clock
  /** The time in which a whole request must arrive. Milliseconds. */
  readonly requestTimeout: number
  readonly onRequest: (request: HttpRequest, response: HttpResponse) => void
}

/** Streams of one connection at a time; a client that wants more opens another connection. */
const maxStreams = 250
/** Bytes of headers of a request, and their number. */
const maxHeaderBytes = 1024 * 1024
const maxHeaderPairs = 2000
/** Bytes of bodies that a client may send before the server reads them: of one stream, and of all of a connection. */
const streamWindow = 256 * 1024
const connectionWindow = 1024 * 1024
/** Megabytes that one connection may take; streams beyond are refused. */
const sessionMemory = 64
/**
 * Streams that a client may reset at once, and for each second after that: more end the connection ("rapid reset",
 * CVE-2023-44487). A reset stream aborts its request, which counts as one in flight until its work has ended.
 */
const resets = { burst: 1000, rate: 33 }
/** A connection without streams is closed after this time. Milliseconds. */
const idleTimeout = 120_000

/** Serves the requests of a connection until it ends. */
export function serveHttp2(socket: TLSSocket, options: Http2Options): ServerHttp2Session {
  const session = performServerHandshake(socket, {
    settings: { maxConcurrentStreams: maxStreams, initialWindowSize: streamWindow, maxHeaderListSize: maxHeaderBytes },
    maxHeaderListPairs: maxHeaderPairs,
    maxSessionMemory: sessionMemory,
    streamResetBurst: resets.burst,
    streamResetRate: resets.rate,
  })
  let streams = 0
  // Errors of a connection are those of its streams, which close with it.
  session.on('error', () => session.destroy())
  session.on('connect', () => session.setLocalWindowSize(connectionWindow))
  session.setTimeout(idleTimeout, () => {
    if (streams === 0) session.close()
  })
  session.on('stream', (stream, headers, flags, rawHeaders) => {
    streams++
    stream.on('close', () => streams--)
    const hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0
    const request = new Http2Request(stream, headers, rawHeaders, hasBody, socket)
    const response = new Http2Response(stream)
    if (hasBody) {
      const deadline = options.clock.timer(options.requestTimeout, () => request.destroy())
      stream.on('end', () => deadline[Symbol.dispose]())
      stream.on('close', () => deadline[Symbol.dispose]())
    }
    options.onRequest(request, response)
  })
  return session
}

/** A stream as a request. */
class Http2Request implements HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: HttpRequest['headers']
  readonly hasBody: boolean
  readonly socket: TLSSocket
  readonly #stream: ServerHttp2Stream
  readonly #rawHeaders: readonly string[]

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    hasBody: boolean,
    socket: TLSSocket,
  ) {
    this.#stream = stream
    this.#rawHeaders = rawHeaders
    this.method = headers[':method'] ?? 'GET'
    this.url = headers[':path'] ?? '/'
    this.headers = plainHeaders(headers)
    this.hasBody = hasBody
    this.socket = socket
  }

  get headersDistinct(): NodeJS.Dict<string[]> {
    const lists: NodeJS.Dict<string[]> = {}
    for (let at = 0; at < this.#rawHeaders.length; at += 2) {
      const name = this.#rawHeaders[at]!
      if (!name.startsWith(':')) (lists[name] ??= []).push(this.#rawHeaders[at + 1]!)
    }
    return lists
  }

  get complete(): boolean {
    return !this.hasBody || this.#stream.readableEnded
  }

  get destroyed(): boolean {
    return this.#stream.destroyed
  }

  on(event: string, listener: (...args: never[]) => void): this {
    this.#stream.on(event, listener as () => void)
    return this
  }

  resume(): this {
    this.#stream.resume()
    return this
  }

  iterator(options: { readonly destroyOnReturn: boolean }): AsyncIterable<Buffer> {
    return this.#stream.iterator(options) as AsyncIterable<Buffer>
  }

  destroy(): this {
    this.#stream.destroy(new Error('The request was ended.'))
    return this
  }
}

/** Returns the headers as node:http has them: without pseudo-headers, and with a host. */
function plainHeaders(headers: IncomingHttpHeaders): HttpRequest['headers'] {
  const plain: HttpRequest['headers'] = {}
  for (const name in headers) if (!name.startsWith(':')) plain[name] = headers[name]
  plain.host ??= headers[':authority']
  return plain
}

/** Headers that HTTP/2 does not have. */
const connectionHeaders: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])

/** A stream as a response. A client that resets the stream closes the response. */
class Http2Response extends Writable implements HttpResponse {
  shouldKeepAlive: boolean = true
  readonly #stream: ServerHttp2Stream

  constructor(stream: ServerHttp2Stream) {
    super({ highWaterMark: 64 * 1024 })
    this.#stream = stream
    stream.on('close', () => this.destroy())
    // The close that follows says it all.
    stream.on('error', () => undefined)
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): void {
    const sent: OutgoingHttpHeaders = { ':status': status }
    for (const [name, value] of Object.entries(headers)) if (!connectionHeaders.has(name)) sent[name] = value
    this.#stream.respond(sent)
  }

  writeContinue(): void {
    if (!this.#stream.destroyed) this.#stream.additionalHeaders({ ':status': 100 })
  }

  /** The head is sent as soon as it is written. */
  flushHeaders(): void {}

  /** Only `connection` is set alone, which HTTP/2 does not have. */
  setHeader(): void {}

  setTimeout(ms: number, callback?: () => void): void {
    this.#stream.setTimeout(ms, callback)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (this.#stream.writableEnded) callback()
    else this.#stream.write(chunk, callback)
  }

  override _writev(chunks: { readonly chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'binary', callback)
  }

  override _final(callback: (error?: Error | null) => void): void {
    // Responses without a body, such as those to HEAD, have ended with their head.
    if (this.#stream.writableEnded || this.#stream.destroyed) callback()
    else this.#stream.end(callback)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // A response that breaks off must not look like a whole one: closing the stream would end it first.
    if (!this.writableFinished && !this.#stream.closed) this.#stream.destroy(new Error('The response broke off.'))
    callback(error)
  }
}
