// The signals that stop a server: one stops it gracefully, a second one at once.
import { systemClock } from '@fairlead/client'

/**
 * Signals that arrive within this time are one: a Ctrl-C reaches a whole process group, and a launcher or a supervisor
 * may forward it. Milliseconds.
 */
const sameSignal = 250

/** Returns a signal that aborts with the name of the first SIGINT, SIGTERM or SIGHUP; the second one exits with 130. */
export function stopOnSignals(): AbortSignal {
  const stop = new AbortController()
  let isNext = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (isNext) {
        process.stderr.write('Stopped at once.\n')
        process.exit(130)
      }
      if (stop.signal.aborted) return
      // What arrived while this process was busy is delivered after its timers, and before its immediates.
      systemClock.timer(sameSignal, () => setImmediate(() => (isNext = true)))
      stop.abort(signal)
    })
  }
  return stop.signal
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
