// Results of a reconcile: nothing (done), `after(…)` (requeue later), an error (retry with backoff), `terminal(…)` (no
// retry until something changes).
import { parseGoDuration } from '@fairlead/kube'

/** Requeue after so many milliseconds, or at a time (milliseconds since the epoch). */
export type After = { readonly after: number } | { readonly at: number }

/** The result of a reconcile. */
export type Result = After | void

/**
 * Requeues later: after milliseconds, after a Go duration (`30s`, `1h30m`), or at a Date by the manager's clock.
 * Earlier events are not delayed, and the earliest of several deadlines counts. Throws DurationError for an invalid
 * duration, RangeError for an invalid Date.
 */
export function after(time: number | string | Date): After {
  if (time instanceof Date) {
    if (Number.isNaN(time.getTime())) throw new RangeError('after() was given a Date that is no time')
    return { at: time.getTime() }
  }
  return { after: Math.max(0, typeof time === 'number' ? time : parseGoDuration(time)) }
}

/** A failure that a retry cannot fix: a user has to change something first. */
export class TerminalError extends Error {
  /** Reason of the Ready condition and of the event, CamelCase. */
  readonly code: string

  constructor(message: string, options: { readonly reason?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.name = 'TerminalError'
    this.code = options.reason ?? 'Terminal'
  }
}

/**
 * Returns an error that is not retried until the object, or an object that was read, changes: `throw
 * terminal('spec.size must be odd', { reason: 'InvalidSize' })`.
 */
export function terminal(message: string | Error, options: { readonly reason?: string } = {}): TerminalError {
  return typeof message === 'string'
    ? new TerminalError(message, options)
    : new TerminalError(message.message, { ...options, cause: message })
}
