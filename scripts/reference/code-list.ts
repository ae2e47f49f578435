// The meaning of each code of an error, from its comment: a list of lines that begin with the code in backticks, or
// the whole comment for an only code.

/** The meaning of each code. Throws Error for a code without one: a reader of the page has nothing else. */
export function codeMeanings(
  name: string,
  codes: readonly string[],
  comment: string,
  listed: string,
): ReadonlyMap<string, string> {
  const items = new Map([...itemsOf(comment), ...itemsOf(listed)])
  return new Map(
    codes.map((value) => {
      const meaning = items.get(value) ?? (codes.length === 1 ? oneLine(comment) : '')
      if (meaning === '')
        throw new Error(`${name} says nothing about its code ${value}: add "- \`${value}\`: ..." to its comment`)
      return [value, sentence(meaning)] as const
    }),
  )
}

/** Items run until the next one, or to an empty line. */
function itemsOf(comment: string): [string, string][] {
  return [...comment.matchAll(/^- `([\w-]+)`: ((?:.|\n(?!- |\n))*)/gm)].map((match) => [match[1]!, oneLine(match[2]!)])
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}
