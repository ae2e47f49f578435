// Paths of replacements: `spec.containers.[name=web].image`, `metadata.annotations.[a.b/c]`, `spec.args.0`, `items.*`.
import type { Node } from 'yaml'
import { Scalar, YAMLMap, YAMLSeq, isMap, isScalar, isSeq } from 'yaml'
import { compileRegex } from '@fairlead/kube'
import { pairOf, scalarText, setNode, setText } from '../engine/render/fields.ts'

/** A place that holds a value: a key of a map, or an index of a list. */
export interface FoundPlace {
  readonly node: Node
  /** Puts another node there. */
  readonly replace: (node: Node) => void
}

/** Splits a path at dots outside brackets; `\.` is a dot of a key. */
export function splitPath(path: string): readonly string[] {
  const parts: string[] = []
  let part = ''
  let isBracketed = false
  for (let index = 0; index < path.length; index += 1) {
    const character = path.charAt(index)
    if (character === '\\' && path.charAt(index + 1) === '.') {
      part += '.'
      index += 1
    } else if (character === '.' && !isBracketed) {
      parts.push(part)
      part = ''
    } else {
      if (character === '[' && part === '') isBracketed = true
      if (character === ']') isBracketed = false
      part += character
    }
  }
  parts.push(part)
  // A key in brackets is a key; one with `=` selects elements of a list.
  return parts.map((each) => (/^\[.*\]$/s.test(each) && !each.includes('=') ? each.slice(1, -1) : each))
}

/** Finds the places of a path. `create` makes what is missing; the leaf is a scalar then, or a map. */
export function findPlaces(
  root: YAMLMap,
  path: readonly string[],
  create?: 'scalar' | 'map' | 'list',
): readonly FoundPlace[] {
  return find({ node: root, replace: () => undefined }, path, create)
}

function find(place: FoundPlace, path: readonly string[], create?: 'scalar' | 'map' | 'list'): readonly FoundPlace[] {
  const [part, ...rest] = path
  if (part === undefined) return [place]
  const { node } = place
  if (isSeq(node)) return findInList(node, part, rest, create)
  return isMap(node) ? findInMap(node, part, rest, create) : []
}

function findInMap(
  map: YAMLMap,
  key: string,
  rest: readonly string[],
  create?: 'scalar' | 'map' | 'list',
): readonly FoundPlace[] {
  const pair = pairOf(map, key)
  let value = pair?.value ?? undefined
  if (value === undefined) {
    if (create === undefined) return []
    value = newNode(rest[0], create)
    setNode(map, key, value)
  }
  return find({ node: value, replace: (node) => setNode(map, key, node) }, rest, create)
}

function findInList(
  list: YAMLSeq,
  part: string,
  rest: readonly string[],
  create?: 'scalar' | 'map' | 'list',
): readonly FoundPlace[] {
  const at = (index: number): FoundPlace => ({
    node: list.items[index] as Node,
    replace: (node) => {
      list.items[index] = node
    },
  })
  if (part === '*') return list.items.flatMap((_, index) => find(at(index), rest, create))
  if (/^\d+$/.test(part)) {
    const index = Number(part)
    if (index === list.items.length && create !== undefined) list.items.push(newNode(rest[0], create))
    return index < list.items.length ? find(at(index), rest, create) : []
  }
  const selector = /^\[([^=]*)=(.*)\]$/s.exec(part)
  if (selector === null) return []
  const [, key = '', value = ''] = selector
  const regex = compileRegex(value)
  const isMatch = (item: unknown): boolean => {
    const field = key === '' ? item : isMap(item) ? pairOf(item, key)?.value : undefined
    return isScalar(field) && regex.test(scalarText(field))
  }
  if (create !== undefined && !list.items.some((item) => isMatch(item))) {
    const added = key === '' ? new Scalar(value) : new YAMLMap()
    if (added instanceof YAMLMap) setText(added, [key], value)
    list.items.push(added)
  }
  return list.items.flatMap((item, index) => (isMatch(item) ? find(at(index), rest, create) : []))
}

/** Returns what a path needs next: a list for an index or a selector, a map for a key, the leaf at the end. */
function newNode(next: string | undefined, leaf: 'scalar' | 'map' | 'list'): Node {
  if (next === undefined) return leaf === 'scalar' ? new Scalar('') : leaf === 'map' ? new YAMLMap() : new YAMLSeq()
  return /^\d+$|^\[.*=.*\]$/s.test(next) ? new YAMLSeq() : new YAMLMap()
}
