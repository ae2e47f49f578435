// Edits of single strings in a YAML or JSON file of a user: everything else stays byte for byte.
import type { Document, Node } from 'yaml'
import { yamlLibrary } from './library.ts'

/** A string to set at a path of keys and indices. Maps on the path must exist; the last key need not. */
export interface YamlEdit {
  readonly path: readonly (string | number)[]
  readonly value: string
}

/**
 * Returns the source with the strings set. Comments, order, quoting and spacing of the rest stay. Undefined when a map
 * on a path is missing, an alias or empty. The source must be one document that parses.
 */
export function setYamlStrings(source: string, edits: readonly YamlEdit[]): string | undefined {
  const { parseDocument } = yamlLibrary()
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
  // JSON quoting is valid YAML and makes the type unambiguous.
  const text = JSON.stringify(value)
  const present = rangeOf(document.getIn(path, true), source)
  if (present !== undefined) return { ...present, text }
  if (document.getIn(path, true) !== undefined) return undefined
  const map = document.getIn(path.slice(0, -1), true) as
    | { items?: readonly { key: unknown }[]; flow?: boolean }
    | undefined
  const first = rangeOf(map?.items?.[0]?.key, source)
  if (map === undefined || first === undefined) return undefined
  // Inserted before the first key, whose indentation it takes.
  const line = source.lastIndexOf('\n', first.from - 1) + 1
  const separator = map.flow === true ? ', ' : `\n${' '.repeat(first.from - line)}`
  return { from: first.from, to: first.from, text: `${JSON.stringify(path.at(-1))}: ${text}${separator}` }
}

/** Returns the range of a scalar without the line break at the end of a block. */
function rangeOf(node: unknown, source: string): { from: number; to: number } | undefined {
  if (typeof node !== 'object' || node === null || !('value' in node)) return undefined
  const { range } = node as Node
  if (!range) return undefined
  return { from: range[0], to: range[0] + source.slice(range[0], range[1]).trimEnd().length }
}
