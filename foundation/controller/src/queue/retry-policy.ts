// How long failed work waits: design decision 14. What is local (conflicts, user errors) backs off to 1000 s, what is
// remote to 60 s.
import { StatusError } from '@fairlead/kube'

/** Waits between attempts. Milliseconds. */
export interface RetryPolicy {
  readonly base: number
  readonly cap: number
  readonly jitter?: number
  /** No wait is shorter: the other side asked for patience. */
  readonly atLeast?: number
  /** Whose success ends the wait (`https://hooks.example.com`). */
  readonly endpoint?: string
}

/** For errors that somebody has to correct, and for lost races (client-go's 5 ms to 1000 s). */
export const localRetry: RetryPolicy = { base: 5, cap: 1_000_000 }

/** For errors of something remote that comes back by itself. */
export const remoteRetry: RetryPolicy = { base: 200, cap: 60_000 }

/** Something remote (a hook, git, a cloud) failed. `endpoint` names it: a success there wakes all that wait for it. */
export class RemoteError extends Error {
  readonly code: string
  readonly remote = true as const
  readonly endpoint: string | undefined
  /** Milliseconds that the other side asked to wait. */
  readonly retryAfter: number | undefined

  /** `code` is a stable CamelCase word; `endpoint` the name whose success ends the wait, `retryAfter` milliseconds. */
  constructor(
    code: string,
    message: string,
    options: { endpoint?: string; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'RemoteError'
    this.code = code
    this.endpoint = options.endpoint
    this.retryAfter = options.retryAfter
  }
}

/** The policy for an error that a reconcile threw. */
export function retryPolicyFor(error: unknown): RetryPolicy {
  if (error instanceof RemoteError) return { ...remoteRetry, atLeast: error.retryAfter, endpoint: error.endpoint }
  if (error instanceof StatusError) {
    if (error.code < 500 && error.code !== 429) return localRetry
    return { ...remoteRetry, atLeast: (error.status.details?.retryAfterSeconds ?? 0) * 1000 }
  }
  return isRemote(error) ? remoteRetry : localRetry
}

/** Errors say of themselves that they are remote; ClientError does. */
function isRemote(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'remote' in error && error.remote === true
}
