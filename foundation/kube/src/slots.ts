// Places for work that runs at once: commands, requests.

/** Grants a fixed number of places, in FIFO order. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Resolves when a place is free; dispose it to give it back. Undefined when `signal` aborts first. */
  async acquire(signal: AbortSignal): Promise<Disposable | undefined> {
    if (signal.aborted) return undefined
    if (this.#free > 0) this.#free--
    else if (!(await this.#wait(signal))) return undefined
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#release()
        isHeld = false
      },
    }
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const granted = (): void => {
        signal.removeEventListener('abort', aborted)
        resolve(true)
      }
      const aborted = (): void => {
        const index = this.#waiting.indexOf(granted)
        if (index >= 0) this.#waiting.splice(index, 1)
        resolve(false)
      }
      this.#waiting.push(granted)
      signal.addEventListener('abort', aborted, { once: true })
    })
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
