// Fills in what a schema has defaults for, and drops nulls that may not stay. Copies only what it changes; defaults are shared, not copied,
// so values must be treated as frozen.
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, setOwn } from '../own-property.ts'
import { additionalOf, defaultOf, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/**
 * Applies the defaults of a schema below existing objects, lists and maps: a missing member, and a null one that is not nullable, takes its
 * default; a null that is neither nullable nor defaulted is dropped from its object (it stays in a list, where validation refuses it).
 * Idempotent; the same value comes back when there is nothing to do.
 */
export function applySchemaDefaults(value: JsonValue, schema: TypeSchema, options: DefaultOptions = {}): JsonValue {
  return defaulted(value, resolveNode(schema.root, schema), options.keepsNulls === true ? keepingNulls(schema) : schema)
}

/** How to default. */
export interface DefaultOptions {
  /** Nulls without a default stay where they are, for validation to refuse (server-side apply). */
  readonly keepsNulls?: boolean
}

const nullKeepers = new WeakSet<TypeSchema>()

/** The schema, marked: walking it leaves nulls alone. */
function keepingNulls(schema: TypeSchema): TypeSchema {
  const marked: TypeSchema = { root: schema.root, resolve: (ref) => schema.resolve(ref) }
  nullKeepers.add(marked)
  return marked
}

function defaulted(value: JsonValue, node: SchemaNode, schema: TypeSchema): JsonValue {
  if (isJsonArray(value)) return defaultedList(value, node, schema)
  return isJsonObject(value) ? defaultedObject(value, node, schema) : value
}

function defaultedList(list: readonly JsonValue[], node: SchemaNode, schema: TypeSchema): JsonValue {
  if (node.items === undefined) return list
  const items = resolveNode(node.items, schema)
  let changed: JsonValue[] | undefined
  for (const [index, item] of list.entries()) {
    const filled = item === null && items.nullable !== true ? (defaultOf(node.items, items) ?? null) : item
    const next = defaulted(filled, items, schema)
    if (next !== item) (changed ??= [...list])[index] = next
  }
  return changed ?? list
}

function defaultedObject(object: JsonObject, node: SchemaNode, schema: TypeSchema): JsonValue {
  const additional = additionalOf(node)
  if (node.properties === undefined && additional === undefined) return object
  let changed: MutableJsonObject | undefined
  for (const key of Object.keys(object)) {
    const child = propertyOf(node, key) ?? additional
    if (child === undefined) continue
    const resolved = resolveNode(child, schema)
    const member = object[key]!
    const filled = member === null && resolved.nullable !== true ? defaultOf(child, resolved) : member
    if (filled === undefined) {
      if (nullKeepers.has(schema)) continue
      changed ??= { ...object }
      delete changed[key]
      continue
    }
    const next = defaulted(filled, resolved, schema)
    if (next !== member) setOwn((changed ??= { ...object }), key, next)
  }
  for (const key of defaultedKeys(node, schema)) {
    if (Object.hasOwn(object, key)) continue
    const child = node.properties![key]!
    const resolved = resolveNode(child, schema)
    setOwn((changed ??= { ...object }), key, defaulted(defaultOf(child, resolved)!, resolved, schema))
  }
  return changed ?? object
}

const keysWithDefaults = new WeakMap<SchemaNode, readonly string[]>()

/** The properties that have a default; remembered, because every object of the kind asks. */
function defaultedKeys(node: SchemaNode, schema: TypeSchema): readonly string[] {
  let keys = keysWithDefaults.get(node)
  if (keys === undefined) {
    const properties = Object.entries(node.properties ?? {})
    keys = properties
      .filter(([, child]) => defaultOf(child, resolveNode(child, schema)) !== undefined)
      .map(([key]) => key)
    keysWithDefaults.set(node, keys)
  }
  return keys
}
