// The Status of a failed request, the error that carries it, and a constructor for each kind of failure with
// Kubernetes' own messages (shared recordings; apimachinery's api/errors).
import { fieldErrorBody, formatFieldError, formatFieldErrors } from './field-error.ts'
import type { FieldError } from './field-error.ts'
import { goQuote } from './go-text.ts'

/** `status.details.causes[]`. */
export interface StatusCause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

/** `status.details`; `kind` is the plural of the resource for most errors, the kind for Invalid. */
export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

/** `v1 Status`. */
export interface Status {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: {
    readonly resourceVersion?: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly status: 'Success' | 'Failure'
  readonly message?: string
  readonly reason?: string
  readonly details?: StatusDetails
  /** The HTTP status code. */
  readonly code?: number
}

/** A resource by group and plural, as messages name it: `deployments.apps`, `pods`. */
export interface GroupResource {
  readonly group: string
  readonly plural: string
}

/** A failure that an API server returns. `code` is the HTTP status code. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly status: Status
  readonly code: number

  /** Creates the error of a Status. */
  constructor(status: Status) {
    super(status.message ?? status.reason ?? 'the server answered with a failure')
    this.status = status
    this.code = status.code ?? 500
  }

  /** The machine-readable reason; '' when the server gave none. */
  get reason(): string {
    return this.status.reason ?? ''
  }
}

/** Creates a Status of failure; details are kept unchanged, an empty object included. */
export function failure(
  code: number,
  reason: string | undefined,
  message: string,
  details?: StatusDetails,
): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  })
}

function compact(details: StatusDetails): StatusDetails {
  const { name, group, kind, uid, causes, retryAfterSeconds } = details
  return {
    ...(name ? { name } : {}),
    ...(group ? { group } : {}),
    ...(kind ? { kind } : {}),
    ...(uid ? { uid } : {}),
    ...(causes ? { causes } : {}),
    ...(retryAfterSeconds ? { retryAfterSeconds } : {}),
  }
}

/** Formats a resource: `deployments.apps`, or `pods` for the core group. */
export function formatGroupResource(resource: GroupResource): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}

function detailsOf(resource: GroupResource, name: string, causes?: readonly StatusCause[]): StatusDetails {
  return compact({ name, group: resource.group, kind: resource.plural, causes })
}

/** 404: the object does not exist. */
export function notFound(resource: GroupResource, name: string): StatusError {
  return failure(
    404,
    'NotFound',
    `${formatGroupResource(resource)} ${goQuote(name)} not found`,
    detailsOf(resource, name),
  )
}

/** 404: no such path or resource. */
export function resourceNotFound(): StatusError {
  return failure(404, 'NotFound', 'the server could not find the requested resource', {})
}

/** 409: an object of that name exists. */
export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return failure(
    409,
    'AlreadyExists',
    `${formatGroupResource(resource)} ${goQuote(name)} already exists`,
    detailsOf(resource, name),
  )
}

/** The detail of a conflict when the resourceVersion of an update is not the current one. */
export const staleObject = 'the object has been modified; please apply your changes to the latest version and try again'

/** 409: the write conflicts with the current object. */
export function conflict(resource: GroupResource, name: string, detail: string = staleObject): StatusError {
  const message = `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${goQuote(name)}: ${detail}`
  return failure(409, 'Conflict', message, detailsOf(resource, name))
}

/** 409: fields of a server-side apply are owned by other managers. */
export function applyConflict(message: string, causes: readonly StatusCause[]): StatusError {
  return failure(409, 'Conflict', message, { causes })
}

/** 422: the object is invalid. `kind` is the kind, not the resource; causes keep the order of the errors. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const { shown, omitted } = withinBounds(errors)
  const causes = shown.map((error) => ({ reason: error.type, message: fieldErrorBody(error), field: error.field }))
  const subject = `${kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`} ${goQuote(name)} is invalid`
  const details = compact({ name, group: kind.group, kind: kind.kind, causes })
  if (errors.length === 0) return failure(422, 'Invalid', subject, details)
  const rest = omitted === 0 ? '' : ` (and ${omitted} more errors)`
  return failure(422, 'Invalid', `${subject}: ${formatFieldErrors(shown)}${rest}`, details)
}

/** The number of characters of errors in a Status. Far more than a person reads, and what every client can take. */
const errorsLimit = 128 * 1024

/** Returns the first of many errors, one at least; each may repeat long values and choices. */
function withinBounds(errors: readonly FieldError[]): { shown: readonly FieldError[]; omitted: number } {
  let length = 0
  let count = 0
  for (const error of errors) {
    length += formatFieldError(error).length
    if (length > errorsLimit && count > 0) break
    count++
  }
  return { shown: errors.slice(0, count), omitted: errors.length - count }
}

/** 422 without a cause, as for a JSON patch that cannot be applied. */
export function unprocessable(): StatusError {
  return failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
}

/** 400: the request is malformed. */
export function badRequest(message: string): StatusError {
  return failure(400, 'BadRequest', message)
}

/** 401: no valid credentials. */
export function unauthorized(message: string = 'Unauthorized'): StatusError {
  return failure(401, 'Unauthorized', message)
}

/** 403: not allowed. Without a name the message is about the resource, without a resource about the request. */
export function forbidden(
  resource: GroupResource,
  name: string,
  detail: string,
  causes?: readonly StatusCause[],
): StatusError {
  const subject =
    resource.plural === '' && resource.group === ''
      ? 'forbidden'
      : name === ''
        ? `${formatGroupResource(resource)} is forbidden`
        : `${formatGroupResource(resource)} ${goQuote(name)} is forbidden`
  return failure(403, 'Forbidden', `${subject}: ${detail}`, detailsOf(resource, name, causes))
}

/** 405: the resource does not support the verb. */
export function methodNotAllowed(): StatusError {
  return failure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})
}

/** 405 of a storage without that action: `create is not supported on resources of kind "pods"`. */
export function methodNotSupported(resource: GroupResource, action: string): StatusError {
  const message = `${action} is not supported on resources of kind ${goQuote(formatGroupResource(resource))}`
  return failure(405, 'MethodNotAllowed', message, compact({ group: resource.group, kind: resource.plural }))
}

/** 406: no accepted media type is supported. */
export function notAcceptable(message: string): StatusError {
  return failure(406, 'NotAcceptable', message)
}

/** 410: a continue token or resourceVersion is too old. */
export function expired(message: string): StatusError {
  return failure(410, 'Expired', message)
}

/** 413: the body, or the result of applying it, is too large. */
export function requestEntityTooLarge(message: string): StatusError {
  return failure(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`)
}

/** 415: the resource does not accept the media type of the body. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return failure(415, 'UnsupportedMediaType', message)
}

/** 429: too many requests; `retryAfterSeconds` also becomes the Retry-After header. */
export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return failure(429, 'TooManyRequests', message, compact({ retryAfterSeconds }))
}

/** 500 with a reason and the error as its cause. */
export function internalError(message: string): StatusError {
  return failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
}

/** 500 without a reason, as the real server returns for errors without a Status. */
export function unknownError(message: string): StatusError {
  return failure(500, undefined, message)
}

/** 503: the server is unavailable. */
export function serviceUnavailable(message: string): StatusError {
  return failure(503, 'ServiceUnavailable', message)
}

/** 504: the request timed out. */
export function timeout(message: string, retryAfterSeconds: number = 0, causes?: readonly StatusCause[]): StatusError {
  return failure(504, 'Timeout', `Timeout: ${message}`, compact({ causes, retryAfterSeconds }))
}

/** 504: the requested resourceVersion is in the future. */
export function resourceVersionTooLarge(requested: string, current: string): StatusError {
  return timeout(`Too large resource version: ${requested}, current: ${current}`, 1, [
    { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' },
  ])
}

function hasReason(error: unknown, code: number, ...reasons: readonly string[]): boolean {
  if (!(error instanceof StatusError)) return false
  return error.reason === '' ? error.code === code : reasons.includes(error.reason)
}

/** Reports NotFound: the object or the resource does not exist. */
export function isNotFound(error: unknown): error is StatusError {
  return hasReason(error, 404, 'NotFound')
}

/** Reports AlreadyExists: the name is taken. */
export function isAlreadyExists(error: unknown): error is StatusError {
  return error instanceof StatusError && error.reason === 'AlreadyExists'
}

/** Reports Conflict: a stale resourceVersion, a failed precondition, or fields of another manager. */
export function isConflict(error: unknown): error is StatusError {
  return hasReason(error, 409, 'Conflict')
}

/** Reports Forbidden: the user is not allowed to do that. */
export function isForbidden(error: unknown): error is StatusError {
  return hasReason(error, 403, 'Forbidden')
}

/** Reports Unauthorized: no valid credentials. */
export function isUnauthorized(error: unknown): error is StatusError {
  return hasReason(error, 401, 'Unauthorized')
}

/** Reports Invalid: the object failed validation. */
export function isInvalid(error: unknown): error is StatusError {
  return hasReason(error, 422, 'Invalid')
}

/** Reports a 410, Expired or Gone: the resourceVersion or continue token is too old, list again. */
export function isExpired(error: unknown): error is StatusError {
  return hasReason(error, 410, 'Expired', 'Gone')
}

/** Reports TooManyRequests: the server throttles the client. */
export function isTooManyRequests(error: unknown): error is StatusError {
  return hasReason(error, 429, 'TooManyRequests')
}

/** Reports a timeout of the server or of the client. */
export function isTimeout(error: unknown): error is StatusError {
  return hasReason(error, 504, 'Timeout', 'ServerTimeout')
}

/** Reports whether the write was rejected because the namespace is being deleted. */
export function isNamespaceTerminating(error: unknown): error is StatusError {
  return (
    isForbidden(error) && (error.status.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating')
  )
}

/** Reports whether a value is a Status of failure, as the last event of a watch or the body of a response. */
export function isFailureStatus(value: unknown): value is Status {
  if (typeof value !== 'object' || value === null) return false
  const { kind, status } = value as Partial<Status>
  return kind === 'Status' && status === 'Failure'
}
