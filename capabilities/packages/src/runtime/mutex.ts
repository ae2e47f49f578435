// Mutual exclusion in one process; waiters are served in FIFO order.

/** A lock. `using _lock = await mutex.acquire()`. */
export class Mutex {
  #last: Promise<void> = Promise.resolve()

  async acquire(): Promise<Disposable> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    await before
    return { [Symbol.dispose]: resolve }
  }
}
