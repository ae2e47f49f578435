// A signal with a deadline, for requests that nothing else would end.
import type { Clock } from '@fairlead/kube'

/** A signal that aborts with another one, or with a TimeoutError after some time. Disposing it stops the timer. */
export class Deadline implements Disposable {
  readonly signal: AbortSignal
  readonly #end: () => void

  /** `ms`: milliseconds of `clock`; `message`: that of the TimeoutError. */
  constructor(clock: Clock, ms: number, signal: AbortSignal, message: string) {
    const controller = new AbortController()
    const abort = (): void => controller.abort(signal.reason)
    const timer = clock.timer(Math.max(0, ms), () => controller.abort(new DOMException(message, 'TimeoutError')))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    this.signal = controller.signal
    this.#end = () => {
      timer[Symbol.dispose]()
      signal.removeEventListener('abort', abort)
    }
  }

  [Symbol.dispose](): void {
    this.#end()
  }
}
