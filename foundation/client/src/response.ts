// Reads responses: which ones are errors.
import { StatusError, asJson, isNotFound } from '@fairlead/kube'
import type { JsonObject, JsonValue, Status } from '@fairlead/kube'
import { isClientError } from './client-error.ts'
import type { ApiResponse } from './transport.ts'

/** Returns the StatusError of a response, undefined when it is a success. */
export function statusErrorOf(response: ApiResponse): StatusError | undefined {
  if (response.status < 400) return undefined
  const retryAfter = retryAfterSeconds(response)
  return new StatusError(
    isStatus(response.body) ? withRetry(response.body, retryAfter) : madeUpStatus(response, retryAfter),
  )
}

/**
 * Returns the seconds of a `Retry-After` header; undefined without one. Dates (RFC 9110) are relative to the response's
 * `Date`.
 */
export function retryAfterSeconds(response: Pick<ApiResponse, 'headers'>): number | undefined {
  const text = response.headers['retry-after']
  if (text === undefined) return undefined
  if (/^\d+$/.test(text.trim())) return Number(text)
  const [until, from] = [Date.parse(text), Date.parse(response.headers['date'] ?? '')]
  return Number.isNaN(until) || Number.isNaN(from) ? undefined : Math.max(0, Math.round((until - from) / 1000))
}

/** Reports whether an error says that the resource is not served, rather than that an object does not exist. */
export function isNoSuchResource(error: unknown): boolean {
  return isNotFound(error) && ((error as StatusError).status.details?.name ?? '') === ''
}

/** Reports whether an error says that the server does not serve the kind, perhaps only for a while. */
export function isKindNotServed(error: unknown): boolean {
  return isClientError(error, 'UnknownKind') || isNoSuchResource(error)
}

/** Reports whether an error says that the object does not exist. The 404 of a kind that is not served does not. */
export function isObjectNotFound(error: unknown): boolean {
  return isNotFound(error) && !isNoSuchResource(error)
}

function isStatus(body: JsonValue): body is JsonObject & Status {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && asJson(body).kind === 'Status'
}

function withRetry(status: Status, seconds: number | undefined): Status {
  if (seconds === undefined || status.details?.retryAfterSeconds !== undefined) return status
  return { ...status, details: { ...status.details, retryAfterSeconds: seconds } }
}

/** API machinery's reasons for bare HTTP codes (proxies and load balancers respond without a Status). */
const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

function madeUpStatus(response: ApiResponse, seconds: number | undefined): Status {
  const text = typeof response.body === 'string' ? response.body.trim().slice(0, 200) : ''
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: text === '' ? `the server answered ${response.status} without a message` : text,
    reason: reasons[response.status] ?? 'UnknownError',
    code: response.status,
    ...(seconds === undefined ? {} : { details: { retryAfterSeconds: seconds } }),
  }
}
