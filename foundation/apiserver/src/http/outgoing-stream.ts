// One watch, or another answer without an end, on its way to a client: small pieces go out together, nobody makes the
// server hold more than a bounded amount, nor for ever.
import type { ServerResponse as HttpResponse } from 'node:http'
import type { Clock } from '@fairlead/kube'

/** A client that has this much left to read, of what cannot wait for it, is closed. Bytes. */
const unsentLimit = 8 * 1024 * 1024
/** What can wait is not sent while this much is left to read. Bytes. */
const patientLimit = 256 * 1024
/** Pieces of one turn of the event loop go out together, up to this. Bytes. */
const batchLimit = 64 * 1024
/**
 * A client that reads nothing of what waits for it for so long is closed. Milliseconds; answers of one piece keep to it
 * as well.
 */
export const drainLimit = 60_000

/** Writes pieces to a connection. It closes the connection of a client that does not keep up. */
export class OutgoingStream {
  readonly #response: HttpResponse
  readonly #clock: Clock
  #batch: Uint8Array[] = []
  #batched = 0
  #stalled: Disposable | undefined
  #resume: (() => void) | undefined

  /** `response` has sent its head. */
  constructor(response: HttpResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
    const drained = (): void => this.#drained()
    const { socket } = response
    socket?.on('drain', drained)
    response.on('drain', drained)
    response.on('close', () => {
      socket?.off('drain', drained)
      drained()
    })
  }

  /** Nobody reads any more. */
  get isGone(): boolean {
    return this.#response.destroyed
  }

  /** Sends a piece now, whether the client keeps up or not. */
  push(piece: Uint8Array): void {
    // Runs once everything that is ready now has been pushed.
    if (this.#batched === 0) process.nextTick(() => this.#flush())
    this.#batch.push(piece)
    this.#batched += piece.length
    if (this.#batched >= batchLimit) this.#flush()
  }

  /**
   * What resolves when the client has read what was pushed, if that has to be waited for before more of what can wait
   * is made.
   */
  get room(): Promise<void> | undefined {
    if (this.#response.writableLength < patientLimit || this.isGone) return undefined
    return new Promise((resolve) => (this.#resume = resolve))
  }

  /** Ends the answer. */
  end(): void {
    this.#flush()
    this.#response.end()
  }

  #flush(): void {
    if (this.#batched === 0) return
    const pieces = this.#batch
    const length = this.#batched
    this.#batch = []
    this.#batched = 0
    if (this.isGone || this.#write(pieces, length)) return
    if (this.#response.writableLength > unsentLimit) return void this.#response.destroy()
    this.#stalled ??= this.#clock.timer(drainLimit, () => this.#response.destroy())
  }

  /** False when the connection has more to send than it should hold. */
  #write(pieces: readonly Uint8Array[], length: number): boolean {
    const { socket, chunkedEncoding } = this.#response
    // A response that waits for the one before it on its connection, or a client that knows no chunks.
    if (socket === null || !chunkedEncoding) return this.#response.write(Buffer.concat(pieces, length))
    // node:http would frame each copy anew, and hand it on in three parts.
    return socket.write(chunkOf(pieces, length))
  }

  #drained(): void {
    this.#stalled?.[Symbol.dispose]()
    this.#stalled = undefined
    this.#resume?.()
    this.#resume = undefined
  }
}

const lineEnd = Buffer.from('\r\n')
let lastPieces: readonly Uint8Array[] = []
let lastChunk: Uint8Array = new Uint8Array()

/**
 * The pieces as one chunk of HTTP. Watches of one resource send the same pieces one after the other: they are joined
 * once for all of them.
 */
function chunkOf(pieces: readonly Uint8Array[], length: number): Uint8Array {
  if (pieces.length !== lastPieces.length || pieces.some((piece, index) => piece !== lastPieces[index])) {
    const size = Buffer.from(`${length.toString(16)}\r\n`)
    lastChunk = Buffer.concat([size, ...pieces, lineEnd], size.length + length + lineEnd.length)
    lastPieces = pieces
  }
  return lastChunk
}
