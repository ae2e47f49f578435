// Errors of AWS, and what they mean for the next attempt (originals/ack.md §3.6, design decision 14).
import type { ResourceKind } from './resource-kind.ts'

/** Details of an {@link AwsError}. */
export interface AwsErrorDetails {
  /** HTTP status; undefined when there was no response. */
  readonly status?: number
  readonly throttled?: boolean
  readonly cause?: unknown
}

/** A call to AWS that failed. */
export class AwsError extends Error {
  /** Code of the service, such as `ValidationException`, or a code of ours for a call that was not made. */
  readonly code: string
  readonly status: number | undefined
  readonly throttled: boolean

  constructor(code: string, message: string, { status, throttled = false, cause }: AwsErrorDetails = {}) {
    super(message, { cause })
    this.name = 'AwsError'
    this.code = code
    this.status = status
    this.throttled = throttled
  }
}

/**
 * Meanings of a failed call:
 * - `terminal`: refused for good; the object has to change;
 * - `propagating`: a new role cannot be assumed yet, which passes within seconds;
 * - `remote`: throttled, or the service failed; it is not known whether the call took effect;
 * - `exists`: there is a resource of the name, which an earlier call may have created whose outcome was lost;
 * - `refused`: refused now; something else may have to change.
 */
export type FailureMeaning = 'terminal' | 'propagating' | 'remote' | 'exists' | 'refused'

const assumeRole = /could not assume role|cannot be assumed|unable to assume/i
/** A resource of the name exists. IAM has a code for it, SageMaker a message. */
const existing = /^Cannot create already existing/
const throttling = ['Throttling', 'ThrottlingException', 'TooManyRequestsException', 'RequestLimitExceeded', 'SlowDown']

/** Returns what a failure means. */
export function meaningOf({ code, message, status, throttled }: AwsError, kind: ResourceKind): FailureMeaning {
  if (kind.terminalCodes.includes(code)) return 'terminal'
  if (assumeRole.test(message)) return 'propagating'
  if (throttled || throttling.includes(code) || !hadNoEffect(status)) return 'remote'
  if (code.startsWith('EntityAlreadyExists') || existing.test(message)) return 'exists'
  return 'refused'
}

/** Reports whether a status says that the call had no effect. A response that cannot be read may be of one that had. */
function hadNoEffect(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 408
}
