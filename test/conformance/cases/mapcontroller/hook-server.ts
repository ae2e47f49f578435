// The hooks of a case: a real HTTP server that responds as the case says and records its requests.
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import type { CaseResponse, HookName } from '@fairlead/metacontroller'
import { refOf } from '@fairlead/metacontroller'

/** A recorded request. */
export interface HookRequest {
  readonly mapKey: string
  readonly input?: KubeObject
  readonly outputs: Readonly<Record<string, Readonly<Record<string, KubeObject>>>>
}

/** A call: its hook, the reference of its input, its request. */
export interface RecordedCall {
  readonly hook: HookName
  readonly ref: string
  readonly request: HookRequest
}

/** Returns the response of a hook for the reference of an input. */
export type Responder = (hook: HookName, ref: string) => CaseResponse

/** The server. */
export class CaseHookServer implements AsyncDisposable {
  /** Calls, in order. After an error response a group only retries: such calls are not recorded. */
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

  /** Starts on a free port. `refOfKey` returns the reference of the input that a map key was made from. */
  static async start(refOfKey: (mapKey: string) => string | undefined, respond: Responder): Promise<CaseHookServer> {
    const hooks = new CaseHookServer(refOfKey, respond)
    await new Promise<void>((resolve) => hooks.#server.listen(0, '127.0.0.1', resolve))
    return hooks
  }

  /** The address of a hook. */
  url(hook: HookName): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${hook}`
  }

  /** Replaces the responder and forgets recorded calls. */
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
