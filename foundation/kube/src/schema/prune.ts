// Takes out of a value what its schema does not know (structural pruning), and reports where it was. Nothing is changed in place: a value
// that has nothing to lose comes back as it is, otherwise only the objects on the way to a lost field are new.
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, setOwn } from '../own-property.ts'
import { additionalOf, memberPath, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/** What pruning gives. */
export interface Pruned {
  readonly value: JsonValue
  /** Paths of the fields that were dropped (`spec.list[0].typo`), sorted. */
  readonly pruned: readonly string[]
}

/** How to prune. */
export interface PruneOptions {
  /** The value is a whole object: apiVersion, kind and metadata at its top always stay. Default true. */
  readonly resourceRoot?: boolean
}

/**
 * Drops the fields that the schema does not specify. `x-kubernetes-preserve-unknown-fields` keeps those of its own level, while known
 * fields below it are pruned all the same; embedded resources keep apiVersion, kind and metadata as they are.
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

/** Whether a member belongs to every object, whatever its schema says. */
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

  /** `node` undefined: nothing is known here, so every field of every object goes. */
  prune(value: JsonValue, reference: SchemaNode | undefined, path: string): JsonValue {
    const node = reference && resolveNode(reference, this.#schema)
    if (isJsonArray(value)) return this.#list(value, node, path)
    return isJsonObject(value) ? this.#object(value, node, path) : value
  }

  #list(list: readonly JsonValue[], node: SchemaNode | undefined, path: string): JsonValue {
    // A preserving list hands its licence down to its items (lists of lists of anything).
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
        this.#pruned.push(memberPath(path, key))
        changed ??= { ...object }
        delete changed[key]
        continue
      }
      const member = object[key]!
      const next = this.prune(member, property ?? additionalOf(node!), memberPath(path, key))
      if (next !== member) setOwn((changed ??= { ...object }), key, next)
    }
    return changed ?? object
  }
}

/** The item schema as a preserving parent passes it on; null when nothing below can be pruned. */
function preserving(items: SchemaNode | undefined, schema: TypeSchema): SchemaNode | null {
  if (items === undefined) return null
  const resolved = resolveNode(items, schema)
  return { ...resolved, 'x-kubernetes-preserve-unknown-fields': true }
}
