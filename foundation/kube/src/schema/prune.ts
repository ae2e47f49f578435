// Structural pruning: removes the fields that a schema does not specify and reports their paths. Nothing is changed in
// place: a value without such fields is returned unchanged, otherwise only the objects above a removed field are new.
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, setOwn } from '../own-property.ts'
import { additionalOf, joinPath, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/** The result of pruning. */
export interface Pruned {
  readonly value: JsonValue
  /** Paths of the fields that were dropped (`spec.list[0].typo`), sorted. */
  readonly pruned: readonly string[]
}

/** Options of pruning. */
export interface PruneOptions {
  /** The value is a whole object: apiVersion, kind and metadata at its root always stay. Default true. */
  readonly resourceRoot?: boolean
}

/**
 * Removes the fields that the schema does not specify. `x-kubernetes-preserve-unknown-fields` preserves those of its
 * own level, while specified fields below it are still pruned; embedded resources keep apiVersion, kind and metadata
 * unchanged.
 */
export function prune(value: JsonValue, schema: TypeSchema, options: PruneOptions = {}): Pruned {
  const pruned: string[] = []
  const root = resolveNode(schema.root, schema)
  const pruner = new Pruner(schema, pruned)
  const result = pruner.prune(
    value,
    options.resourceRoot === false ? root : { ...root, 'x-kubernetes-embedded-resource': true },
    '',
  )
  return { value: result, pruned: pruned.sort() }
}

/** Reports whether a field belongs to every object, regardless of its schema. */
export function isTypeOrObjectMeta(key: string): boolean {
  return key === 'apiVersion' || key === 'kind' || key === 'metadata'
}

class Pruner {
  readonly #schema: TypeSchema
  readonly #pruned: string[]

  constructor(schema: TypeSchema, pruned: string[]) {
    this.#schema = schema
    this.#pruned = pruned
  }

  /** `node` undefined: nothing is specified here, so every field of every object is removed. */
  prune(value: JsonValue, reference: SchemaNode | undefined, path: string): JsonValue {
    const node = reference && resolveNode(reference, this.#schema)
    if (isJsonArray(value)) return this.#list(value, node, path)
    return isJsonObject(value) ? this.#object(value, node, path) : value
  }

  #list(list: readonly JsonValue[], node: SchemaNode | undefined, path: string): JsonValue {
    // A list that preserves unknown fields passes that on to its items (lists of lists of anything).
    const items =
      node?.['x-kubernetes-preserve-unknown-fields'] === true ? preserving(node.items, this.#schema) : node?.items
    if (items === null) return list
    let changed: JsonValue[] | undefined
    for (const [index, item] of list.entries()) {
      const next = this.prune(item, items, `${path}[${index}]`)
      if (next !== item) (changed ??= [...list])[index] = next
    }
    return changed ?? list
  }

  #object(object: JsonObject, node: SchemaNode | undefined, path: string): JsonValue {
    const preserve = node?.['x-kubernetes-preserve-unknown-fields'] === true
    let changed: MutableJsonObject | undefined
    for (const key of Object.keys(object)) {
      if (node?.['x-kubernetes-embedded-resource'] === true && isTypeOrObjectMeta(key)) continue
      const property = node && propertyOf(node, key)
      if (property === undefined && (node === undefined || node.additionalProperties === undefined)) {
        if (preserve) continue
        this.#pruned.push(joinPath(path, key))
        changed ??= { ...object }
        delete changed[key]
        continue
      }
      const field = object[key]!
      const next = this.prune(field, property ?? additionalOf(node!), joinPath(path, key))
      if (next !== field) setOwn((changed ??= { ...object }), key, next)
    }
    return changed ?? object
  }
}

/** Returns the item schema under a parent that preserves unknown fields; null when nothing below is pruned. */
function preserving(items: SchemaNode | undefined, schema: TypeSchema): SchemaNode | null {
  if (items === undefined) return null
  const resolved = resolveNode(items, schema)
  return { ...resolved, 'x-kubernetes-preserve-unknown-fields': true }
}
