// Errors of action requests: an HTTP status and the error code of kAppNav (originals/kappnav.md §3.3).
import { isClientError } from '@fairlead/client'
import { SelectorError, StatusError } from '@fairlead/kube'
import { PatternError } from './patterns/pattern.ts'
import { InputError } from './runs/inputs.ts'

/**
 * Error codes; each prefixes the message:
 * - `input-error`: an input of the action, or of the request, is missing or does not fit.
 * - `pattern-error`: a pattern cannot be resolved; the message is that of the PatternError.
 * - `validation-error`: the inputs do not match the form of the action.
 * - `syntax-error`: a body, selector or map that cannot be parsed.
 * - `not-found`: the resource, the action or the Job does not exist.
 * - `forbidden`: the caller lacks a right; the message names verb and resource.
 * - `internal-error`: the server or one of its webhooks failed.
 */
export type ActionErrorKind =
  | 'input-error'
  | 'pattern-error'
  | 'validation-error'
  | 'syntax-error'
  | 'not-found'
  | 'forbidden'
  | 'internal-error'

/** A failed action request. `message` begins with the kind and a colon. */
export class ActionError extends Error {
  override readonly name = 'ActionError'
  readonly kind: ActionErrorKind
  /** HTTP status. */
  readonly status: number
  /** The invalid field of the form, if the error is about one. */
  readonly field: string | undefined

  constructor(
    status: number,
    kind: ActionErrorKind,
    message: string,
    options: ErrorOptions & { readonly field?: string | undefined } = {},
  ) {
    super(`${kind}: ${message}`, options)
    this.status = status
    this.kind = kind
    this.field = options.field
  }
}

/** Returns the ActionError for an error that a caller can cause; undefined for any other. */
export function asActionError(error: unknown): ActionError | undefined {
  if (error instanceof ActionError) return error
  if (error instanceof InputError)
    return new ActionError(422, error.kind, error.message, { cause: error, field: error.field })
  if (error instanceof PatternError) return new ActionError(422, 'pattern-error', error.message, { cause: error })
  if (error instanceof SelectorError) return new ActionError(422, 'syntax-error', error.message, { cause: error })
  // A kind that was served a moment ago.
  if (isClientError(error, 'UnknownKind')) return new ActionError(404, 'not-found', error.message, { cause: error })
  if (error instanceof StatusError)
    return new ActionError(error.code, kindOf(error.code), error.message, { cause: error })
  return undefined
}

function kindOf(code: number): ActionErrorKind {
  if (code === 401 || code === 403) return 'forbidden'
  if (code === 404) return 'not-found'
  return code >= 500 ? 'internal-error' : 'input-error'
}
