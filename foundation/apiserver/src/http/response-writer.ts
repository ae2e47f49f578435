// Writes the handler's answers to sockets: whole bodies, watches and other streams. No client can make the server hold
// more than a bounded amount for it, nor for ever.
import type { IncomingMessage, ServerResponse as HttpResponse } from 'node:http'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { stringifyJson } from '@fairlead/kube'
import type { Clock } from '@fairlead/kube'
import type { ServerBody, ServerResponse } from './message.ts'
import { writeLong } from './long-answer.ts'
import { OutgoingStream } from './outgoing-stream.ts'

const compress = promisify(gzip)

/** Bodies above this are compressed for clients that accept it, as the real API server does. */
const gzipAbove = 128 * 1024
/** JSON texts up to this are written as they are: neither compressed nor watched, whatever their characters. */
const textLimit = 16 * 1024
/** Answers up to this are not watched on their way. */
const unwatched = 64 * 1024
/** Documents end with a line end, as Go's encoder writes them: `kubectl get --raw` shows it. */
const lineEnd = Buffer.from('\n')
/**
 * Writes one answer. Resolves when everything has been handed to the connection or the connection is gone; never
 * rejects.
 */
export async function writeResponse(
  answer: ServerResponse,
  request: IncomingMessage,
  response: HttpResponse,
  clock: Clock,
): Promise<void> {
  const { body } = answer
  try {
    if (body.kind === 'json' && body.bytes === undefined) {
      const text = `${stringifyJson(body.value)}\n`
      // Head and body go out as one text; node:http would hand a buffer on beside its head. A warning may need another
      // encoding than the body.
      if (text.length <= textLimit && !has(answer.headers, 'warning')) writeText(answer, text, response)
      else await writeWhole(answer, [Buffer.from(text)], request, response)
    } else if (body.kind === 'json' || body.kind === 'bytes')
      await writeWhole(answer, piecesOf(body), request, response)
    else await writeStream(answer, body, response, clock)
  } catch {
    // The answer has begun and cannot be finished: only a broken connection tells the client so.
    response.destroy()
  }
}

function writeText({ status, headers }: ServerResponse, text: string, response: HttpResponse): void {
  response.writeHead(status, { ...mutable(headers), 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

function piecesOf(body: Extract<ServerBody, { kind: 'json' | 'bytes' }>): readonly Uint8Array[] {
  if (body.kind === 'bytes') return body.pieces ?? [body.bytes]
  return [body.bytes ?? Buffer.from(stringifyJson(body.value)), lineEnd]
}

async function writeWhole(
  { status, headers }: ServerResponse,
  pieces: readonly Uint8Array[],
  request: IncomingMessage,
  response: HttpResponse,
): Promise<void> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const compressible = length > gzipAbove && !has(headers, 'content-encoding')
  if (compressible && acceptsGzip(request)) {
    const packed = await compress(joined(pieces), { level: constants.Z_BEST_SPEED })
    response.writeHead(status, {
      ...mutable(headers),
      'content-encoding': 'gzip',
      vary: varyOf(headers),
      'content-length': packed.length,
    })
    return finish(response, [packed], packed.length)
  }
  response.writeHead(status, { ...mutable(headers), 'content-length': length })
  return finish(response, pieces, length)
}

function finish(response: HttpResponse, pieces: readonly Uint8Array[], length: number): Promise<void> | void {
  // Little enough for the buffers of the connection, which Node reads no further request from until they are empty.
  if (length <= unwatched) return void response.end(joined(pieces))
  return writeLong(response, pieces)
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

async function writeStream(
  { status, headers }: ServerResponse,
  body: Extract<ServerBody, { kind: 'watch' | 'stream' }>,
  response: HttpResponse,
  clock: Clock,
): Promise<void> {
  response.writeHead(status, mutable(headers))
  // The client learns at once that its watch is open.
  response.flushHeaders()
  const out = new OutgoingStream(response, clock)
  if (body.kind === 'stream') {
    for await (const chunk of body.chunks) {
      if (out.isGone) return
      out.push(chunk)
      const room = out.room
      if (room !== undefined) await room
    }
  } else {
    for await (const events of body.events) {
      if (out.isGone) return
      for (const event of events) out.push(body.encode(event))
      if (!events.at(-1)?.initial) continue
      const room = out.room
      if (room !== undefined) await room
    }
  }
  out.end()
}

function acceptsGzip(request: IncomingMessage): boolean {
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
