// An answer of megabytes on its way to a client: in slices, so that the client decrypts one while the next is
// encrypted. What consists of pieces that are shared with others (a list of objects) is never joined: a buffer of
// megabytes for each answer makes V8 look through its whole heap.
import type { ServerResponse as HttpResponse } from 'node:http'
import { drainLimit } from './outgoing-stream.ts'

const sliceLength = 256 * 1024
/** Buffers that wait for the next answer. */
const spare: Buffer[] = []
const spareLimit = 4

/** Writes the pieces after the head; resolves when the connection has taken them all or is gone. */
export async function writeLong(response: HttpResponse, pieces: readonly Uint8Array[]): Promise<void> {
  const gone = new Promise<void>((resolve) => response.once('close', resolve))
  // Node's socket timeout counts from the last byte that the client took.
  response.setTimeout(drainLimit, () => response.destroy())
  response.flushHeaders()
  let taken: Promise<void> | undefined
  for (const slice of slicesOf(pieces)) {
    await taken
    if (response.destroyed) return
    taken = Promise.race([
      gone,
      new Promise<void>((resolve) => {
        response.write(slice.bytes, () => {
          slice.release()
          resolve()
        })
      }),
    ])
  }
  await Promise.race([gone, new Promise<void>((resolve) => response.end(resolve))])
  response.setTimeout(0)
}

interface Slice {
  readonly bytes: Uint8Array
  /** The connection does not need them any more. */
  readonly release: () => void
}

function* slicesOf(pieces: readonly Uint8Array[]): Iterable<Slice> {
  if (pieces.length === 1) {
    const [whole] = pieces as [Uint8Array]
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
  for (const piece of pieces) {
    for (let from = 0; from < piece.length;) {
      const copied = Math.min(piece.length - from, sliceLength - used)
      buffer.set(copied === piece.length ? piece : piece.subarray(from, from + copied), used)
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
