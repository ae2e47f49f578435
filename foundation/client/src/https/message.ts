// Whole bodies of responses, and requests that end with a signal: with a few listeners, where the iterator of a stream
// and the `signal` option of requests make dozens for each request.
import type { ClientRequest, IncomingMessage } from 'node:http'

/**
 * Reads a response to its end. Throws the error of its stream, and what `onBytes` throws, which is called with the size
 * of each part and destroys the response by that.
 */
export function readAll(response: IncomingMessage, onBytes?: (count: number) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => {
      try {
        onBytes?.(chunk.length)
        chunks.push(chunk)
      } catch (error) {
        reject(error as Error)
        response.destroy()
      }
    })
    response.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    response.on('error', reject)
    response.on('close', () => {
      if (!response.readableEnded) reject(new Error('the connection was closed before the end of the response'))
    })
  })
}

/** Destroys a request and its response with the reason of a signal that aborts before they end. */
export function destroyOnAbort(request: ClientRequest, signal: AbortSignal): void {
  const abort = (): void => void request.destroy(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  request.once('close', () => signal.removeEventListener('abort', abort))
}
