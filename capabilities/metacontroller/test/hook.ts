// A real HTTP server as a hook; a test sets its responses.
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject, KubeObject } from '@fairlead/kube'

/** A recorded call. */
export interface Call {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: JsonObject & { readonly parent: KubeObject; readonly input: KubeObject }
}

/** A response. */
export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The server. */
export class TestHook implements AsyncDisposable {
  readonly calls: Call[] = []
  /** Returns the response of a call; may wait. */
  reply: (call: Call) => Reply | Promise<Reply> = ({ body }) => ({ body: { outputs: [copyOf(body.input)] } })
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      void request.toArray().then(async (chunks) => {
        const call: Call = {
          path: request.url ?? '',
          headers: request.headers,
          body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as Call['body'],
        }
        this.calls.push(call)
        const { status = 200, headers, body } = await this.reply(call)
        response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
      })
    })
  }

  static async start(host = '127.0.0.1'): Promise<TestHook> {
    const hook = new TestHook()
    await new Promise<void>((resolve) => hook.#server.listen(0, host, resolve))
    return hook
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Returns and clears the names of the inputs of the calls so far, in order. */
  takeCalls(): string[] {
    return this.calls.splice(0).map(({ body }) => body.input?.metadata.name ?? 'tombstone')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }
}

/** A Secret made from a ConfigMap. */
export function copyOf(input: KubeObject): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: `${input.metadata.name}-copy` }, data: {} }
}
