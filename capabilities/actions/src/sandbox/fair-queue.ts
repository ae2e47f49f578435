// A queue in which groups take turns: a group with many items delays others by one item at a time.

/** A FIFO queue per group, served round robin. */
export class FairQueue<T> {
  /** In the order of their next turn. */
  readonly #groups = new Map<string, T[]>()

  /** Appends an item to its group. */
  push(group: string, item: T): void {
    const items = this.#groups.get(group)
    if (items === undefined) this.#groups.set(group, [item])
    else items.push(item)
  }

  /** Removes the first item of the group whose turn it is; undefined when the queue is empty. */
  shift(): T | undefined {
    for (const [group, items] of this.#groups) {
      const item = items.shift()
      this.#groups.delete(group)
      if (items.length > 0) this.#groups.set(group, items)
      return item
    }
    return undefined
  }

  /** Removes and returns all items. */
  clear(): readonly T[] {
    const all = [...this.#groups.values()].flat()
    this.#groups.clear()
    return all
  }
}
