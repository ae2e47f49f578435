// The real Clock: the only place in Fairlead, beside the load generators, that reads the time of the operating system.
import type { Clock } from '@fairlead/kube'

/** The longest delay of a Node timer; longer ones fire at once, so they are chained instead. */
const longestTimer = 2 ** 31 - 1

/**
 * Wall-clock time of this machine. A sleep keeps the process alive until it ends, as its caller awaits it; a timer does
 * not.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const alive = keepAlive()
      const timer = systemTimer(ms, () => {
        signal?.removeEventListener('abort', stop)
        alive[Symbol.dispose]()
        resolve()
      })
      const stop = (): void => {
        timer[Symbol.dispose]()
        alive[Symbol.dispose]()
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', stop, { once: true })
    }),
  timer: systemTimer,
}

/**
 * Keeps the process alive until disposed: for callers that wait for timers, for a server in this process, or for one
 * that is not reachable. Without it Node ends such a process with exit code 13.
 */
export function keepAlive(): Disposable {
  const handle = setInterval(() => {}, longestTimer)
  return { [Symbol.dispose]: () => clearInterval(handle) }
}

/**
 * Never fires early: Node counts from the start of the event-loop iteration that set the timer, so the timer is set
 * again for the rest.
 */
function systemTimer(ms: number, run: () => void): Disposable {
  const due = performance.now() + Math.max(0, ms)
  let handle: NodeJS.Timeout
  const arm = (left: number): void => {
    handle = setTimeout(
      () => {
        const rest = due - performance.now()
        if (rest > 0) arm(rest)
        else run()
      },
      Math.min(Math.ceil(left), longestTimer),
    )
    handle.unref()
  }
  arm(Math.max(0, ms))
  return { [Symbol.dispose]: () => clearTimeout(handle) }
}
