// New nodes for plain values. The library's own creation makes ordered maps (`!!omap`) of maps in this dialect.
import type { Node, YAMLMap } from 'yaml'
import type { JsonValue } from '@fairlead/kube'
import { isJsonArray, isJsonObject, yamlLibrary } from '@fairlead/kube'
import { keyOf } from './json-value.ts'
import { pairOf } from './resource-identity.ts'

/** Returns a node for a value; maps and lists in block style unless they are empty. */
export function newNode(value: JsonValue): Node {
  const { Pair, Scalar, YAMLMap: NewMap, YAMLSeq } = yamlLibrary()
  if (isJsonArray(value)) {
    const list = new YAMLSeq()
    list.items = value.map(newNode)
    return list
  }
  if (!isJsonObject(value)) return new Scalar(value)
  const map = new NewMap()
  map.items = Object.entries(value).map(([key, child]) => new Pair(new Scalar(key), newNode(child)))
  return map
}

/** Sets a field of a map: in place where it exists, with its comments, else behind the others. */
export function setField(map: YAMLMap, name: string, value: Node): void {
  setFields(map, [[name, value]])
}

/** Sets fields of a map, each as {@link setField} does. */
export function setFields(map: YAMLMap, fields: readonly (readonly [name: string, value: Node])[]): void {
  const { Pair, Scalar } = yamlLibrary()
  // An empty map between brackets would keep the new fields there.
  if (map.items.length === 0) map.flow = false
  const pairs = new Map(map.items.map((pair) => [keyOf(pair.key), pair] as const).toReversed())
  for (const [name, value] of fields) {
    const pair = pairs.get(name)
    if (pair !== undefined) pair.value = value
    else map.items.push(new Pair(new Scalar(name), value))
  }
}

/** Returns the map at a field, made where there is none. */
export function mapField(map: YAMLMap, name: string): YAMLMap {
  const { isMap, YAMLMap: NewMap } = yamlLibrary()
  const value = pairOf(map, name)?.value
  if (isMap(value)) return value
  const fresh = new NewMap()
  setField(map, name, fresh)
  return fresh
}
