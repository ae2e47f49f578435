// The body of a request, read whole or rejected as too large. Memory is bounded by the limit.
import type { IncomingMessage } from 'node:http'

/** The largest body in bytes unless a path has a limit of its own: 3 MiB as in the real API server. */
export const maxBodyBytes: number = 3 * 1024 * 1024

/** A body above the limit is read and dropped, up to this many bytes. */
export const droppedLimit: number = 64 * 1024 * 1024

/** Returns true for a request whose Content-Length is above the limit. */
export function announcesTooMuch(request: IncomingMessage, limit: number): boolean {
  return Number(request.headers['content-length'] ?? 0) > limit
}

/**
 * Yields the bytes of a body as they arrive; `begin` is called before the first is read. Leaving the loop leaves the
 * connection open.
 */
export async function* streamBody(request: IncomingMessage, begin: () => void): AsyncGenerator<Uint8Array> {
  begin()
  yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
}

/**
 * Reads a body: undefined when there is none, `'too-large'` when it is above the limit. Such a body is still read, and
 * dropped, because a client that goes on sending may miss the response; up to {@link droppedLimit}, and not from a
 * client that waits for `100 Continue`. Rejects when the client disconnects.
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Uint8Array | undefined | 'too-large'> {
  const { headers } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    return Promise.resolve(undefined)
  if (
    announcesTooMuch(request, limit) &&
    (headers.expect !== undefined || Number(headers['content-length']) > droppedLimit)
  ) {
    return Promise.resolve('too-large')
  }
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
