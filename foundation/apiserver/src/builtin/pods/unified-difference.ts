// Unified differences of lines, three lines of context around each change, without file names.

const context = 3

/** Texts that differ over more lines than this many pairs are shown as replaced: the table would hold up everyone else. */
const maxPairs = 1_000_000

interface Edit {
  readonly kind: ' ' | '-' | '+'
  readonly line: string
  /** Lines before this one, in each text. */
  readonly from: number
  readonly to: number
}

/** Hunks from one list of lines to another, each line ended; '' when they are equal. */
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

/** The shortest edits between two texts: equal ends are cut off, the rest goes through the table of longest common subsequences. */
function editsBetween(from: readonly string[], to: readonly string[]): Edit[] {
  let head = 0
  while (head < from.length && head < to.length && from[head] === to[head]) head += 1
  let tail = 0
  while (tail < from.length - head && tail < to.length - head && from.at(-1 - tail) === to.at(-1 - tail)) tail += 1
  const edits: Edit[] = []
  for (let index = 0; index < head; index++) edits.push({ kind: ' ', line: from[index] ?? '', from: index, to: index })
  const [a, b] = [from.slice(head, from.length - tail), to.slice(head, to.length - tail)]
  const lengths = a.length * b.length > maxPairs ? [] : commonLengths(a, b)
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const place = { from: head + i, to: head + j }
    if (i < a.length && j < b.length && lengths.length > 0 && a[i] === b[j]) {
      edits.push({ kind: ' ', line: a[i] ?? '', ...place })
      i += 1
      j += 1
    } else if (j >= b.length || (i < a.length && (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))) {
      edits.push({ kind: '-', line: a[i] ?? '', ...place })
      i += 1
    } else {
      edits.push({ kind: '+', line: b[j] ?? '', ...place })
      j += 1
    }
  }
  for (let index = tail; index > 0; index--)
    edits.push({ kind: ' ', line: from.at(-index) ?? '', from: from.length - index, to: to.length - index })
  return edits
}

/** `lengths[i][j]`: how many lines a from i and b from j have in common, in order. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly Uint32Array[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = lengths[i]
      if (row === undefined) continue
      row[j] = a[i] === b[j] ? (lengths[i + 1]?.[j + 1] ?? 0) + 1 : Math.max(lengths[i + 1]?.[j] ?? 0, row[j + 1] ?? 0)
    }
  }
  return lengths
}
