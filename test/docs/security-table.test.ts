// The table of inputs in docs/explanation/security.md: every capability has rows, and the tests that hold them exist.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './reader.ts'

const page = 'docs/explanation/security.md'

interface Row {
  readonly capability: string
  readonly cells: readonly string[]
}

/** Returns the rows of the tables below the heading "Inputs, one by one", by the capability of their heading. */
function rowsOf(markdown: string): readonly Row[] {
  const from = markdown.indexOf('\n## Inputs, one by one\n')
  const section = markdown.slice(from + 1).split(/^## /m)[1] ?? ''
  return section
    .split(/^### /m)
    .slice(1)
    .flatMap((part) => {
      const [capability = '', ...lines] = part.split('\n')
      return lines
        .filter((line) => /^\| (?!---|input )/.test(line))
        .map((line) => ({ capability, cells: line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')) }))
    })
}

const rows = rowsOf(readFileSync(join(root, page), 'utf8'))

test('lists inputs of map, composite and decorator controllers, supply chains, actions, references, packages, package variants and AWS resources', () => {
  expect([...new Set(rows.map(({ capability }) => capability))]).toEqual([
    'Map controllers',
    'Composite and decorator controllers',
    'Supply chains',
    'Actions',
    'References',
    'Packages',
    'Package variants',
    'AWS resources',
  ])
  for (const { cells } of rows) expect(cells.filter((cell) => cell.trim() !== '')).toHaveLength(4)
})

test.each(rows.map(({ capability, cells }): [string, string, string] => [capability, cells[0]!, cells[3]!]))(
  '%s: the tests that hold "%s" exist',
  (_capability, _input, tests) => {
    const links = [...tests.matchAll(/\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+)\)/g)]
    expect(links.length).toBeGreaterThan(0)
    for (const [, title, file] of links) {
      const source = readFileSync(join(root, file!), 'utf8')
      expect(
        [`'${title!}'`, `"${title!}"`].some((quoted) => source.includes(quoted)) ? title : `${file!} lacks ${title!}`,
      ).toBe(title)
    }
  },
)
