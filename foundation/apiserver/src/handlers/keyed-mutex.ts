// Writers of one object that have got in each other's way take turns: without it, n writers of a hot object need n² attempts.

/** Turns by key. Whoever waits goes in order of arrival. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /** Waits for those who came before. The turn ends when it is disposed; disposing it again does nothing. */
  async take(key: string): Promise<Disposable> {
    const before = this.#last.get(key)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last.set(key, promise)
    await before
    return {
      [Symbol.dispose]: () => {
        if (this.#last.get(key) === promise) this.#last.delete(key)
        resolve()
      },
    }
  }
}
