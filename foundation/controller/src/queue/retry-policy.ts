// Retry policies (design decision 14): local failures (conflicts, user errors) back off to 1000 s, remote ones to 60 s.
// Which failure has which policy is in failure.ts.

/** Delays between attempts. Milliseconds. */
export interface RetryPolicy {
  readonly base: number
  readonly cap: number
  readonly jitter?: number
  /** Minimum delay: the remote side sent a `Retry-After`. */
  readonly atLeast?: number
  /** The endpoint whose success ends the delay (`https://hooks.example.com`). */
  readonly endpoint?: string
}

/** For errors that a user has to correct, and for conflicts (client-go's 5 ms to 1000 s). */
export const localRetry: RetryPolicy = { base: 5, cap: 1_000_000 }

/** For errors of remote endpoints that recover by themselves. */
export const remoteRetry: RetryPolicy = { base: 200, cap: 60_000 }

/**
 * A remote endpoint (a hook, git, a cloud) failed. `endpoint` names it: a success there wakes all work that waits for
 * it.
 */
export class RemoteError extends Error {
  readonly code: string
  readonly remote = true as const
  readonly endpoint: string | undefined
  /** Milliseconds of the remote side's `Retry-After`. */
  readonly retryAfter: number | undefined

  /** `code` is a stable CamelCase word; `endpoint` the name whose success ends the delay, `retryAfter` milliseconds. */
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
