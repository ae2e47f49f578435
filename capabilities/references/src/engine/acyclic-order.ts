// An order of the nodes of a graph in which every edge leads forward, kept edge by edge (Pearce and Kelly, 2006): with
// it a graph without a cycle needs no search. Edges that would close a cycle are set aside.

/** The order of a graph. An edge is added once before it is removed. */
export class AcyclicOrder {
  readonly #position = new Map<string, number>()
  /** Edges of the order, in both directions. */
  readonly #out = new Map<string, Set<string>>()
  readonly #into = new Map<string, Set<string>>()
  /** Edges that close a cycle, by their begin. */
  readonly #aside = new Map<string, Set<string>>()
  #first = 0
  #last = 0

  /** True when the graph has a cycle. */
  get hasCycle(): boolean {
    return this.#aside.size > 0
  }

  /** Adds an edge. */
  add(from: string, to: string): void {
    const isOrdered = from !== to && this.#makeRoom(from, to)
    put(isOrdered ? this.#out : this.#aside, from, to)
    if (isOrdered) put(this.#into, to, from)
    else this.#forget(from, to)
  }

  /** Removes an edge. */
  remove(from: string, to: string): void {
    if (take(this.#aside, from, to)) return
    if (!take(this.#out, from, to)) return
    take(this.#into, to, from)
    this.#forget(from, to)
    // It may have been part of the cycles that other edges closed.
    const aside = [...this.#aside]
    this.#aside.clear()
    for (const [one, others] of aside) for (const other of others) this.add(one, other)
  }

  #forget(...nodes: readonly string[]): void {
    for (const node of nodes) if (!this.#out.has(node) && !this.#into.has(node)) this.#position.delete(node)
  }

  /** Orders two nodes so that the first is before the second; returns false when a path leads back. */
  #makeRoom(from: string, to: string): boolean {
    // A node without edges takes the end where nothing has to move.
    if (!this.#position.has(to)) this.#position.set(to, ++this.#last)
    if (!this.#position.has(from)) this.#position.set(from, --this.#first)
    const [start, end] = [this.#positionOf(to), this.#positionOf(from)]
    if (end < start) return true
    const after = this.#reach(to, this.#out, (at) => at <= end)
    if (after.has(from)) return false
    const before = this.#reach(from, this.#into, (at) => at >= start)
    const inOrder = (nodes: Iterable<string>): readonly string[] =>
      [...nodes].toSorted((a, b) => this.#positionOf(a) - this.#positionOf(b))
    const nodes = [...inOrder(before), ...inOrder(after)]
    const positions = nodes.map((node) => this.#positionOf(node)).toSorted((a, b) => a - b)
    for (const [index, node] of nodes.entries()) this.#position.set(node, positions[index] as number)
    return true
  }

  #positionOf(node: string): number {
    return this.#position.get(node) as number
  }

  /** Returns the nodes that edges lead to, the first included, over positions that match. */
  #reach(
    start: string,
    edges: ReadonlyMap<string, ReadonlySet<string>>,
    matches: (at: number) => boolean,
  ): ReadonlySet<string> {
    const seen = new Set([start])
    const open = [start]
    for (let node = open.pop(); node !== undefined; node = open.pop())
      for (const one of edges.get(node) ?? []) {
        if (seen.has(one) || !matches(this.#positionOf(one))) continue
        seen.add(one)
        open.push(one)
      }
    return seen
  }
}

function put(edges: Map<string, Set<string>>, from: string, to: string): void {
  edges.set(from, (edges.get(from) ?? new Set()).add(to))
}

function take(edges: Map<string, Set<string>>, from: string, to: string): boolean {
  const targets = edges.get(from)
  if (targets?.delete(to) !== true) return false
  if (targets.size === 0) edges.delete(from)
  return true
}
