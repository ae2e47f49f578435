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
  /** True when an edge was removed since one of `#aside` was seen to close a cycle. */
  #isDoubtful = false
  #first = 0
  #last = 0

  /** True when the graph has a cycle. */
  get hasCycle(): boolean {
    if (this.#isDoubtful) this.#settle()
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
    if (take(this.#aside, from, to)) {
      this.#isDoubtful = this.#aside.size > 0
      return
    }
    if (!take(this.#out, from, to)) return
    take(this.#into, to, from)
    this.#forget(from, to)
    // It may have been part of the cycles that other edges closed.
    this.#isDoubtful = this.#aside.size > 0
  }

  /** Adds the edges set aside that close no cycle any more, up to the first one that does. */
  #settle(): void {
    this.#isDoubtful = false
    for (const [from, others] of this.#aside)
      for (const to of others) {
        take(this.#aside, from, to)
        this.add(from, to)
        if (this.#aside.get(from)?.has(to) === true) return
      }
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
    if (this.#hasPath(to, from)) return false
    const after = this.#reach(to, this.#out, (at) => at <= end)
    const before = this.#reach(from, this.#into, (at) => at >= start)
    const inOrder = (nodes: Iterable<string>): readonly string[] =>
      [...nodes].toSorted((a, b) => this.#positionOf(a) - this.#positionOf(b))
    const nodes = [...inOrder(before), ...inOrder(after)]
    const positions = nodes.map((node) => this.#positionOf(node)).toSorted((a, b) => a - b)
    for (const [index, node] of nodes.entries()) this.#position.set(node, positions[index] as number)
    return true
  }

  /**
   * Reports whether a path leads from one node to the other. Searched from both ends in turn, so that a node with many
   * edges at one end costs no more than the other end.
   */
  #hasPath(start: string, end: string): boolean {
    const [first, last] = [this.#positionOf(start), this.#positionOf(end)]
    const side = (edges: ReadonlyMap<string, ReadonlySet<string>>, node: string): Side => ({
      edges,
      seen: new Set([node]),
      rest: [edges.get(node)?.values()],
    })
    const sides = [side(this.#out, start), side(this.#into, end)]
    for (;;)
      for (const [index, { edges, seen, rest }] of sides.entries()) {
        const next = nextOf(rest)
        if (next === undefined) return false
        const at = this.#positionOf(next)
        if (at < first || at > last || seen.has(next)) continue
        if (sides[1 - index]!.seen.has(next)) return true
        seen.add(next)
        rest.push(edges.get(next)?.values())
      }
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

/** One end of a search. */
interface Side {
  readonly edges: ReadonlyMap<string, ReadonlySet<string>>
  readonly seen: Set<string>
  /** Iterators of the edges that were not followed yet. */
  readonly rest: (Iterator<string> | undefined)[]
}

/** Returns the next of the last iterator that has one; undefined when none has. */
function nextOf(iterators: (Iterator<string> | undefined)[]): string | undefined {
  while (iterators.length > 0) {
    const next = iterators.at(-1)?.next()
    if (next !== undefined && next.done !== true) return next.value
    iterators.pop()
  }
  return undefined
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
