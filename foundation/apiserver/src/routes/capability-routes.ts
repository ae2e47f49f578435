// Endpoints of capabilities: a path prefix each, called with a client that has the rights of the caller.
import type { Client } from '@fairlead/client'
import type { Route as CapabilityRoute } from '@fairlead/controller'
import { requestEntityTooLarge } from '@fairlead/kube'
import type { UserInfo } from '../auth/user.ts'
import type { Route } from '../handler.ts'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import { answerValue } from '../request/response.ts'

/** Bytes that a body may have. */
const maxBody = 1_048_576

/** Routes that come while the server runs. */
export class CapabilityRoutes implements Route {
  readonly #routes: CapabilityRoute[] = []
  readonly #clientOf: (user: UserInfo) => Client

  constructor(clientOf: (user: UserInfo) => Client) {
    this.#clientOf = clientOf
  }

  /** Serves a route from now on. */
  add(route: CapabilityRoute): void {
    this.#routes.push(route)
  }

  /** Paths below a prefix read like resources where it begins with `/api/`; they are the route's all the same. */
  owns(path: string): boolean {
    return this.#routes.some(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
  }

  async handle(
    request: ServerRequest,
    segments: readonly string[],
    user: UserInfo,
  ): Promise<ServerResponse | undefined> {
    const route = this.#find(segments)
    if (route === undefined) return undefined
    const answer = await route.handle({
      method: request.method,
      path: segments.slice(segmentsOf(route).length),
      query: request.query,
      headers: request.headers,
      body: bodyOf(request),
      user,
      client: this.#clientOf(user),
      signal: request.signal,
    })
    if (answer === undefined) return undefined
    const { status, body, headers } = answer
    const response = answerValue(status, body, { encoding: 'json', pretty: false, encodeProtobuf: undefined })
    return {
      ...response,
      headers: { ...response.headers, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
    }
  }

  #find(segments: readonly string[]): CapabilityRoute | undefined {
    return this.#routes.find((route) => segmentsOf(route).every((segment, index) => segments[index] === segment))
  }
}

function segmentsOf({ prefix }: CapabilityRoute): readonly string[] {
  return prefix.split('/').filter((segment) => segment !== '')
}

/** @throws StatusError 413 */
function bodyOf({ body }: ServerRequest): string {
  if (body === undefined) return ''
  if (!(body instanceof Uint8Array)) return JSON.stringify(body.json)
  if (body.byteLength > maxBody) throw requestEntityTooLarge(`limit is ${maxBody}`)
  return new TextDecoder().decode(body)
}
