// The real Clock: the one place in Fairlead, beside the load generators, that may ask the operating system for the
// time.
import type { Clock } from '@fairlead/kube'

/** The longest delay a Node timer can hold; longer ones fire at once, so they are chained instead. */
const longestTimer = 2 ** 31 - 1

/** Wall-clock time of this machine. Timers never keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const timer = systemTimer(ms, () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      })
      const stop = (): void => {
        timer[Symbol.dispose]()
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', stop, { once: true })
    }),
  timer: systemTimer,
}

/** Keeps the process alive: somebody waits for what only timers, or a server in this process, will bring about. */
export function keepAlive(): Disposable {
  const handle = setInterval(() => {}, longestTimer)
  return { [Symbol.dispose]: () => clearInterval(handle) }
}

/**
 * Never early: Node counts from the start of the turn that set the timer, which may be long ago, so what is left is
 * waited for again.
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
