// One TLS connection that speaks just enough HTTP/1.1 to load a server: requests one after the other, or a watch. Costs
// a fraction of node:https, so that the generator of the load is not what is measured.
import { once } from 'node:events'
import { connect } from 'node:tls'
import type { SecureContext, TLSSocket } from 'node:tls'

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** Where a server listens, and what connections to it share. */
export interface Target {
  readonly port: number
  readonly context: SecureContext
  /** Undefined where the context shows a certificate. */
  readonly token: string | undefined
  /** A name in the server's certificate; `localhost` when left out. */
  readonly servername?: string
}

const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('\r\n0\r\n\r\n')
const mark = Buffer.from('"type":"')

export class Connection implements Disposable {
  readonly #socket: TLSSocket
  /** Lines of the head that are the same for every request. */
  readonly #head: string
  #chunks: Buffer[] = []
  #length = 0
  #expected = -1
  #isChunked = false
  #receive: ((answer: Answer) => void) | undefined
  #fail: ((error: Error) => void) | undefined

  private constructor(socket: TLSSocket, token: string | undefined) {
    this.#socket = socket
    this.#head = `Host: localhost\r\n${token === undefined ? '' : `Authorization: Bearer ${token}\r\n`}`
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', (error) => this.#fail?.(error))
    socket.on('close', () => this.#fail?.(new Error('the server closed the connection')))
  }

  static async open({ port, context, token, servername = 'localhost' }: Target): Promise<Connection> {
    const socket = connect({ host: '127.0.0.1', port, secureContext: context, servername })
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve)
      socket.once('error', reject)
      // A server that lets go of a connection in the handshake says nothing.
      socket.once('close', () => reject(new Error('the server closed the connection before it was made')))
    })
    return new Connection(socket.setNoDelay(true), token)
  }

  /** Sends one request; the connection takes the next one after the response. */
  send(method: string, path: string, body = '', contentType = 'application/json'): Promise<Answer> {
    const head = `${method} ${path} HTTP/1.1\r\n${this.#head}`
    const type = body === '' ? '' : `Content-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
    return new Promise((resolve, reject) => {
      this.#receive = resolve
      this.#fail = reject
      this.#socket.write(`${head}${type}\r\n${body}`)
    })
  }

  /**
   * Opens a watch; `onEvents` is called with the number of events that began in each piece. Resolves when the watch is
   * open.
   */
  async watch(path: string, onEvents: (count: number) => void): Promise<void> {
    this.#socket.removeAllListeners('data')
    this.#socket.write(`GET ${path} HTTP/1.1\r\n${this.#head}\r\n`)
    const [head] = (await once(this.#socket, 'data')) as [Buffer]
    if (!head.toString('latin1').startsWith('HTTP/1.1 200'))
      throw new Error(`the watch was refused: ${head.toString()}`)
    let rest: Buffer = Buffer.alloc(0)
    this.#socket.on('data', (chunk: Buffer) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let count = 0
      let end = 0
      for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, end)) {
        count++
        end = at + mark.length
      }
      // A mark may be in two pieces.
      rest = bytes.subarray(Math.max(end, bytes.length - mark.length + 1))
      if (count > 0) onEvents(count)
    })
  }

  [Symbol.dispose](): void {
    this.#fail = undefined
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#expected < 0) {
      const start = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
      const end = start.indexOf(headEnd)
      if (end < 0) return
      const head = start.toString('latin1', 0, end)
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
      this.#isChunked = length === undefined && /\r\ntransfer-encoding: chunked/i.test(head)
      if (length === undefined && !this.#isChunked)
        return this.#fail?.(new Error(`an answer without a length: ${head}`))
      this.#expected = end + headEnd.length + Number(length ?? 0)
    }
    if (this.#isChunked ? !this.#endsWith(lastChunk) : this.#length < this.#expected) return
    const whole = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    const rest = whole.subarray(whole.indexOf(headEnd) + headEnd.length)
    const body = this.#isChunked ? unchunked(rest) : rest
    this.#chunks = []
    this.#length = 0
    this.#expected = -1
    this.#receive?.({ status: Number(whole.toString('latin1', 9, 12)), body })
  }

  /** True at the end of the chunks; JSON has no bare carriage returns, so the terminator is not in a chunk. */
  #endsWith(end: Buffer): boolean {
    const last = this.#chunks.at(-1)!
    const tail = last.length >= end.length ? last : Buffer.concat(this.#chunks.slice(-end.length))
    return tail.subarray(-end.length).equals(end)
  }
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const line = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (!(size > 0)) return Buffer.concat(parts)
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}
