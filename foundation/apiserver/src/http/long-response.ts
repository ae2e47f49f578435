// A response of megabytes, plain or compressed, written in slices, so that the client decrypts one while the next is
// encrypted. Chunks that are shared with other responses (a list of objects) are never joined: a buffer of megabytes
// per response makes V8 scan its whole heap.
import { constants, createGzip } from 'node:zlib'
import type { HttpResponse } from './http-message.ts'
import { drainLimit } from './outgoing-stream.ts'

const sliceLength = 256 * 1024
/** Buffers for the next response. */
const spare: Buffer[] = []
const spareLimit = 4

/** Writes the chunks after the head; resolves when the connection has taken them all or is closed. */
export async function writeLongResponse(response: HttpResponse, chunks: readonly Uint8Array[]): Promise<void> {
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  // Node's socket timeout starts with the last byte that the client took.
  response.setTimeout(drainLimit, () => response.destroy())
  response.flushHeaders()
  let taken: Promise<void> | undefined
  for (const slice of slicesOf(chunks)) {
    await taken
    if (response.destroyed) return
    taken = Promise.race([
      closed,
      new Promise<void>((resolve) => {
        response.write(slice.bytes, () => {
          slice.release()
          resolve()
        })
      }),
    ])
  }
  await Promise.race([closed, new Promise<void>((resolve) => response.end(resolve))])
  response.setTimeout(0)
}

/** Compressors at work; each takes a thread of the pool now and then, and 300 kB. */
const compressorLimit = 32
let compressors = 0

/** Returns false when so many responses are being compressed that another one is sent as it is. */
export function canCompress(): boolean {
  return compressors < compressorLimit
}

/**
 * Compresses the chunks while they are written after the head: the client that reads slowly holds a slice, not a copy
 * of the response. Resolves when the connection has taken all or is closed.
 */
export async function writeGzip(response: HttpResponse, chunks: readonly Uint8Array[]): Promise<void> {
  if (response.destroyed) return
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 })
  compressors++
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  response.setTimeout(drainLimit, () => response.destroy())
  gzip.on('error', () => response.destroy())
  gzip.pipe(response)
  try {
    for (const slice of slicesOf(chunks)) {
      const taken = new Promise<void>((resolve) => gzip.write(slice.bytes, () => resolve()))
      await Promise.race([closed, taken])
      if (response.destroyed) return
      slice.release()
    }
    gzip.end()
    await closed
  } finally {
    compressors--
    gzip.destroy()
    response.setTimeout(0)
  }
}

interface Slice {
  readonly bytes: Uint8Array
  /** Called when the connection has sent the bytes. */
  readonly release: () => void
}

function* slicesOf(chunks: readonly Uint8Array[]): Iterable<Slice> {
  if (chunks.length === 1) {
    const [whole] = chunks as [Uint8Array]
    for (let at = 0; at < whole.length; at += sliceLength)
      yield { bytes: whole.subarray(at, at + sliceLength), release: () => undefined }
    return
  }
  let buffer = spare.pop() ?? Buffer.allocUnsafeSlow(sliceLength)
  let used = 0
  const slice = (): Slice => {
    const full = buffer
    return {
      bytes: full.subarray(0, used),
      release: () => {
        if (spare.length < spareLimit) spare.push(full)
      },
    }
  }
  for (const chunk of chunks) {
    for (let from = 0; from < chunk.length;) {
      const copied = Math.min(chunk.length - from, sliceLength - used)
      buffer.set(copied === chunk.length ? chunk : chunk.subarray(from, from + copied), used)
      from += copied
      used += copied
      if (used < sliceLength) continue
      yield slice()
      buffer = spare.pop() ?? Buffer.allocUnsafeSlow(sliceLength)
      used = 0
    }
  }
  yield slice()
}
