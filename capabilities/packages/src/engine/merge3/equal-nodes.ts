// Equality of YAML nodes by value: style, comments and the order of keys do not count.
import type { Node, Pair, YAMLMap } from 'yaml'
import { yamlLibrary } from '@fairlead/kube'
import { keyOf } from '../yaml/json-value.ts'

/** The nodes have the same value; two absent ones have. */
export function equalNodes(a: Node | null | undefined, b: Node | null | undefined): boolean {
  if (a === b) return true
  const { isMap, isScalar, isSeq } = yamlLibrary()
  if (a === undefined || b === undefined) return false
  if (isNull(a) || isNull(b)) return isNull(a) && isNull(b)
  if (isScalar(a)) return isScalar(b) && sameScalar(a.value, b.value)
  if (isSeq(a))
    return (
      isSeq(b) &&
      a.items.length === b.items.length &&
      a.items.every((item, index) => equalNodes(item as Node | null, b.items[index] as Node | null))
    )
  return isMap(a) && isMap(b) && equalMaps(a, b)
}

/** The node is absent, empty or an explicit null. */
export function isNull(node: Node | null | undefined): boolean {
  return node === null || node === undefined || (yamlLibrary().isScalar(node) && node.value === null)
}

function equalMaps(a: YAMLMap, b: YAMLMap): boolean {
  if (a.items.length !== b.items.length) return false
  const values = new Map((b.items as Pair<Node, Node | null>[]).map(({ key, value }) => [keyOf(key), value]))
  return (a.items as Pair<Node, Node | null>[]).every(({ key, value }) => {
    const name = keyOf(key)
    return values.has(name) && equalNodes(value, values.get(name)!)
  })
}

function sameScalar(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.from(a).equals(b)
  // 1 and 1.0 are one number.
  const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'bigint'
  return isNumber(a) && isNumber(b) && Number(a) === Number(b) && String(a) === String(b)
}
