// Cycles of a directed graph: strongly connected components by Tarjan's algorithm, without recursion.

/** Returns the components that hold a cycle: two nodes or more, or one with an edge to itself; each sorted. */
export function cyclesOf(edges: Iterable<readonly [from: string, to: string]>): readonly (readonly string[])[] {
  const targets = new Map<string, Set<string>>()
  for (const [from, to] of edges) {
    targets.set(from, (targets.get(from) ?? new Set()).add(to))
    if (!targets.has(to)) targets.set(to, new Set())
  }
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const isOpen = new Set<string>()
  const found: (readonly string[])[] = []
  for (const start of targets.keys()) {
    if (order.has(start)) continue
    const path: { node: string; rest: Iterator<string> }[] = []
    const enter = (node: string): void => {
      order.set(node, order.size)
      low.set(node, order.size - 1)
      open.push(node)
      isOpen.add(node)
      path.push({ node, rest: (targets.get(node) as Set<string>).values() })
    }
    enter(start)
    for (let frame = path.at(-1); frame !== undefined; frame = path.at(-1)) {
      const { node, rest } = frame
      const next = rest.next()
      if (next.done !== true) {
        if (!order.has(next.value)) enter(next.value)
        else if (isOpen.has(next.value))
          low.set(node, Math.min(low.get(node) as number, order.get(next.value) as number))
        continue
      }
      path.pop()
      const parent = path.at(-1)?.node
      if (parent !== undefined) low.set(parent, Math.min(low.get(parent) as number, low.get(node) as number))
      if (low.get(node) !== order.get(node)) continue
      const component = open.splice(open.lastIndexOf(node))
      for (const member of component) isOpen.delete(member)
      if (component.length > 1 || targets.get(node)?.has(node) === true) found.push(component.toSorted())
    }
  }
  return found.toSorted((a, b) => (a.join('\0') < b.join('\0') ? -1 : 1))
}
