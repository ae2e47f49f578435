// Parsing of requests to HTTP endpoints.
import type { RouteRequest } from '@fairlead/controller'
import { JsonSyntaxError, isJsonObject, parseJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { ActionError } from '../engine/action-error.ts'
import type { Caller } from '../runtime/rights.ts'
import type { ResourceRef } from '../runtime/target-reader.ts'

/** Returns the caller of a request. */
export function callerOf({ user, client, signal }: RouteRequest): Caller {
  return { user, client, signal }
}

/** Checks the method of a request. Throws ActionError 405. */
export function requireMethod(method: string, wanted: 'GET' | 'POST' | 'DELETE'): void {
  if (method !== wanted) throw new ActionError(405, 'input-error', `method ${method} is not allowed; use ${wanted}`)
}

/** Content types that a page of another site can send without asking the server first. */
const formTypes = /^\s*(?:text\/plain|application\/x-www-form-urlencoded|multipart\/form-data)\b/i

/**
 * Refuses writes that pages of other sites can send with the credentials of a browser. Throws ActionError 403 or 415.
 */
export function requireOwnSite({ headers }: RouteRequest): void {
  const origin = String(headers['origin'] ?? '')
  const host = String(headers['host'] ?? '')
  if (origin !== '' && (host === '' || hostOf(origin) !== host.toLowerCase()))
    throw new ActionError(403, 'forbidden', `requests of pages of ${origin} are refused`)
  if (formTypes.test(String(headers['content-type'] ?? '')))
    throw new ActionError(415, 'input-error', 'the body must be application/json')
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : ''
}

/** Returns a required query parameter. Throws ActionError 400. */
export function required(query: URLSearchParams, key: string): string {
  const value = query.get(key)
  if (value === null || value === '') throw new ActionError(400, 'input-error', `query parameter ${key} is required`)
  return value
}

/** Returns the resource that a query names. Throws ActionError 400. */
export function refOf(query: URLSearchParams): ResourceRef {
  if (query.has('action-pattern')) throw patternRefused()
  return {
    apiVersion: query.get('apiVersion') ?? undefined,
    kind: required(query, 'kind'),
    namespace: query.get('namespace') ?? undefined,
    name: required(query, 'name'),
  }
}

/** Returns the error for a pattern in a request: patterns come from maps, never from callers. */
export function patternRefused(): ActionError {
  return new ActionError(
    400,
    'pattern-error',
    'patterns in requests are never resolved; name the action: GET /api/actions/ACTION/url?apiVersion=…&kind=…&namespace=…&name=…',
  )
}

/**
 * Returns the body as an object; an empty one without a body. Throws ActionError 400 for invalid JSON, 422 for other
 * values.
 */
export function bodyOf({ body }: RouteRequest): JsonObject {
  if (body.trim() === '') return {}
  let value: JsonValue
  try {
    value = parseJson(body)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new ActionError(400, 'syntax-error', error.message, { cause: error })
  }
  if (!isJsonObject(value)) throw new ActionError(422, 'validation-error', 'the body must be a JSON object')
  return value
}
