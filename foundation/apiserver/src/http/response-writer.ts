// Writes the handler's responses to sockets: whole bodies, watches and other streams. A client makes the server hold a
// bounded amount for a bounded time.
import { stringifyJson } from '@fairlead/kube'
import type { Clock } from '@fairlead/kube'
import type { HttpRequest, HttpResponse } from './http-message.ts'
import type { ServerBody, ServerResponse } from './message.ts'
import { canCompress, writeGzip, writeLongResponse } from './long-response.ts'
import { OutgoingStream } from './outgoing-stream.ts'

/** Bodies above this are compressed for clients that accept it, as the real API server does. */
const gzipAbove = 128 * 1024
/** JSON up to this many characters is written as it is: neither compressed nor timed. */
const plainLimit = 16 * 1024
/** Responses up to this many bytes are written without a timeout. */
const untimedLimit = 64 * 1024
/** Documents end with a newline, as Go's encoder writes them: `kubectl get --raw` shows it. */
const lineEnd = Buffer.from('\n')
/**
 * Writes one response. Resolves when everything has been passed to the connection or the connection is closed; never
 * rejects.
 */
export async function writeResponse(
  message: ServerResponse,
  request: HttpRequest,
  response: HttpResponse,
  clock: Clock,
): Promise<void> {
  const { body } = message
  try {
    if (body.kind === 'json' && body.bytes === undefined) {
      const text = `${stringifyJson(body.value)}\n`
      // Head and body are written as one string; node:http would write a buffer separately from its head. A warning may
      // need another encoding than the body.
      if (text.length <= plainLimit && !has(message.headers, 'warning')) writePlain(message, text, response)
      else await writeWhole(message, [Buffer.from(text)], request, response)
    } else if (body.kind === 'json' || body.kind === 'bytes')
      await writeWhole(message, chunksOf(body), request, response)
    else await writeStream(message, body, response, clock)
  } catch {
    // The response has begun and cannot be finished: only a broken connection makes the client notice.
    response.destroy()
  }
}

function writePlain({ status, headers }: ServerResponse, text: string, response: HttpResponse): void {
  response.writeHead(status, { ...mutable(headers), 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

function chunksOf(body: Extract<ServerBody, { kind: 'json' | 'bytes' }>): readonly Uint8Array[] {
  if (body.kind === 'bytes') return body.chunks ?? [body.bytes]
  return [body.bytes ?? Buffer.from(stringifyJson(body.value)), lineEnd]
}

async function writeWhole(
  { status, headers }: ServerResponse,
  chunks: readonly Uint8Array[],
  request: HttpRequest,
  response: HttpResponse,
): Promise<void> {
  const length = chunks.reduce((sum, piece) => sum + piece.length, 0)
  const compressible = length > gzipAbove && !has(headers, 'content-encoding')
  if (compressible && acceptsGzip(request) && canCompress()) {
    response.writeHead(status, { ...mutable(headers), 'content-encoding': 'gzip', vary: varyOf(headers) })
    return writeGzip(response, chunks)
  }
  response.writeHead(status, { ...mutable(headers), 'content-length': length })
  return finish(response, chunks, length)
}

function finish(response: HttpResponse, chunks: readonly Uint8Array[], length: number): Promise<void> | void {
  // Small enough for the buffers of the connection; Node reads no further request until they are empty.
  if (length <= untimedLimit) return void response.end(joined(chunks))
  return writeLongResponse(response, chunks)
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

async function writeStream(
  { status, headers }: ServerResponse,
  body: Extract<ServerBody, { kind: 'watch' | 'stream' }>,
  response: HttpResponse,
  clock: Clock,
): Promise<void> {
  response.writeHead(status, mutable(headers))
  // Flush the head, so that the client sees at once that its watch is open.
  response.flushHeaders()
  const out = new OutgoingStream(response, clock)
  if (body.kind === 'stream') {
    for await (const chunk of body.chunks) {
      if (out.isClosed) return
      out.push(chunk)
      const room = out.room
      if (room !== undefined) await room
    }
  } else {
    for await (const events of body.events) {
      if (out.isClosed) return
      for (const event of events) out.push(body.encode(event))
      if (!events.at(-1)?.initial) continue
      const room = out.room
      if (room !== undefined) await room
    }
  }
  out.end()
}

function acceptsGzip(request: HttpRequest): boolean {
  const accepted = request.headers['accept-encoding']
  if (accepted === undefined) return false
  return String(accepted)
    .split(',')
    .some((clause) => /^gzip(\s*;\s*q\s*=\s*(1(\.0*)?|0\.\d*[1-9]\d*))?$/i.test(clause.trim()))
}

function varyOf(headers: ServerResponse['headers']): string {
  const existing = headers.vary
  return existing === undefined
    ? 'Accept-Encoding'
    : `${typeof existing === 'string' ? existing : existing.join(', ')}, Accept-Encoding`
}

function has(headers: ServerResponse['headers'], name: string): boolean {
  return headers[name] !== undefined
}

/** Node writes a list as one header per value. */
function mutable(headers: ServerResponse['headers']): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) out[name] = typeof value === 'string' ? value : [...value]
  return out
}
