// The fake over HTTP. `/_fake/` is for tests and people: `log`, `violations`, `script` and `reset`.
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FakeAws } from './fake-aws.ts'
import { FakeError } from './fake-error.ts'
import { failureOf, readCall, successOf } from './protocol.ts'
import type { SentResponse } from './protocol.ts'
import type { Script } from './script.ts'

/** Largest body of a request, in bytes. */
const largestBody = 4 * 1024 * 1024

/** Options of {@link FakeAwsServer.start}. */
export interface FakeServerOptions {
  /** 127.0.0.1 when left out. */
  readonly host?: string
  /** A free one when left out. */
  readonly port?: number
}

/** Serves a fake AWS. */
export class FakeAwsServer implements AsyncDisposable {
  readonly aws: FakeAws
  readonly #server: Server
  #requests = 0

  private constructor(aws: FakeAws) {
    this.aws = aws
    this.#server = createServer((request, response) => void this.#handle(request, response))
    // It never keeps a process alive by itself.
    this.#server.unref()
  }

  static async start(aws: FakeAws, { host = '127.0.0.1', port = 0 }: FakeServerOptions = {}): Promise<FakeAwsServer> {
    const started = new FakeAwsServer(aws)
    await new Promise<void>((resolve, reject) => {
      started.#server.once('error', reject)
      started.#server.listen(port, host, resolve)
    })
    return started
  }

  /** Base URL. */
  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = `fake-${++this.#requests}`
    let sent: SentResponse
    try {
      const body = await bodyOf(request)
      sent =
        request.url?.startsWith('/_fake/') === true ? this.#control(request, body) : await this.#call(request, body, id)
    } catch (error) {
      const refused =
        error instanceof FakeError ? error : new FakeError('InternalFailure', (error as Error).message, 500)
      if (refused.as === 'hang') return
      if (refused.as === 'reset') return void request.socket.destroy()
      sent =
        refused.as === 'garbage'
          ? { status: 200, contentType: 'text/html', body: '<html><body>Sign in to continue' }
          : failureOf(request.headers['x-amz-target'] === undefined, refused, id)
    }
    response.writeHead(sent.status, { 'content-type': sent.contentType, 'x-amzn-requestid': id })
    response.end(sent.body)
  }

  async #call({ headers }: IncomingMessage, body: string, id: string): Promise<SentResponse> {
    const call = readCall(headers, body)
    const { service, region, operation, input } = call
    return successOf(call, await this.aws.call(service, region, operation, input), id)
  }

  #control({ url = '', method }: IncomingMessage, body: string): SentResponse {
    const json = (value: unknown): SentResponse => ({
      status: 200,
      contentType: 'application/json',
      body: `${JSON.stringify(value)}\n`,
    })
    switch (`${method} ${url}`) {
      case 'GET /_fake/log':
        return json(this.aws.calls)
      case 'GET /_fake/violations':
        return json(this.aws.violations)
      case 'POST /_fake/script':
        this.aws.script(JSON.parse(body) as Partial<Script>)
        return json({})
      case 'POST /_fake/reset':
        this.aws.reset()
        return json({})
      default:
        throw new FakeError('NotFound', `there is no ${method} ${url}`, 404)
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > largestBody) throw new FakeError('RequestEntityTooLarge', 'the body is too large', 413)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
