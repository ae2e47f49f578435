// A queue of ids that serves groups in turn, and within a group in order of arrival.

class Fifo {
  #items: string[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: string): void {
    this.#items.push(item)
  }

  shift(): string | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#head++
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}

/** Groups in turn. With one group only it is a plain queue. */
export class RoundRobin {
  readonly #groups = new Map<string, Fifo>()
  readonly #turns = new Fifo()

  push(group: string, id: string): void {
    let waiting = this.#groups.get(group)
    if (waiting === undefined) {
      this.#groups.set(group, (waiting = new Fifo()))
      this.#turns.push(group)
    }
    waiting.push(id)
  }

  /** The next id, whose group then waits for its next turn. */
  shift(): string | undefined {
    const group = this.#turns.shift()
    if (group === undefined) return undefined
    const waiting = this.#groups.get(group)!
    const id = waiting.shift()
    if (waiting.length > 0) this.#turns.push(group)
    else this.#groups.delete(group)
    return id
  }
}
