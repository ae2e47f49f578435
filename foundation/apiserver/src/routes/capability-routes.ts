// Endpoints of capabilities: a path prefix each, called with a client that has the rights of the caller.
import type { Client } from '@fairlead/client'
import type { Route as CapabilityRoute, RouteRequest } from '@fairlead/controller'
import { requestEntityTooLarge } from '@fairlead/kube'
import type { UserInfo } from '@fairlead/kube'
import type { Route, UpgradeHandler } from '../http/route.ts'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import { answerValue } from '../response/response.ts'

/** Bytes that a body may have where a route says nothing. */
const usualLimit = 1_048_576

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
    return this.#owner(path) !== undefined
  }

  bodyLimit(path: string): number | undefined {
    const route = this.#owner(path)
    return route && limitOf(route)
  }

  upgrades(path: string): boolean {
    return this.#owner(path)?.upgrade !== undefined
  }

  async upgrade(
    request: ServerRequest,
    segments: readonly string[],
    user: UserInfo,
  ): Promise<UpgradeHandler | undefined> {
    const route = this.#find(segments)
    return route?.upgrade?.(this.#about(route, request, segments, user))
  }

  async handle(
    request: ServerRequest,
    segments: readonly string[],
    user: UserInfo,
  ): Promise<ServerResponse | undefined> {
    const route = this.#find(segments)
    if (route === undefined) return undefined
    const answer = await route.handle({
      ...this.#about(route, request, segments, user),
      method: request.method,
      body: bodyOf(request, limitOf(route)),
    })
    if (answer === undefined) return undefined
    const { status, body, headers } = answer
    const response = answerValue(status, body, { encoding: 'json', pretty: false, encodeProtobuf: undefined })
    return {
      ...response,
      headers: { ...response.headers, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
    }
  }

  #about(
    route: CapabilityRoute,
    { query, headers, signal }: ServerRequest,
    segments: readonly string[],
    user: UserInfo,
  ): Omit<RouteRequest, 'method' | 'body'> {
    const path = segments.slice(segmentsOf(route).length)
    return { path, query, headers, user, client: this.#clientOf(user), signal }
  }

  #owner(path: string): CapabilityRoute | undefined {
    return this.#routes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
  }

  #find(segments: readonly string[]): CapabilityRoute | undefined {
    return this.#routes.find((route) => segmentsOf(route).every((segment, index) => segments[index] === segment))
  }
}

function limitOf({ bodyLimit }: CapabilityRoute): number {
  return bodyLimit ?? usualLimit
}

function segmentsOf({ prefix }: CapabilityRoute): readonly string[] {
  return prefix.split('/').filter((segment) => segment !== '')
}

/** The door has held bodies to the limit; requests without a door come here first. @throws StatusError 413 */
function bodyOf({ body }: ServerRequest, limit: number): string {
  if (body === undefined) return ''
  if (!(body instanceof Uint8Array)) return JSON.stringify(body.json)
  if (body.byteLength > limit) throw requestEntityTooLarge(`limit is ${limit}`)
  return new TextDecoder().decode(body)
}
