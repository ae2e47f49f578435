// The hooks of a case: a real HTTP server that answers what the case says and remembers what it was asked.
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import type { CaseResponse } from '@fairlead/map'
import { refOf } from '@fairlead/map'

/** Which hook. */
export type HookName = 'map' | 'tombstone'

/** A request as it came. */
export interface HookRequest {
  readonly mapKey: string
  readonly input?: KubeObject
  readonly outputs: Readonly<Record<string, Readonly<Record<string, KubeObject>>>>
}

/** A call: which hook, for which input, with what. */
export interface RecordedCall {
  readonly hook: HookName
  readonly ref: string
  readonly request: HookRequest
}

/** Decides what is answered. */
export type Responder = (hook: HookName, ref: string) => CaseResponse

/** The server. */
export class CaseHookServer implements AsyncDisposable {
  /** Calls, in order. After a call was answered by an error its group is only retried: such calls do not count. */
  readonly calls: RecordedCall[] = []
  readonly #server: Server
  readonly #refOfKey: (mapKey: string) => string | undefined
  readonly #failed = new Set<string>()
  #respond: Responder

  private constructor(refOfKey: (mapKey: string) => string | undefined, respond: Responder) {
    this.#refOfKey = refOfKey
    this.#respond = respond
    this.#server = createServer((request, response) => void this.#handle(request, response))
  }

  /** Starts on a free port. `refOfKey` tells which input a map key stands for. */
  static async start(refOfKey: (mapKey: string) => string | undefined, respond: Responder): Promise<CaseHookServer> {
    const hooks = new CaseHookServer(refOfKey, respond)
    await new Promise<void>((resolve) => hooks.#server.listen(0, '127.0.0.1', resolve))
    return hooks
  }

  /** The address of a hook. */
  url(hook: HookName): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${hook}`
  }

  /** Answers otherwise from now on, and forgets what was asked before. */
  restart(respond: Responder): void {
    this.#respond = respond
    this.calls.length = 0
    this.#failed.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = JSON.parse(Buffer.concat(await incoming.toArray()).toString('utf8')) as HookRequest
    const hook: HookName = incoming.url === '/tombstone' ? 'tombstone' : 'map'
    const ref = request.input === undefined ? (this.#refOfKey(request.mapKey) ?? request.mapKey) : refOf(request.input)
    const id = `${hook} ${ref}`
    if (!this.#failed.has(id)) this.calls.push({ hook, ref, request })
    const given = this.#respond(hook, ref)
    const { error, rawBody } = given
    if (error !== undefined) {
      this.#failed.add(id)
      response.writeHead(error.status, error.headers).end(bodyOf(error.body ?? ''))
    } else {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(rawBody === undefined ? JSON.stringify(given) : bodyOf(rawBody))
    }
  }
}

function bodyOf(body: JsonValue): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}
