// A queue of ids that serves groups round-robin, and within a group in FIFO order.

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

/** The queue. With one group only it is plain FIFO. */
export class RoundRobin {
  readonly #groups = new Map<string, Fifo>()
  readonly #order = new Fifo()

  push(group: string, id: string): void {
    let waiting = this.#groups.get(group)
    if (waiting === undefined) {
      this.#groups.set(group, (waiting = new Fifo()))
      this.#order.push(group)
    }
    waiting.push(id)
  }

  /** Removes and returns the next id; its group goes to the end of the round. */
  shift(): string | undefined {
    const group = this.#order.shift()
    if (group === undefined) return undefined
    const waiting = this.#groups.get(group)!
    const id = waiting.shift()
    if (waiting.length > 0) this.#order.push(group)
    else this.#groups.delete(group)
    return id
  }
}
