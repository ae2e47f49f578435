// How a reconcile ends: with nothing (done), with `after(…)` (again later), by throwing (again with backoff), by
// throwing `terminal(…)` (not until it changes).
import { parseGoDuration } from '@fairlead/kube'

/** Work is asked for again: in so many milliseconds, or at a time (milliseconds since the epoch). */
export type After = { readonly after: number } | { readonly at: number }

/** What a reconcile returns. */
export type Result = After | void

/**
 * Reconciles again later: in so many milliseconds, after a Go duration (`30s`, `1h30m`), or at a Date by the manager's
 * clock. An event before that is not held up, and the earliest of several wishes wins. Throws DurationError for a text
 * that is none, RangeError for a Date that is none.
 */
export function after(time: number | string | Date): After {
  if (time instanceof Date) {
    if (Number.isNaN(time.getTime())) throw new RangeError('after() was given a Date that is no time')
    return { at: time.getTime() }
  }
  return { after: Math.max(0, typeof time === 'number' ? time : parseGoDuration(time)) }
}

/** Trying again would not help: somebody has to change something first. */
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
 * `throw terminal('spec.size must be odd', { reason: 'InvalidSize' })`: not again until the object, or something that
 * was read, changes.
 */
export function terminal(message: string | Error, options: { readonly reason?: string } = {}): TerminalError {
  return typeof message === 'string'
    ? new TerminalError(message, options)
    : new TerminalError(message.message, { ...options, cause: message })
}
