// The body of a request, read whole or rejected as too large. Memory is bounded by the limit.
import { badRequest, requestEntityTooLarge } from '@fairlead/kube'
import type { HttpRequest } from './http-message.ts'
import type { IncomingBody } from './message.ts'

/** The largest body in bytes unless a path has a limit of its own: 3 MiB as in the real API server. */
export const maxBodyBytes: number = 3 * 1024 * 1024

/** A body above the limit is read and dropped, up to this many bytes. */
export const droppedLimit: number = 64 * 1024 * 1024

/** Returns true for a request whose Content-Length is above the limit. */
function announcesTooMuch(request: HttpRequest, limit: number): boolean {
  return Number(request.headers['content-length'] ?? 0) > limit
}

/**
 * Yields the bytes of a body as they arrive; `begin` is called before the first is read. Leaving the loop leaves the
 * connection open.
 */
export async function* streamBody(request: HttpRequest, begin: () => void): AsyncGenerator<Uint8Array> {
  begin()
  yield* request.iterator({ destroyOnReturn: false })
}

/**
 * Returns the body of a request, or undefined when there is none. `begin` is called before the first byte is read.
 */
export function incomingBody(request: HttpRequest, limit: number, begin: () => void): IncomingBody | undefined {
  const { headers } = request
  const announced = headers['content-length']
  const hasBody = request.hasBody ?? (announced !== undefined || headers['transfer-encoding'] !== undefined)
  if (!hasBody) return undefined
  return {
    maxBytes: Math.min(limit, Number(announced ?? limit)),
    async read() {
      const body = await readBody(request, limit, begin).catch(() => {
        throw badRequest('the client closed the connection before its body was read')
      })
      if (body === 'too-large') throw requestEntityTooLarge(`limit is ${limit}`)
      return body
    },
  }
}

/**
 * Drops the rest of a body, of which the handler read nothing or a part, so that a client that goes on sending can read
 * the response. Ends the request of a client that sends more than {@link droppedLimit}.
 */
export function dropBody(request: HttpRequest): void {
  let length = 0
  request.on('error', () => undefined)
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > droppedLimit) request.destroy()
  })
  request.resume()
}

/** Returns true for a body that is not worth reading to its end: the connection cannot be used again. */
export function isTooLongToDrop(request: HttpRequest): boolean {
  return announcesTooMuch(request, droppedLimit)
}

/**
 * Reads a body: undefined when it is empty, `'too-large'` when it is above the limit. Such a body is still read, and
 * dropped, because a client that goes on sending may miss the response; up to {@link droppedLimit}, and not from a
 * client that waits for `100 Continue`. Rejects when the client disconnects.
 */
function readBody(
  request: HttpRequest,
  limit: number,
  begin: () => void,
): Promise<Uint8Array | undefined | 'too-large'> {
  const { headers } = request
  if (
    announcesTooMuch(request, limit) &&
    (headers.expect !== undefined || Number(headers['content-length']) > droppedLimit)
  ) {
    return Promise.resolve('too-large')
  }
  if (request.destroyed && !request.complete) return Promise.reject(new Error('The client closed the connection.'))
  begin()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= limit) chunks.push(chunk)
      else chunks.length = 0
      if (length > droppedLimit) resolve('too-large')
    })
    request.on('end', () => {
      if (length > limit) resolve('too-large')
      else resolve(chunks.length === 1 ? chunks[0] : length === 0 ? undefined : Buffer.concat(chunks, length))
    })
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new Error('The client closed the connection.'))
    })
  })
}
