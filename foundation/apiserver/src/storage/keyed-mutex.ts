// A mutex per key. Concurrent writers of one object serialize on it: without it, n writers of a hot object need n²
// attempts.

/** Locks by key. Waiters are served in FIFO order. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>()

  /** Waits for the lock of a key. Disposing the result releases it; disposing it again does nothing. */
  async acquire(key: string): Promise<Disposable> {
    const previous = this.#last.get(key)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last.set(key, promise)
    await previous
    return {
      [Symbol.dispose]: () => {
        if (this.#last.get(key) === promise) this.#last.delete(key)
        resolve()
      },
    }
  }
}
