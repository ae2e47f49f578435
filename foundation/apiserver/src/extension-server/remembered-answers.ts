// Answers of another server that count for a while: one question at a time for all who ask the same, bounded in number, failures not kept.
import type { Clock } from '@fairlead/kube'

interface Remembered<T> {
  until: number
  readonly answer: Promise<T>
}

/** A cache of answers. */
export class RememberedAnswers<T> {
  readonly #clock: Clock
  readonly #lifetime: number
  readonly #most: number
  readonly #answers = new Map<string, Remembered<T>>()

  /** `lifetime` in milliseconds, from the moment of the answer; `most` answers are kept. */
  constructor(clock: Clock, lifetime: number, most: number) {
    this.#clock = clock
    this.#lifetime = lifetime
    this.#most = most
  }

  /** The answer to a question, asked with `ask` if it is not known. Rejects as `ask` does. */
  async of(question: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(question)
    if (known !== undefined && this.#clock.monotonic() < known.until) return known.answer
    const asked: Remembered<T> = { until: Number.POSITIVE_INFINITY, answer: ask() }
    this.#answers.delete(question)
    this.#answers.set(question, asked)
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > this.#most && oldest !== undefined) this.#answers.delete(oldest)
    try {
      const answer = await asked.answer
      asked.until = this.#clock.monotonic() + this.#lifetime
      return answer
    } catch (error) {
      if (this.#answers.get(question) === asked) this.#answers.delete(question)
      throw error
    }
  }
}
