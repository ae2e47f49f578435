// Watches over WebSocket (RFC 6455): the handshake, frames to the client, and the few frames that matter from it.
// Refusals are those of golang.org/x/net/websocket, which kube-apiserver uses.
import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Clock } from '@fairlead/kube'
import type { ServerBody, ServerRequest, ServerResponse } from './message.ts'
import { OutgoingStream } from './outgoing-stream.ts'
import type { UpgradeHandler } from './route.ts'

/** RFC 6455, section 1.3. */
const acceptKeySuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

const opcodes = { text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const
const isFinal = 0x80
const isMasked = 0x80
/** Status codes of a close frame. */
const normalClosure = 1000
const protocolError = 1002
/** Events in protobuf begin with their length in a stream; messages have one of their own. Bytes. */
const lengthPrefix = 4
/** Control frames have no more bytes of payload (RFC 6455, section 5.5). */
const maxControlPayload = 125

/** Returns true for a request to switch to WebSocket. */
export function isWebSocketRequest({ headers }: Pick<ServerRequest, 'headers'>): boolean {
  return (
    String(headers['upgrade'] ?? '').toLowerCase() === 'websocket' &&
    String(headers['connection'] ?? '')
      .toLowerCase()
      .includes('upgrade')
  )
}

/** Returns the handler of a watch's connection, or the refusal of the handshake. Each event is one message. */
export function webSocketWatch(
  { headers }: Pick<ServerRequest, 'headers'>,
  { headers: responseHeaders, body }: ServerResponse & { readonly body: ServerBody & { readonly kind: 'watch' } },
  clock: Clock,
): UpgradeHandler | ServerResponse {
  const error = handshakeError(headers)
  if (error !== undefined) return error
  const isJson = String(responseHeaders['content-type']).startsWith('application/json')
  return ({ socket, head }) => {
    socket.write(acceptance(headers))
    void sendEvents(socket, head, body, isJson, clock)
  }
}

function acceptance(headers: ServerRequest['headers']): string {
  const accept = createHash('sha1')
    .update(`${String(headers['sec-websocket-key'])}${acceptKeySuffix}`)
    .digest('base64')
  const protocol = String(headers['sec-websocket-protocol'] ?? '').trim()
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...(protocol === '' ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

function handshakeError(headers: ServerRequest['headers']): ServerResponse | undefined {
  if (String(headers['sec-websocket-key'] ?? '') === '') return refused(400, 'mismatch challenge/response')
  if (headers['sec-websocket-version'] !== '13')
    return refused(400, 'missing or bad WebSocket Version', { 'sec-websocket-version': '13' })
  if (!isAllowedOrigin(headers)) return refused(403, '')
  return String(headers['sec-websocket-protocol'] ?? '').includes(',') ? refused(400, '') : undefined
}

/**
 * Requires an origin, like kube-apiserver. With cookies it must be that of this server: browsers let every site open
 * WebSockets, and send cookies with them.
 */
function isAllowedOrigin({ origin, cookie, host }: ServerRequest['headers']): boolean {
  const value = String(origin ?? '')
  if (!URL.canParse(value)) return cookie === undefined && value.startsWith('/')
  return cookie === undefined || new URL(value).host === host
}

function refused(status: number, text: string, headers: Readonly<Record<string, string>> = {}): ServerResponse {
  return { status, headers, body: { kind: 'bytes', bytes: Buffer.from(text) } }
}

async function sendEvents(
  socket: Duplex,
  head: Buffer,
  { events, encode }: ServerBody & { readonly kind: 'watch' },
  isJson: boolean,
  clock: Clock,
): Promise<void> {
  const out = new OutgoingStream(socket, clock)
  const batches = events[Symbol.asyncIterator]()
  // A pending `next` may wait for events that never come: it ends with the socket, whose closing aborts the request.
  const finish = (status: number): void => {
    if (socket.writableEnded || out.isClosed) return
    out.push(frame(opcodes.close, Buffer.of(status >> 8, status & 0xff)))
    socket.once('finish', () => socket.destroy())
    out.end()
  }
  const reader = new FrameReader({ ping: (payload) => out.push(frame(opcodes.pong, payload)), close: finish })
  socket.on('data', (chunk: Buffer) => reader.push(chunk))
  socket.on('end', () => finish(normalClosure))
  if (head.length > 0) reader.push(head)
  try {
    for (;;) {
      const { done, value } = await batches.next()
      if (done === true || out.isClosed || socket.writableEnded) break
      for (const event of value) {
        const bytes = encode(event)
        out.push(isJson ? frame(opcodes.text, bytes) : frame(opcodes.binary, bytes.subarray(lengthPrefix)))
      }
      const room = value.at(-1)?.initial === true ? out.room : undefined
      if (room !== undefined) await room
    }
    finish(normalClosure)
  } catch {
    socket.destroy()
  } finally {
    await batches.return?.()
  }
}

/** Returns one unmasked frame with a whole message. */
function frame(opcode: number, payload: Uint8Array): Uint8Array {
  const { length } = payload
  let header: Buffer
  if (length <= maxControlPayload) {
    header = Buffer.of(isFinal | opcode, length)
  } else if (length < 0x1_0000) {
    header = Buffer.of(isFinal | opcode, 126, 0, 0)
    header.writeUInt16BE(length, 2)
  } else {
    header = Buffer.of(isFinal | opcode, 127, 0, 0, 0, 0, 0, 0, 0, 0)
    header.writeBigUInt64BE(BigInt(length), 2)
  }
  return Buffer.concat([header, payload], header.length + length)
}

/** Receives what a client may ask for. */
interface FrameEvents {
  ping(payload: Uint8Array): void
  /** Called once: the client closes, or breaks the protocol. */
  close(status: number): void
}

/** Reads the frames of a client. It keeps control frames only: a watch takes no messages. */
class FrameReader {
  readonly #events: FrameEvents
  #rest: Buffer = Buffer.alloc(0)
  /** Bytes of a message that are still to be dropped. */
  #dropped = 0
  #isClosed = false

  constructor(events: FrameEvents) {
    this.#events = events
  }

  push(chunk: Buffer): void {
    if (this.#isClosed) return
    const ignored = Math.min(this.#dropped, chunk.length)
    this.#dropped -= ignored
    if (ignored === chunk.length) return
    this.#rest = Buffer.concat([this.#rest, chunk.subarray(ignored)])
    while (!this.#isClosed && this.#readFrame());
  }

  /** Returns false when the frame is not complete. */
  #readFrame(): boolean {
    const rest = this.#rest
    if (rest.length < 2) return false
    const opcode = rest[0]! & 0xf
    const short = rest[1]! & 0x7f
    const isControl = opcode >= opcodes.close
    if ((rest[1]! & isMasked) === 0 || (isControl && short > maxControlPayload)) return this.#close(protocolError)
    const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + 4
    if (rest.length < start) return false
    const length = short === 126 ? rest.readUInt16BE(2) : short === 127 ? Number(rest.readBigUInt64BE(2)) : short
    if (!isControl) {
      this.#rest = rest.subarray(Math.min(start + length, rest.length))
      this.#dropped = Math.max(0, start + length - rest.length)
      return this.#rest.length > 0
    }
    if (rest.length < start + length) return false
    this.#rest = rest.subarray(start + length)
    if (opcode === opcodes.close) return this.#close(normalClosure)
    if (opcode === opcodes.ping) {
      const mask = rest.subarray(start - 4, start)
      this.#events.ping(rest.subarray(start, start + length).map((byte, index) => byte ^ mask[index % 4]!))
    }
    return true
  }

  #close(status: number): false {
    this.#isClosed = true
    this.#events.close(status)
    return false
  }
}
