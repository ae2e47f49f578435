// A hook that copies the value of an input into a Secret.
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { outputPrefix } from './kill-manifests.ts'

interface MapRequest {
  readonly input: { readonly metadata: { readonly name: string }; readonly data?: Readonly<Record<string, string>> }
}

/** Answers `POST /map` and counts. */
export class HookServer implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  calls = 0

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/map`
  }

  static async start(): Promise<HookServer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const hook = new HookServer(server)
    server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        hook.calls++
        const { input } = JSON.parse(Buffer.concat(chunks).toString()) as MapRequest
        const output = {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: `${outputPrefix}${input.metadata.name}` },
          data: { n: Buffer.from(input.data?.['n'] ?? '').toString('base64') },
        }
        response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ outputs: [output] }))
      })
    })
    return hook
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
