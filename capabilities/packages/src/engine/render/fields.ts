// Reading and changing fields of a parsed resource in place: comments, key order and quoting of everything else stay.
import { Pair, Scalar, YAMLMap, isMap, isScalar, isSeq } from 'yaml'
import type { Node, YAMLSeq } from 'yaml'

/** Returns the pair of a key, undefined when the map has none. */
export function pairOf(map: YAMLMap, key: string): Pair<Node, Node | null> | undefined {
  for (const pair of map.items as Pair<Node, Node | null>[]) if (keyText(pair) === key) return pair
  return undefined
}

/** Returns a pair's key as a string. */
export function keyText(pair: Pair): string {
  return isScalar(pair.key) ? scalarText(pair.key) : String(pair.key)
}

/** Returns the value at a path of keys, undefined when a key is missing or a value on the way is no map. */
export function valueAt(map: YAMLMap, ...path: readonly string[]): Node | undefined {
  let node: Node | undefined = map
  for (const key of path) {
    if (!isMap(node)) return undefined
    node = pairOf(node, key)?.value ?? undefined
  }
  return node
}

/** Returns the map at a path, undefined when there is none. */
export function mapAt(map: YAMLMap, ...path: readonly string[]): YAMLMap | undefined {
  const node = valueAt(map, ...path)
  return isMap(node) ? node : undefined
}

/** Returns the list at a path, undefined when there is none. */
export function listAt(map: YAMLMap, ...path: readonly string[]): YAMLSeq | undefined {
  const node = valueAt(map, ...path)
  return isSeq(node) ? node : undefined
}

/** Returns the maps that the list at a path holds; none when there is no list. */
export function mapsAt(map: YAMLMap, ...path: readonly string[]): YAMLMap[] {
  return (listAt(map, ...path)?.items ?? []).filter((item) => isMap(item))
}

/** Returns a scalar as it is written, the empty string for null. */
export function scalarText(scalar: Scalar): string {
  const { value, source } = scalar
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return source ?? String(value)
}

/** Returns the scalar at a path as it is written, undefined when there is none. */
export function textAt(map: YAMLMap, ...path: readonly string[]): string | undefined {
  const node = valueAt(map, ...path)
  return isScalar(node) ? scalarText(node) : undefined
}

/** Returns the scalars of the map at a path as they are written. */
export function textsAt(map: YAMLMap, ...path: readonly string[]): Map<string, string> {
  const texts = new Map<string, string>()
  for (const pair of mapAt(map, ...path)?.items ?? [])
    if (isScalar(pair.value)) texts.set(keyText(pair), scalarText(pair.value))
  return texts
}

/** A value that does not fit where a field is set: a scalar or list where a map is needed. */
export class FieldTypeError extends TypeError {
  override readonly name = 'FieldTypeError'
  readonly code = 'FieldType'

  constructor(path: readonly string[]) {
    super(`field ${path.join('.')} is no map`)
  }
}

/**
 * Sets a string. Missing maps on the way are created, new keys go to the end; an existing value keeps its comments.
 * @throws FieldTypeError when a value on the way is no map
 */
export function setText(map: YAMLMap, path: readonly string[], value: string): void {
  let current = map
  for (const [index, key] of path.slice(0, -1).entries()) {
    const pair = pairOf(current, key)
    const next = pair?.value
    if (isMap(next)) current = next
    else if (next !== undefined && next !== null && !isNull(next)) throw new FieldTypeError(path.slice(0, index + 1))
    else {
      const created = new YAMLMap()
      setNode(current, key, created)
      current = created
    }
  }
  setNode(current, path.at(-1) ?? '', new Scalar(value))
}

/** Sets a node; the comments of a value that it replaces go to it. New keys go to the end. */
export function setNode(map: YAMLMap, key: string, node: Node): void {
  const pair = pairOf(map, key)
  if (pair === undefined) {
    // A map created in a flow map or out of `{}` is written as a block.
    if (map.items.length === 0) map.flow = false
    map.items.push(new Pair(new Scalar(key), node))
    return
  }
  copyComments(pair.value, node)
  pair.value = node
}

/** Writes a scalar's value; quoting stays when `keepStyle`, otherwise it is chosen by the writer. */
export function setScalar(
  scalar: Scalar,
  value: unknown,
  { keepStyle = false }: { readonly keepStyle?: boolean } = {},
): void {
  scalar.value = value
  delete scalar.source
  if (!keepStyle) delete scalar.type
}

/** Copies the comments of a value that is replaced. */
export function copyComments(from: Node | null | undefined, to: Node): void {
  if (!from) return
  if (from.comment !== undefined && from.comment !== null) to.comment ??= from.comment
  if (from.commentBefore !== undefined && from.commentBefore !== null) to.commentBefore ??= from.commentBefore
}

/** Removes a key. Returns whether it was there. */
export function removeField(map: YAMLMap, key: string): boolean {
  const index = map.items.findIndex((pair) => keyText(pair) === key)
  if (index === -1) return false
  map.items.splice(index, 1)
  return true
}

export function isNull(node: Node): boolean {
  return isScalar(node) && (node.value === null || node.value === undefined)
}
