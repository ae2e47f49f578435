// Correlation of a new value with its old one: fields by name, items of map lists by their keys; items of other lists
// do not correlate.
import { jsonEqual } from '../json.ts'
import type { JsonValue } from '../object.ts'
import { isJsonArray, isJsonObject, ownValue } from '../own-property.ts'
import { additionalOf, defaultOf, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/** A value before and after, with its structural schema. `old` undefined: it did not exist. */
export interface Correlation {
  readonly old: JsonValue | undefined
  readonly new: JsonValue
  readonly node: SchemaNode
}

/**
 * Returns the correlation of a field; undefined when the schema does not declare it or the old parent is not an object.
 */
export function correlateField(parent: Correlation, key: string, schema: TypeSchema): Correlation | undefined {
  if (!isJsonObject(parent.old) || !isJsonObject(parent.new)) return undefined
  const child = propertyOf(parent.node, key) ?? additionalOf(parent.node)
  const after = ownValue(parent.new, key)
  if (child === undefined || after === undefined) return undefined
  return { old: ownValue(parent.old, key), new: after, node: resolveNode(child, schema) }
}

/** Returns the correlation of an item of a map list; undefined for other lists and for new items. */
export function correlateItem(parent: Correlation, index: number, schema: TypeSchema): Correlation | undefined {
  const { node } = parent
  if (node['x-kubernetes-list-type'] !== 'map' || node.items === undefined) return undefined
  if (!isJsonArray(parent.old) || !isJsonArray(parent.new)) return undefined
  const items = resolveNode(node.items, schema)
  const after = parent.new[index]
  if (after === undefined) return undefined
  const keys = node['x-kubernetes-list-map-keys'] ?? []
  const old = parent.old.find((item) => keys.every((key) => hasSameKey(item, after, key, items, schema)))
  return old === undefined ? undefined : { old, new: after, node: items }
}

function hasSameKey(a: JsonValue, b: JsonValue, key: string, items: SchemaNode, schema: TypeSchema): boolean {
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const property = propertyOf(items, key)
  const fallback = property && defaultOf(property, resolveNode(property, schema))
  const [left, right] = [ownValue(a, key) ?? fallback, ownValue(b, key) ?? fallback]
  return left === undefined || right === undefined ? left === right : jsonEqual(left, right)
}
