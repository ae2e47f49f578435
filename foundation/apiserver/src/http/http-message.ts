// The parts of requests and responses of node:http that the server uses; those of HTTP/2 have them as well (http2.ts).
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** A request whose head has arrived; an IncomingMessage of node:http is one. */
export interface HttpRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly headersDistinct: NodeJS.Dict<string[]>
  readonly socket: Socket
  /** The whole body has arrived. */
  readonly complete: boolean
  readonly destroyed: boolean
  /** HTTP/2: whether a body follows; in HTTP/1.1 the headers say so. */
  readonly hasBody?: boolean
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  resume(): unknown
  iterator(options: { readonly destroyOnReturn: boolean }): AsyncIterable<Buffer>
  /** Ends the request without a response: its connection in HTTP/1.1, its stream in HTTP/2. */
  destroy(): unknown
}

/** A response; a ServerResponse of node:http is one. */
export interface HttpResponse extends Writable {
  /** False: the connection ends after this response. */
  shouldKeepAlive: boolean
  readonly socket?: Socket | null
  readonly chunkedEncoding?: boolean
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  writeContinue(): void
  flushHeaders(): void
  setHeader(name: string, value: string): unknown
  /** Calls back when the client has taken nothing for `ms` milliseconds; 0 ends that. */
  setTimeout(ms: number, callback?: () => void): unknown
}
