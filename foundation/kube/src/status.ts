// Answers of an API server that are not objects: the Status, the error that carries one, and a maker for each kind of failure with
// Kubernetes' own texts (shared recordings; apimachinery's api/errors).
import { fieldErrorBody, formatFieldErrors } from './field-error.ts'
import type { FieldError } from './field-error.ts'
import { goQuote } from './go-text.ts'

/** `status.details.causes[]`. */
export interface StatusCause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

/** `status.details`; `kind` holds a resource's plural for most errors, the kind for Invalid. */
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

/** A failure that an API server answers (or answered) with. `code` is the HTTP status code. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly status: Status
  readonly code: number

  /** The error that a Status tells of. */
  constructor(status: Status) {
    super(status.message ?? status.reason ?? 'the server answered with a failure')
    this.status = status
    this.code = status.code ?? 500
  }

  /** The machine-readable reason, '' when the server gave none. */
  get reason(): string {
    return this.status.reason ?? ''
  }
}

/** A Status of failure; details are kept as they are given, an empty object included. */
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

/** `deployments.apps`, or `pods` for the core group. */
export function formatGroupResource(resource: GroupResource): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}

function detailsOf(resource: GroupResource, name: string, causes?: readonly StatusCause[]): StatusDetails {
  return compact({ name, group: resource.group, kind: resource.plural, causes })
}

/** 404: the object is not there. */
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

/** 409: an object of that name is there already. */
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

/** 409: the write does not fit the object as it is now. */
export function conflict(resource: GroupResource, name: string, detail: string = staleObject): StatusError {
  const message = `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${goQuote(name)}: ${detail}`
  return failure(409, 'Conflict', message, detailsOf(resource, name))
}

/** 409: server-side apply met fields of other managers. */
export function applyConflict(message: string, causes: readonly StatusCause[]): StatusError {
  return failure(409, 'Conflict', message, { causes })
}

/** 422: the object breaks rules. `kind` is the kind, not the resource; causes keep the order of the errors. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const causes = errors.map((error) => ({ reason: error.type, message: fieldErrorBody(error), field: error.field }))
  const subject = `${kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`} ${goQuote(name)} is invalid`
  const details = compact({ name, group: kind.group, kind: kind.kind, causes })
  return failure(422, 'Invalid', errors.length === 0 ? subject : `${subject}: ${formatFieldErrors(errors)}`, details)
}

/** 422 without a cause, as for a JSON patch that does not apply. */
export function unprocessable(): StatusError {
  return failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
}

/** 400: the request cannot be understood. */
export function badRequest(message: string): StatusError {
  return failure(400, 'BadRequest', message)
}

/** 401: no credentials that count. */
export function unauthorized(message: string = 'Unauthorized'): StatusError {
  return failure(401, 'Unauthorized', message)
}

/** 403: not allowed. Without a name the message speaks of the resource, without a resource of the request. */
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

/** 405: the resource is there, the verb is not. */
export function methodNotAllowed(): StatusError {
  return failure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})
}

/** 405 of a storage that lacks an action: `create is not supported on resources of kind "pods"`. */
export function methodNotSupported(resource: GroupResource, action: string): StatusError {
  const message = `${action} is not supported on resources of kind ${goQuote(formatGroupResource(resource))}`
  return failure(405, 'MethodNotAllowed', message, compact({ group: resource.group, kind: resource.plural }))
}

/** 406: none of the accepted forms can be made. */
export function notAcceptable(message: string): StatusError {
  return failure(406, 'NotAcceptable', message)
}

/** 410: a continue token or resourceVersion is too old. */
export function expired(message: string): StatusError {
  return failure(410, 'Expired', message)
}

/** 410: the thing was here and is not coming back. */
export function gone(message: string): StatusError {
  return failure(410, 'Gone', message)
}

/** 413: the body, or what it asks for, is too large. */
export function requestEntityTooLarge(message: string): StatusError {
  return failure(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`)
}

/** 415: the body is in a form that this resource does not take. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return failure(415, 'UnsupportedMediaType', message)
}

/** 429: slow down; `retryAfterSeconds` also becomes the Retry-After header. */
export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return failure(429, 'TooManyRequests', message, compact({ retryAfterSeconds }))
}

/** 500 with a reason and the error as its cause. */
export function internalError(message: string): StatusError {
  return failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
}

/** 500 without a reason: what the real server answers when an error has no Status of its own. */
export function unknownError(message: string): StatusError {
  return failure(500, undefined, message)
}

/** 503: the server cannot answer now. */
export function serviceUnavailable(message: string): StatusError {
  return failure(503, 'ServiceUnavailable', message)
}

/** 504: it did not come in time. */
export function timeout(message: string, retryAfterSeconds: number = 0, causes?: readonly StatusCause[]): StatusError {
  return failure(504, 'Timeout', `Timeout: ${message}`, compact({ causes, retryAfterSeconds }))
}

/** 504: the resourceVersion asked for lies in the future. */
export function resourceVersionTooLarge(requested: string, current: string): StatusError {
  return timeout(`Too large resource version: ${requested}, current: ${current}`, 1, [
    { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' },
  ])
}

function hasReason(error: unknown, code: number, ...reasons: readonly string[]): boolean {
  if (!(error instanceof StatusError)) return false
  return error.reason === '' ? error.code === code : reasons.includes(error.reason)
}

/** The object, or the resource, is not there. */
export function isNotFound(error: unknown): error is StatusError {
  return hasReason(error, 404, 'NotFound')
}

/** A name that is taken. */
export function isAlreadyExists(error: unknown): error is StatusError {
  return error instanceof StatusError && error.reason === 'AlreadyExists'
}

/** A lost race: a stale resourceVersion, a failed precondition, or fields of another manager. */
export function isConflict(error: unknown): error is StatusError {
  return hasReason(error, 409, 'Conflict')
}

/** The caller may not do that. */
export function isForbidden(error: unknown): error is StatusError {
  return hasReason(error, 403, 'Forbidden')
}

/** No valid credentials. */
export function isUnauthorized(error: unknown): error is StatusError {
  return hasReason(error, 401, 'Unauthorized')
}

/** The object breaks rules. */
export function isInvalid(error: unknown): error is StatusError {
  return hasReason(error, 422, 'Invalid')
}

/** A resourceVersion or continue token that is too old: list again. */
export function isExpired(error: unknown): error is StatusError {
  return hasReason(error, 410, 'Expired', 'Gone')
}

/** The server asks for fewer requests. */
export function isTooManyRequests(error: unknown): error is StatusError {
  return hasReason(error, 429, 'TooManyRequests')
}

/** It did not come in time, whoever waited. */
export function isTimeout(error: unknown): error is StatusError {
  return hasReason(error, 504, 'Timeout', 'ServerTimeout')
}

/** The write was refused because the namespace is being deleted. */
export function isNamespaceTerminating(error: unknown): error is StatusError {
  return (
    isForbidden(error) && (error.status.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating')
  )
}

/** A value is a Status of failure, as the last event of a watch or the body of an answer. */
export function isFailureStatus(value: unknown): value is Status {
  if (typeof value !== 'object' || value === null) return false
  const { kind, status } = value as Partial<Status>
  return kind === 'Status' && status === 'Failure'
}
