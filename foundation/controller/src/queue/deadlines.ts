// Ids with deadlines, earliest first; a binary heap whose outdated entries are skipped.

interface Deadline {
  readonly at: number
  readonly id: string
}

/** Deadlines by id. Each id has one: the earliest that was set. */
export class Deadlines {
  readonly #at = new Map<string, number>()
  readonly #heap: Deadline[] = []

  get size(): number {
    return this.#at.size
  }

  has(id: string): boolean {
    return this.#at.has(id)
  }

  /** Sets a deadline unless an earlier one is set. */
  set(id: string, at: number): void {
    const before = this.#at.get(id)
    if (before !== undefined && before <= at) return
    this.#at.set(id, at)
    this.#push({ at, id })
  }

  delete(id: string): void {
    this.#at.delete(id)
  }

  clear(): void {
    this.#at.clear()
    this.#heap.length = 0
  }

  /** The earliest deadline, undefined when there is none. */
  next(): number | undefined {
    this.#dropOutdated()
    return this.#heap[0]?.at
  }

  /** Removes and returns the earliest id that is due at `now`. */
  take(now: number): string | undefined {
    this.#dropOutdated()
    const first = this.#heap[0]
    if (first === undefined || first.at > now) return undefined
    this.#pop()
    this.#at.delete(first.id)
    return first.id
  }

  #dropOutdated(): void {
    for (let first = this.#heap[0]; first !== undefined && this.#at.get(first.id) !== first.at; first = this.#heap[0])
      this.#pop()
  }

  #push(entry: Deadline): void {
    const heap = this.#heap
    let place = heap.length
    heap.push(entry)
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (heap[parent]!.at <= entry.at) break
      heap[place] = heap[parent]!
      place = parent
    }
    heap[place] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child++
      if (heap[child]!.at >= last.at) break
      heap[place] = heap[child]!
      place = child
    }
    heap[place] = last
  }
}
