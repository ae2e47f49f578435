// Suspends calls of hooks that are down: after some failures in a row, one call at a time tries whether the hook is
// back.
import { backoffDelay } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'

/** Failures in a row after which calls are suspended. */
const maxFailures = 5
/** Milliseconds between two calls of a hook that is down. Short: the first that succeeds wakes all that wait. */
const pauses = { base: 500, cap: 5000, jitter: 0 }

interface Endpoint {
  failures: number
  /** Calls since the hook counts as down. */
  attempts: number
  /** When the next call may be made, in milliseconds of the clock. */
  nextCall: number
  lastError: string
}

/** A refusal to call a hook now. */
export interface Suspension {
  /** Milliseconds until the next call may be made. */
  readonly retryAfter: number
  /** Failures in a row so far. */
  readonly failures: number
  readonly lastError: string
}

/** The failures of the endpoints of one client. */
export class CircuitBreaker {
  readonly #clock: Clock
  readonly #endpoints = new Map<string, Endpoint>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns why an endpoint must not be called now; undefined when it may be called. */
  suspension(name: string): Suspension | undefined {
    const endpoint = this.#endpoints.get(name)
    if (endpoint === undefined || endpoint.failures < maxFailures) return undefined
    const { failures, lastError } = endpoint
    const retryAfter = endpoint.nextCall - this.#clock.now()
    if (retryAfter > 0) return { retryAfter, failures, lastError }
    // The caller tries whether the hook is back; the others wait for the outcome.
    endpoint.attempts++
    this.#pause(endpoint)
    return undefined
  }

  /** Records a call that the hook responded to. */
  succeeded(name: string): void {
    this.#endpoints.delete(name)
  }

  /** Records a call that failed because the hook is down. */
  failed(name: string, error: string): void {
    const endpoint = this.#endpoints.get(name) ?? { failures: 0, attempts: 0, nextCall: 0, lastError: '' }
    this.#endpoints.set(name, endpoint)
    endpoint.failures++
    endpoint.lastError = error
    this.#pause(endpoint)
  }

  #pause(endpoint: Endpoint): void {
    const pause = backoffDelay(endpoint.attempts + 1, { ...pauses, random: () => 0 })
    endpoint.nextCall = Math.max(endpoint.nextCall, this.#clock.now() + pause)
  }
}
