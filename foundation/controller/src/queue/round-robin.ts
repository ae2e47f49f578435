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

  /**
   * Removes and returns the next id of a group that `isServed`; its group goes to the end of the round. Groups that are
   * not served keep their ids.
   */
  shift(isServed: (group: string) => boolean = () => true): string | undefined {
    const group = this.#nextGroup(isServed)
    if (group === undefined) return undefined
    const waiting = this.#groups.get(group)!
    const id = waiting.shift()
    if (waiting.length > 0) this.#order.push(group)
    else this.#groups.delete(group)
    return id
  }

  #nextGroup(isServed: (group: string) => boolean): string | undefined {
    for (let left = this.#order.length; left > 0; left--) {
      const group = this.#order.shift()!
      if (isServed(group)) return group
      this.#order.push(group)
    }
    return undefined
  }
}
