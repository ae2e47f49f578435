// Changing single texts in a YAML or JSON file of somebody else's: everything around them stays byte for byte.
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type { Document, Node } from 'yaml'

/** A text to put at a path of keys and positions. Maps on the way must be there; the last key need not. */
export interface YamlEdit {
  readonly path: readonly (string | number)[]
  readonly value: string
}

/**
 * The source with texts put in. Comments, order, quoting and spacing of all else stay. Undefined where a path cannot be followed: a map on the way is not
 * there, is an alias, or is empty. The source must be one document that parses.
 */
export function withYamlTexts(source: string, edits: readonly YamlEdit[]): string | undefined {
  const { parseDocument } = createRequire(import.meta.url)('yaml') as typeof Yaml
  let text = source
  for (const edit of edits) {
    const replacement = replacementFor(parseDocument(text), text, edit)
    if (replacement === undefined) return undefined
    text = text.slice(0, replacement.from) + replacement.text + text.slice(replacement.to)
  }
  return text
}

function replacementFor(
  document: Document,
  source: string,
  { path, value }: YamlEdit,
): { from: number; to: number; text: string } | undefined {
  // JSON's quoting is YAML's, too, and leaves no doubt about the type.
  const text = JSON.stringify(value)
  const present = rangeOf(document.getIn(path, true), source)
  if (present !== undefined) return { ...present, text }
  if (document.getIn(path, true) !== undefined) return undefined
  const map = document.getIn(path.slice(0, -1), true) as
    | { items?: readonly { key: unknown }[]; flow?: boolean }
    | undefined
  const first = rangeOf(map?.items?.[0]?.key, source)
  if (map === undefined || first === undefined) return undefined
  // Before the first key, which tells the indentation.
  const line = source.lastIndexOf('\n', first.from - 1) + 1
  const separator = map.flow === true ? ', ' : `\n${' '.repeat(first.from - line)}`
  return { from: first.from, to: first.from, text: `${JSON.stringify(path.at(-1))}: ${text}${separator}` }
}

/** Where a scalar stands; the line break at the end of a block is not part of it. */
function rangeOf(node: unknown, source: string): { from: number; to: number } | undefined {
  if (typeof node !== 'object' || node === null || !('value' in node)) return undefined
  const { range } = node as Node
  if (!range) return undefined
  return { from: range[0], to: range[0] + source.slice(range[0], range[1]).trimEnd().length }
}
