// Limits how many runs are in progress at a time; the others wait in FIFO order.

/** The limit. */
export class Limit {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Runs as soon as fewer than the limit are in progress. */
  async run<R>(work: () => Promise<R>): Promise<R> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
