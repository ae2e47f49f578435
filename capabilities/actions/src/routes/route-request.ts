// Reading requests and writing answers of HTTP endpoints.
import type { RouteRequest } from '@fairlead/controller'
import { JsonSyntaxError, isJsonObject, parseJson } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { ActionError } from '../engine/action-error.ts'
import type { ResourceRef } from '../runtime/action-service.ts'

/** A value of this side as JSON; undefined members drop out when it is written. */
export function json(value: object): JsonObject {
  return value as JsonObject
}

/** @throws ActionError 405 */
export function only(method: string, wanted: 'GET' | 'POST' | 'DELETE'): void {
  if (method !== wanted) throw new ActionError(405, 'input-error', `${method} is not possible here; use ${wanted}`)
}

/** @throws ActionError 400 */
export function required(query: URLSearchParams, key: string): string {
  const value = query.get(key)
  if (value === null || value === '') throw new ActionError(400, 'input-error', `the query should say ${key}`)
  return value
}

/** @throws ActionError 400 */
export function refOf(query: URLSearchParams): ResourceRef {
  const named = query.get('action-pattern')
  if (named !== null) throw patternRefused()
  return {
    apiVersion: query.get('apiVersion') ?? undefined,
    kind: required(query, 'kind'),
    namespace: query.get('namespace') ?? undefined,
    name: required(query, 'name'),
  }
}

/** Patterns come from maps, never from callers. */
export function patternRefused(): ActionError {
  return new ActionError(
    400,
    'pattern-error',
    'a pattern that a caller sends is never resolved; name the action: GET /api/actions/ACTION/url?apiVersion=…&kind=…&namespace=…&name=…',
  )
}

/** The body as an object; an empty one when there is none. Throws ActionError 400 for what is no JSON, 422 for what is no object. */
export function bodyOf({ body }: RouteRequest): JsonObject {
  if (body.trim() === '') return {}
  let value: JsonValue
  try {
    value = parseJson(body)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new ActionError(400, 'syntax-error', error.message, { cause: error })
  }
  if (!isJsonObject(value)) throw new ActionError(422, 'validation-error', 'the body should be a JSON object')
  return value
}

/** Jobs as a list of JSON values. */
export function listOf(objects: readonly KubeObject[]): readonly JsonValue[] {
  return objects as unknown as readonly JsonValue[]
}
