// Unified differences of lines, three lines of context around each change, without file names.

const context = 3

interface Edit {
  readonly kind: ' ' | '-' | '+'
  readonly line: string
  /** The number of lines before this one, on each side. */
  readonly from: number
  readonly to: number
}

/** Returns the hunks from one list of lines to another, each with a newline; '' when they are equal. */
export function unifiedDifference(from: readonly string[], to: readonly string[]): string {
  const edits = editsBetween(from, to)
  const changed = edits.flatMap(({ kind }, index) => (kind === ' ' ? [] : [index]))
  const hunks: { start: number; end: number }[] = []
  for (const index of changed) {
    const last = hunks.at(-1)
    if (last !== undefined && index - context <= last.end) last.end = Math.min(index + context + 1, edits.length)
    else hunks.push({ start: Math.max(index - context, 0), end: Math.min(index + context + 1, edits.length) })
  }
  return hunks.map(({ start, end }) => hunk(edits.slice(start, end))).join('')
}

function hunk(edits: readonly Edit[]): string {
  const first = edits[0]
  const removed = edits.filter(({ kind }) => kind !== '+').length
  const added = edits.filter(({ kind }) => kind !== '-').length
  const header = `@@ -${range(first?.from ?? 0, removed)} +${range(first?.to ?? 0, added)} @@\n`
  return header + edits.map(({ kind, line }) => `${kind}${line}\n`).join('')
}

function range(before: number, length: number): string {
  if (length === 1) return String(before + 1)
  return `${length === 0 ? before : before + 1},${length}`
}

/** Returns the edits between the blocks that both sides share. */
function editsBetween(from: readonly string[], to: readonly string[]): Edit[] {
  const edits: Edit[] = []
  let [i, j] = [0, 0]
  const push = (kind: Edit['kind'], line: string): number => edits.push({ kind, line, from: i, to: j })
  for (const block of [...commonBlocks(from, to), { from: from.length, to: to.length, size: 0 }]) {
    for (; i < block.from; i++) push('-', from[i] ?? '')
    for (; j < block.to; j++) push('+', to[j] ?? '')
    for (let line = 0; line < block.size; line++, i++, j++) push(' ', from[i] ?? '')
  }
  return edits
}

interface Block {
  readonly from: number
  readonly to: number
  readonly size: number
}

/**
 * Finds the longest block of equal lines, then recursively before and after it (Ratcliff and Obershelp, as Python's
 * difflib).
 */
function commonBlocks(from: readonly string[], to: readonly string[]): Block[] {
  const places = placesOf(to)
  const blocks: Block[] = []
  const open = [{ fromStart: 0, fromEnd: from.length, toStart: 0, toEnd: to.length }]
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const block = longestBlock(from, to, places, range)
    if (block.size === 0) continue
    blocks.push(block)
    open.push({ ...range, fromEnd: block.from, toEnd: block.to })
    open.push({ ...range, fromStart: block.from + block.size, toStart: block.to + block.size })
  }
  return blocks.toSorted((a, b) => a.from - b.from)
}

/** Returns the positions of each line on the second side; in long inputs a very frequent line starts no block. */
function placesOf(lines: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [index, line] of lines.entries()) {
    const known = places.get(line)
    if (known === undefined) places.set(line, [index])
    else known.push(index)
  }
  if (lines.length < 200) return places
  const limit = Math.floor(lines.length / 100) + 1
  return new Map([...places].filter(([, indexes]) => indexes.length <= limit))
}

function longestBlock(
  from: readonly string[],
  to: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
  range: { fromStart: number; fromEnd: number; toStart: number; toEnd: number },
): Block {
  let best: Block = { from: range.fromStart, to: range.toStart, size: 0 }
  let lengths = new Map<number, number>()
  for (let i = range.fromStart; i < range.fromEnd; i++) {
    const next = new Map<number, number>()
    for (const j of places.get(from[i] ?? '') ?? []) {
      if (j < range.toStart || j >= range.toEnd) continue
      const size = (lengths.get(j - 1) ?? 0) + 1
      next.set(j, size)
      if (size > best.size) best = { from: i - size + 1, to: j - size + 1, size }
    }
    lengths = next
  }
  return extended(from, to, best, range)
}

/** Extends a block by equal lines around it that cannot start one. */
function extended(
  from: readonly string[],
  to: readonly string[],
  block: Block,
  range: { fromStart: number; fromEnd: number; toStart: number; toEnd: number },
): Block {
  let { from: i, to: j, size } = block
  while (i > range.fromStart && j > range.toStart && from[i - 1] === to[j - 1]) [i, j, size] = [i - 1, j - 1, size + 1]
  while (i + size < range.fromEnd && j + size < range.toEnd && from[i + size] === to[j + size]) size += 1
  return { from: i, to: j, size }
}
