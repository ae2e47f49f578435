// Defaults of structural schemas, and removal of nulls that are not nullable. Only changed parts are copied; defaults
// are shared, so values must be treated as frozen.
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, setOwn } from '../own-property.ts'
import { additionalOf, defaultOf, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/**
 * Applies the defaults of a schema below existing objects, lists and maps: a missing field, and a null one that is not
 * nullable, gets its default; a null that is neither nullable nor defaulted is removed from its object (it stays in a
 * list, where validation rejects it). Idempotent; returns the same value when nothing changes.
 */
export function applySchemaDefaults(value: JsonValue, schema: TypeSchema, options: DefaultOptions = {}): JsonValue {
  return defaulted(value, resolveNode(schema.root, schema), { schema, keepsNulls: options.keepsNulls === true })
}

/** Options of {@link applySchemaDefaults}. */
export interface DefaultOptions {
  /** Nulls without a default stay, and validation rejects them (server-side apply). */
  readonly keepsNulls?: boolean
}

interface Defaulting {
  readonly schema: TypeSchema
  readonly keepsNulls: boolean
}

function defaulted(value: JsonValue, node: SchemaNode, defaulting: Defaulting): JsonValue {
  if (isJsonArray(value)) return defaultedList(value, node, defaulting)
  return isJsonObject(value) ? defaultedObject(value, node, defaulting) : value
}

function defaultedList(list: readonly JsonValue[], node: SchemaNode, defaulting: Defaulting): JsonValue {
  if (node.items === undefined) return list
  const items = resolveNode(node.items, defaulting.schema)
  let changed: JsonValue[] | undefined
  for (const [index, item] of list.entries()) {
    const filled = item === null && items.nullable !== true ? (defaultOf(node.items, items) ?? null) : item
    const next = defaulted(filled, items, defaulting)
    if (next !== item) (changed ??= [...list])[index] = next
  }
  return changed ?? list
}

function defaultedObject(object: JsonObject, node: SchemaNode, defaulting: Defaulting): JsonValue {
  const additional = additionalOf(node)
  if (node.properties === undefined && additional === undefined) return object
  let changed: MutableJsonObject | undefined
  for (const key of Object.keys(object)) {
    const child = propertyOf(node, key) ?? additional
    if (child === undefined) continue
    const resolved = resolveNode(child, defaulting.schema)
    const field = object[key]!
    const filled = field === null && resolved.nullable !== true ? defaultOf(child, resolved) : field
    if (filled === undefined) {
      if (defaulting.keepsNulls) continue
      changed ??= { ...object }
      delete changed[key]
      continue
    }
    const next = defaulted(filled, resolved, defaulting)
    if (next !== field) setOwn((changed ??= { ...object }), key, next)
  }
  for (const key of defaultedKeys(node, defaulting.schema)) {
    if (Object.hasOwn(object, key)) continue
    const child = node.properties![key]!
    const resolved = resolveNode(child, defaulting.schema)
    setOwn((changed ??= { ...object }), key, defaulted(defaultOf(child, resolved)!, resolved, defaulting))
  }
  return changed ?? object
}

const keysWithDefaults = new WeakMap<SchemaNode, readonly string[]>()

/** Returns the properties that have a default; cached, because it is called for every object of the kind. */
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
