// The code blocks of a tutorial, as its reader uses them. The word behind the language says what to do with a block:
//   sh                      run it; it must succeed. Variables and folders are kept for the next one.
//   sh terminal until="…"   leave it running in a terminal of its own; go on when it has printed the text
//   console                 run what follows `$ `, and compare what it prints: `…` is any text; `kubectl get` is
//                           repeated for a while
//   LANGUAGE file=NAME      save it
// Other blocks are only shown.

/** A block and the line that it begins on. */
export type Step = { readonly line: number } & (
  | { readonly do: 'run'; readonly script: string }
  | { readonly do: 'leave running'; readonly script: string; readonly until: string }
  | { readonly do: 'compare'; readonly command: string; readonly output: string }
  | { readonly do: 'save'; readonly file: string; readonly text: string }
)

/** The steps of a page, in order. */
export function stepsOf(markdown: string): readonly Step[] {
  return [...markdown.matchAll(/^```(\w+)([^\n]*)\n([^]*?)^```$/gm)].flatMap((match): Step[] => {
    const [, language, more = '', text = ''] = match
    const line = markdown.slice(0, match.index).split('\n').length
    const file = /\bfile=(\S+)/.exec(more)?.[1]
    const until = /\bterminal until="([^"]+)"/.exec(more)?.[1]
    if (file !== undefined) return [{ line, do: 'save', file, text }]
    if (until !== undefined) return [{ line, do: 'leave running', script: text, until }]
    if (language === 'sh') return [{ line, do: 'run', script: text }]
    return language === 'console' ? comparisons(line, text) : []
  })
}

function comparisons(line: number, text: string): Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...output] = part.split('\n')
      return { line, do: 'compare', command, output: output.join('\n').trimEnd() }
    })
}

/**
 * True when an output is as the page shows it: `…` matches any text, a line of it alone any lines, and columns may
 * be wider.
 */
export function isAsShown(actual: string, shown: string): boolean {
  const pattern = shown
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(escape).join('[ \\t]+'))
    .join('\n')
    .replaceAll(/(^|\n)…(?=\n|$)/g, '$1[^]*?')
    .replaceAll('…', '[^\\n]*')
  return new RegExp(`^${pattern}$`).test(
    actual
      .trimEnd()
      .split('\n')
      .map((line) => line.trim())
      .join('\n'),
  )
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
