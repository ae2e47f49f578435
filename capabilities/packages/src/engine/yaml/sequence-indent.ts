// Indentation of lists, which a rewritten file keeps.

/** `wide`: dashes two columns behind their key; `compact`: below it. */
export type SequenceIndent = 'wide' | 'compact'

/** Returns the indentation of the first list below a key, as kyaml derives it; undefined without one. */
export function sequenceIndentOf(source: string): SequenceIndent | undefined {
  const lines = source.split('\n')
  for (const [index, line] of lines.entries()) {
    const dash = /^( *)- /.exec(line)
    const key = dash && /^( *)[^:]+:$/.exec(lineBefore(lines, index).replace(/#.*$/, '').replace(/ +$/, ''))
    if (!dash || !key) continue
    const width = dash[1]!.length - key[1]!.length
    if (width === 0) return 'compact'
    if (width === 2) return 'wide'
  }
  return undefined
}

function lineBefore(lines: readonly string[], index: number): string {
  for (let at = index - 1; at >= 0; at--) if (!lines[at]!.trimStart().startsWith('#')) return lines[at]!
  return ''
}
