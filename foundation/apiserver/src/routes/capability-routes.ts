// HTTP endpoints of capabilities: one path prefix each, called with a client that acts as the user of the request.
import type { Client } from '@fairlead/client'
import type { Route as CapabilityRoute, RouteRequest } from '@fairlead/controller'
import { requestEntityTooLarge } from '@fairlead/kube'
import type { UserInfo } from '@fairlead/kube'
import type { Route, UpgradeHandler } from '../http/route.ts'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import { valueResponse } from '../response/response.ts'

/** The default limit of a body in bytes. */
const defaultLimit = 1_048_576

/** Routes that are added while the server runs. */
export class CapabilityRoutes implements Route {
  readonly #routes: CapabilityRoute[] = []
  readonly #clients = new Map<CapabilityRoute, (user: UserInfo) => Client>()

  /** Adds a route; `clientOf` returns the client that acts as the user of a request. */
  add(route: CapabilityRoute, clientOf: (user: UserInfo) => Client): void {
    this.#routes.push(route)
    this.#clients.set(route, clientOf)
  }

  rootPaths(): string[] {
    return this.#routes.map(({ prefix }) => prefix)
  }

  /** Paths below a prefix that begins with `/api/` look like resources but belong to the route. */
  owns(path: string): boolean {
    return this.#routeOf(path) !== undefined
  }

  bodyLimit(path: string): number | undefined {
    const route = this.#routeOf(path)
    return route && limitOf(route)
  }

  upgrades(path: string): boolean {
    return this.#routeOf(path)?.upgrade !== undefined
  }

  async upgrade(
    request: ServerRequest,
    segments: readonly string[],
    user: UserInfo,
  ): Promise<UpgradeHandler | undefined> {
    const route = this.#find(segments)
    return route?.upgrade?.(this.#routeRequest(route, request, segments, user))
  }

  async handle(
    request: ServerRequest,
    segments: readonly string[],
    user: UserInfo,
  ): Promise<ServerResponse | undefined> {
    const route = this.#find(segments)
    if (route === undefined) return undefined
    const result = await route.handle({
      ...this.#routeRequest(route, request, segments, user),
      method: request.method,
      body: bodyOf(request, limitOf(route)),
    })
    if (result === undefined) return undefined
    const { status, body, headers } = result
    const response = valueResponse(status, body, { encoding: 'json', pretty: false, encodeProtobuf: undefined })
    return {
      ...response,
      headers: { ...response.headers, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
    }
  }

  #routeRequest(
    route: CapabilityRoute,
    { query, headers, signal }: ServerRequest,
    segments: readonly string[],
    user: UserInfo,
  ): Omit<RouteRequest, 'method' | 'body'> {
    const path = segments.slice(segmentsOf(route).length)
    return { path, query, headers, user, client: this.#clients.get(route)!(user), signal }
  }

  #routeOf(path: string): CapabilityRoute | undefined {
    return this.#routes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
  }

  #find(segments: readonly string[]): CapabilityRoute | undefined {
    return this.#routes.find((route) => segmentsOf(route).every((segment, index) => segments[index] === segment))
  }
}

function limitOf({ bodyLimit }: CapabilityRoute): number {
  return bodyLimit ?? defaultLimit
}

function segmentsOf({ prefix }: CapabilityRoute): readonly string[] {
  return prefix.split('/').filter((segment) => segment !== '')
}

/**
 * Returns the body as a string. The listener has enforced the limit already, but in-process requests come without one.
 * @throws StatusError 413
 */
function bodyOf({ body }: ServerRequest, limit: number): string {
  if (body === undefined) return ''
  if (!(body instanceof Uint8Array)) return JSON.stringify(body.json)
  if (body.byteLength > limit) throw requestEntityTooLarge(`limit is ${limit}`)
  return new TextDecoder().decode(body)
}
