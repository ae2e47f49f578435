// Endpoints of capabilities whose callers sign their requests: which one a path belongs to.
import type { IncomingMessage } from 'node:http'
import { failure } from '@fairlead/kube'
import type { RouteResponse, SignedRoute } from '../routes.ts'

/**
 * Answers a request by the route that its path belongs to; undefined when there is none. The body is read only then.
 * Throws StatusError 400 for a path that cannot be decoded.
 */
export async function answerSigned(
  routes: readonly SignedRoute[],
  request: IncomingMessage,
  pathname: string,
  readBytes: (request: IncomingMessage) => Promise<Uint8Array>,
): Promise<RouteResponse | undefined> {
  const route = routes.find(({ prefix }) => pathname.startsWith(`${prefix}/`))
  if (route === undefined) return undefined
  const { method = 'GET', headers } = request
  const path = pathname
    .slice(route.prefix.length + 1)
    .split('/')
    .map(decodeSegment)
  return route.handle({ method, path, headers, body: await readBytes(request) })
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw failure(400, 'BadRequest', `the path segment ${JSON.stringify(segment)} is not percent-encoded UTF-8`)
  }
}
