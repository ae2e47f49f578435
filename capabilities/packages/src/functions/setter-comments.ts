// Setters: comments that say which values a field is built from, `image: nginx:1.7 # kpt-set: ${image}:${tag}`.
import type { Node, Pair, YAMLSeq } from 'yaml'
import { compileRegex } from '@fairlead/kube'

const prefix = 'kpt-set: '

/** Returns the pattern of a setter comment, or undefined for any other comment. */
export function setterPattern(comment: string | null | undefined): string | undefined {
  const text = comment?.trimStart()
  if (text === undefined || !text.startsWith(prefix)) return undefined
  const pattern = text.slice(prefix.length).trim()
  return pattern === '' ? undefined : pattern
}

/** Formats a pattern as the comment of a YAML node. */
export function setterComment(pattern: string): string {
  return ` ${prefix}${pattern}`
}

/** Returns the comment of a list: after its key, or after the list itself in flow style (`[a, b]`). */
export function listComment(pair: Pair<Node, Node>, list: YAMLSeq): string | null | undefined {
  return list.flow === true ? list.comment : pair.key.comment
}

/** Returns the references of a pattern: `${image}`, `${tag}`. */
export function settersOf(pattern: string): readonly string[] {
  return pattern.match(/\$\{[^}]*\}/g) ?? []
}

/** Returns the name in a reference. */
export function setterName(reference: string): string {
  return reference.trim().replace(/^\$\{/, '').replace(/\}$/, '')
}

/** Derives values of setters from a field's value; none when the pattern does not determine all of them. */
export function derivedValues(pattern: string, value: string): ReadonlyMap<string, string> {
  const references = settersOf(pattern)
  const parts = pattern.split(/\$\{[^}]*\}/).map((part) => part.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`))
  const groups = compileRegex(parts.join('(.*)')).groups(value)
  if (groups === undefined || groups.length !== references.length || groups.includes('')) return new Map()
  return new Map(references.map((reference, index) => [setterName(reference), groups[index] ?? '']))
}
