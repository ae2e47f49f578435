// Repeating requests that may be repeated: reads, when the server asked for patience or the connection broke.
import type { Clock } from '@fairlead/kube'
import { retryAfterSeconds } from './response.ts'
import { backoffDelay } from './backoff.ts'
import { isClientError } from './client-error.ts'
import type { ApiRequest, ApiResponse } from './transport.ts'

/** Limits of retries. */
export interface RetryOptions {
  readonly clock: Clock
  readonly random: () => number
  /** Attempts in all; 4 when left out. */
  readonly attempts?: number
  /** A longer `Retry-After` is not waited for: the error is returned. Milliseconds; 30 s when left out. */
  readonly patience?: number
}

/**
 * Sends a request; a GET is retried when the response is 429 or 503 with `Retry-After`, or when there is none.
 * Everything else is sent once: a write whose response was lost may have happened.
 */
export async function withRetries(
  request: ApiRequest,
  send: (request: ApiRequest) => Promise<ApiResponse>,
  options: RetryOptions,
): Promise<ApiResponse> {
  if (request.method !== 'GET') return send(request)
  const attempts = options.attempts ?? 4
  for (let attempt = 1; ; attempt++) {
    let wait: number
    try {
      const response = await send(request)
      const asked = response.status === 429 || response.status === 503 ? retryAfterSeconds(response) : undefined
      if (asked === undefined || attempt === attempts || asked * 1000 > (options.patience ?? 30_000)) return response
      wait = Math.max(asked * 1000, 50) * (1 + 0.2 * options.random())
    } catch (error) {
      if (attempt === attempts || request.signal?.aborted || !isClientError(error, 'ConnectionFailed')) throw error
      wait = backoffDelay(attempt, { base: 100, cap: 2000, random: options.random })
    }
    await options.clock.sleep(wait, request.signal)
  }
}
