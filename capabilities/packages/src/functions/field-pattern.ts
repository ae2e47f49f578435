// Patterns of field paths: `*` is any element, `**` any number of them, `a[*]` any element of a list.

/** Reports whether a path such as `spec.containers[0].image` matches a pattern such as `**.containers[*].image`. */
export function matchesPath(path: string, pattern: string): boolean {
  const elements = path.split('.')
  // The states after an element: the positions in the pattern that can come next.
  const parts = pattern.split('.')
  let states = withSkips(new Set([0]), parts)
  for (const element of elements) {
    const next = new Set<number>()
    for (const state of states) {
      const part = parts[state]
      if (part === undefined) continue
      if (part === '**') next.add(state)
      else if (part === '*' || matchesElement(element, part)) next.add(state + 1)
    }
    states = withSkips(next, parts)
    if (states.size === 0) return false
  }
  return states.has(parts.length)
}

/** Adds the positions behind `**`, which may match nothing. */
function withSkips(states: Set<number>, parts: readonly string[]): Set<number> {
  for (const state of states) if (parts[state] === '**') states.add(state + 1)
  return states
}

function matchesElement(element: string, part: string): boolean {
  if (element === part) return true
  const [name, index] = element.split('[')
  const [wantedName, wantedIndex] = part.split('[')
  if (index === undefined || wantedIndex === undefined) return false
  return (wantedName === '*' || wantedName === name) && (wantedIndex === '*]' || wantedIndex === index)
}
