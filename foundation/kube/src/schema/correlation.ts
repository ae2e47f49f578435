// Correlation of a new value with its old one: fields by name, items of map lists by their keys; items of other lists
// do not correlate.
import { marshalGoJson } from '../go-json.ts'
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
  const identity = identityOf(after, node, items, schema)
  if (identity === undefined) return undefined
  const old = itemsByKey(parent.old, node, items, schema).get(identity)
  return old === undefined ? undefined : { old, new: after, node: items }
}

const indices = new WeakMap<readonly JsonValue[], { readonly node: SchemaNode; readonly items: Items }>()
type Items = ReadonlyMap<string, JsonValue>

/** Returns the items of a list by the identity of their keys; of equal ones the first. */
function itemsByKey(list: readonly JsonValue[], node: SchemaNode, items: SchemaNode, schema: TypeSchema): Items {
  const known = indices.get(list)
  if (known?.node === node) return known.items
  const found = new Map<string, JsonValue>()
  for (const item of list) {
    const identity = identityOf(item, node, items, schema)
    if (identity !== undefined && !found.has(identity)) found.set(identity, item)
  }
  indices.set(list, { node, items: found })
  return found
}

/** Returns the keys of an item of a map list, with their defaults, as a string; undefined for what is no object. */
function identityOf(item: JsonValue, node: SchemaNode, items: SchemaNode, schema: TypeSchema): string | undefined {
  if (!isJsonObject(item)) return undefined
  const keys = node['x-kubernetes-list-map-keys'] ?? []
  return marshalGoJson(
    keys.map((key) => {
      const value = ownValue(item, key) ?? defaultOfKey(key, items, schema)
      return value === undefined ? [] : [value]
    }),
  )
}

function defaultOfKey(key: string, items: SchemaNode, schema: TypeSchema): JsonValue | undefined {
  const property = propertyOf(items, key)
  return property && defaultOf(property, resolveNode(property, schema))
}
