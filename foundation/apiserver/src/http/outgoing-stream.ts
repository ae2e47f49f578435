// One watch, or another response without an end: small chunks are sent together, and a slow client makes the server
// hold a bounded amount for a bounded time.
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { Clock } from '@fairlead/kube'

/** A client with this many unsent bytes of changes, which do not wait for it, is closed. */
const unsentLimit = 8 * 1024 * 1024
/** Initial state is not sent while this many bytes are unsent. */
const initialStateLimit = 256 * 1024
/** Chunks of one iteration of the event loop are sent together, up to this many bytes. */
const batchLimit = 64 * 1024
/** A client that reads nothing for this long is closed. Milliseconds; responses of one chunk use it as well. */
export const drainLimit = 60_000

/** A response of node:http, or the socket of a connection that was upgraded. */
type Sink = Writable & { readonly socket?: Socket | null; readonly chunkedEncoding?: boolean }

/** Writes chunks to a connection, and closes the connection of a client that does not keep up. */
export class OutgoingStream {
  readonly #response: Sink
  readonly #clock: Clock
  #batch: Uint8Array[] = []
  #batched = 0
  #stalled: Disposable | undefined
  #resume: (() => void) | undefined

  /** `response` has sent its head, if it has one. */
  constructor(response: Sink, clock: Clock) {
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

  /** The client has disconnected. */
  get isClosed(): boolean {
    return this.#response.destroyed
  }

  /** Sends a chunk, whether the client keeps up or not. */
  push(chunk: Uint8Array): void {
    // Runs after everything that is ready now has been pushed.
    if (this.#batched === 0) process.nextTick(() => this.#flush())
    this.#batch.push(chunk)
    this.#batched += chunk.length
    if (this.#batched >= batchLimit) this.#flush()
  }

  /** Resolves when the client has read what was pushed; undefined when more can be pushed at once. */
  get room(): Promise<void> | undefined {
    if (this.#response.writableLength < initialStateLimit || this.isClosed) return undefined
    return new Promise((resolve) => (this.#resume = resolve))
  }

  /** Ends the response. */
  end(): void {
    this.#flush()
    this.#response.end()
  }

  #flush(): void {
    if (this.#batched === 0) return
    const chunks = this.#batch
    const length = this.#batched
    this.#batch = []
    this.#batched = 0
    if (this.isClosed || this.#write(chunks, length)) return
    if (this.#response.writableLength > unsentLimit) return void this.#response.destroy()
    this.#stalled ??= this.#clock.timer(drainLimit, () => this.#response.destroy())
  }

  /** Returns false when the connection has more unsent bytes than it should. */
  #write(chunks: readonly Uint8Array[], length: number): boolean {
    const { socket, chunkedEncoding } = this.#response
    // A response that is queued behind another on its connection, or a client without chunked encoding.
    if (!socket || !chunkedEncoding) return this.#response.write(Buffer.concat(chunks, length))
    // node:http would frame each copy anew, and write it in three parts.
    return socket.write(httpChunk(chunks, length))
  }

  #drained(): void {
    this.#stalled?.[Symbol.dispose]()
    this.#stalled = undefined
    this.#resume?.()
    this.#resume = undefined
  }
}

const lineEnd = Buffer.from('\r\n')
let lastChunks: readonly Uint8Array[] = []
let lastJoined: Uint8Array = new Uint8Array()

/**
 * Joins chunks to one HTTP chunk. Watches of one resource send the same chunks one after the other: they are joined
 * once for all.
 */
function httpChunk(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length !== lastChunks.length || chunks.some((chunk, index) => chunk !== lastChunks[index])) {
    const size = Buffer.from(`${length.toString(16)}\r\n`)
    lastJoined = Buffer.concat([size, ...chunks, lineEnd], size.length + length + lineEnd.length)
    lastChunks = chunks
  }
  return lastJoined
}
