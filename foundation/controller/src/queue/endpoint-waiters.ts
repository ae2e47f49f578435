// Who waits for which endpoint: a success at one wakes all whose last attempt failed there (design decision 14).

/** EndpointWaiters that failed, and those who wait for them. */
export class EndpointWaiters {
  readonly #waiting = new Map<string, Map<string, () => void>>()

  /** `wake` is called once, at the next success of the endpoint. `waiter` names who waits; it waits only once. */
  waitFor(endpoint: string, waiter: string, wake: () => void): void {
    let waiting = this.#waiting.get(endpoint)
    if (waiting === undefined) this.#waiting.set(endpoint, (waiting = new Map()))
    waiting.set(waiter, wake)
  }

  /** The endpoint answered as it should. */
  succeeded(endpoint: string): void {
    const waiting = this.#waiting.get(endpoint)
    if (waiting === undefined) return
    this.#waiting.delete(endpoint)
    for (const wake of waiting.values()) wake()
  }

  /** Nobody waits for these any more. */
  forget(waiterPrefix: string): void {
    for (const [endpoint, waiting] of this.#waiting) {
      for (const waiter of waiting.keys()) if (waiter.startsWith(waiterPrefix)) waiting.delete(waiter)
      if (waiting.size === 0) this.#waiting.delete(endpoint)
    }
  }
}
