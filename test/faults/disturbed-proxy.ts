// An HTTPS proxy in front of an API server that lets the requests of a right fail or hang, for programs that speak to
// the server over the network. It records the rights that were used, and every deletion.
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { caCertificate, serverCertificate, serverKey } from '../support/certificates.ts'
import { rightOf } from '../support/disturbed-transport.ts'
import type { Fault } from '../support/disturbed-transport.ts'

/** The server behind. */
export interface ProxiedServer {
  readonly url: string
  /** PEM of its authority. */
  readonly ca: string
}

interface OpenRequest {
  readonly right: string
  readonly response: ServerResponse
}

/** The proxy. */
export class DisturbedProxy implements AsyncDisposable {
  /** PEM of its authority. */
  readonly ca: string = caCertificate
  /** Rights that were used. */
  readonly used = new Set<string>()
  /** Paths of the objects whose deletion was sent. */
  readonly deletions: string[] = []
  /** Requests that failed or hung. */
  failed = 0
  readonly #to: ProxiedServer
  readonly #agent: Agent
  readonly #server = createServer({ cert: serverCertificate, key: serverKey }, (from, response) =>
    this.#handle(from, response),
  )
  readonly #open = new Set<OpenRequest>()
  #fault: { readonly right: string; readonly fault: Fault } | undefined
  #waiting: (() => void)[] = []

  private constructor(to: ProxiedServer) {
    this.#to = to
    this.#agent = new Agent({ keepAlive: true, ca: to.ca })
  }

  static async start(to: ProxiedServer): Promise<DisturbedProxy> {
    const proxy = new DisturbedProxy(to)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Lets the requests of a right fail; those under way, watches among them, break. */
  begin(right: string, fault: Fault): void {
    this.failed = 0
    this.#fault = { right, fault }
    const resource = right.slice(right.indexOf(' '))
    for (const open of this.#open) if (open.right.endsWith(resource)) open.response.destroy()
  }

  /** Ends the fault; what hangs is sent on. */
  heal(): void {
    this.#fault = undefined
    for (const go of this.#waiting.splice(0)) go()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    this.#agent.destroy()
    await closed
  }

  #handle(from: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(from.url!, this.url)
    const method = from.method as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
    const query = { watch: searchParams.get('watch') === 'true' }
    const right = rightOf({ method, path: pathname, query }) ?? pathname
    this.used.add(right)
    if (method === 'DELETE') this.deletions.push(pathname)
    const one = { right, response }
    this.#open.add(one)
    response.on('close', () => this.#open.delete(one))
    const { right: failing, fault } = this.#fault ?? {}
    if (failing !== right || fault === undefined) return this.#pass(from, response)
    this.failed++
    if (fault === 'hang') return void this.#waiting.push(() => this.#pass(from, response))
    from.resume()
    // A kind that is not served has this response; an object that does not exist would be another 404.
    if (fault === 404) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n')
    const reason = { 403: 'Forbidden', 429: 'TooManyRequests', 500: 'InternalError' }[fault]
    const status = { apiVersion: 'v1', kind: 'Status', status: 'Failure', reason, code: fault, message: 'by the test' }
    response.writeHead(fault, { 'content-type': 'application/json' }).end(JSON.stringify(status))
  }

  #pass(from: IncomingMessage, response: ServerResponse): void {
    if (response.destroyed) return
    const { method, headers } = from
    const passed = request(new URL(from.url!, this.#to.url), { method, headers, agent: this.#agent }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      // A watch has been accepted with them, long before its first event.
      response.flushHeaders()
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    })
    passed.on('error', () => response.destroy())
    response.on('close', () => passed.destroy())
    from.pipe(passed)
  }
}
