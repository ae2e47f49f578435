// Work that waits for remote endpoints: a success at one wakes all work whose last attempt failed there (design
// decision 14).

/** Waiters of failed endpoints. */
export class EndpointWaiters {
  readonly #waiting = new Map<string, Map<string, () => void>>()

  /** Calls `wake` once, at the next success of the endpoint. A waiter is registered once under its name. */
  waitFor(endpoint: string, waiter: string, wake: () => void): void {
    let waiting = this.#waiting.get(endpoint)
    if (waiting === undefined) this.#waiting.set(endpoint, (waiting = new Map()))
    waiting.set(waiter, wake)
  }

  /** Wakes the waiters of an endpoint that succeeded. */
  succeeded(endpoint: string): void {
    const waiting = this.#waiting.get(endpoint)
    if (waiting === undefined) return
    this.#waiting.delete(endpoint)
    for (const wake of waiting.values()) wake()
  }

  /** Removes all waiters whose name has a prefix. */
  forget(waiterPrefix: string): void {
    for (const [endpoint, waiting] of this.#waiting) {
      for (const waiter of waiting.keys()) if (waiter.startsWith(waiterPrefix)) waiting.delete(waiter)
      if (waiting.size === 0) this.#waiting.delete(endpoint)
    }
  }
}
