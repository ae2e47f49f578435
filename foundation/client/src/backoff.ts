// Exponential backoff with jitter.

/** Numbers of a {@link Backoff}. Times in milliseconds. */
export interface BackoffOptions {
  /** The first wait. */
  readonly base: number
  /** No wait is longer, jitter aside. */
  readonly cap: number
  /** Growth per attempt; 2 when left out. */
  readonly factor?: number
  /** Each wait is drawn from [wait, wait * (1 + jitter)]; 0.2 when left out. */
  readonly jitter?: number
  /** Random numbers in [0, 1). */
  readonly random: () => number
}

/** The wait before attempt `failures + 1` after `failures` failures in a row (1 or more), in milliseconds. */
export function backoffDelay(failures: number, options: BackoffOptions): number {
  const wait = Math.min(options.cap, options.base * (options.factor ?? 2) ** Math.min(failures - 1, 64))
  return wait * (1 + (options.jitter ?? 0.2) * options.random())
}

/** An exponential backoff with jitter that success resets. */
export class Backoff {
  readonly #options: BackoffOptions
  #failures = 0

  /** Starts at the shortest wait. */
  constructor(options: BackoffOptions) {
    this.#options = options
  }

  /** Failures since the last reset. */
  get failures(): number {
    return this.#failures
  }

  /** Counts one more failure and returns the wait, in milliseconds. */
  next(): number {
    this.#failures++
    return backoffDelay(this.#failures, this.#options)
  }

  reset(): void {
    this.#failures = 0
  }
}
