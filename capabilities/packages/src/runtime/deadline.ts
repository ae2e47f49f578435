// A limit of time for what waits with a signal.
import type { Clock } from '@fairlead/kube'

/** A signal that aborts with that of the caller, or when the time is up. Disposing it ends the time. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal
}

/** Starts a limit of `ms` milliseconds. */
export function deadline(clock: Clock, ms: number, signal: AbortSignal): Deadline {
  const late = new AbortController()
  const timer = clock.timer(ms, () => late.abort(new Error(`not done within ${ms / 1000} s`)))
  return { signal: AbortSignal.any([signal, late.signal]), [Symbol.dispose]: () => timer[Symbol.dispose]() }
}
