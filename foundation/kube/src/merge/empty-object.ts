// The zero value of a built-in kind. The server compares a new object with it, so structs that always exist have no
// manager.
import type { JsonObject, MutableJsonObject } from '../object.ts'
import type { SchemaNode, TypeSchema } from '../schema/schema-node.ts'
import { isJsonObject, setOwn } from '../own-property.ts'
import { isBuiltInSchema } from './merge-type.ts'

const emptyObjects = new WeakMap<TypeSchema, JsonObject>()
const nothing: JsonObject = Object.freeze({})

/**
 * Returns the fields that every object of the kind has: in the schemas of Go types, structs have `default: {}`, scalars
 * that are always written have their zero, and other required fields are written as null. Empty for custom resources.
 */
function emptyObjectOf(schema: TypeSchema): JsonObject {
  let empty = emptyObjects.get(schema)
  if (empty === undefined) {
    const root = resolved(schema.root, schema)
    empty = isBuiltInSchema(root) ? zeroOf(root, schema) : nothing
    emptyObjects.set(schema, empty)
  }
  return empty
}

/**
 * Returns the value that a new object of a kind is compared with: the kind's zero value, with null where the object has
 * null in a struct that always exists (Go writes absent times as null).
 */
export function zeroValueFor(schema: TypeSchema, object: JsonObject): JsonObject {
  const zero = emptyObjectOf(schema)
  return zero === nothing ? zero : withNullsOf(zero, object)
}

function withNullsOf(zero: JsonObject, object: JsonObject): JsonObject {
  let out: MutableJsonObject | undefined
  for (const [name, value] of Object.entries(object)) {
    const known = Object.hasOwn(zero, name) ? zero[name] : undefined
    if (value === null ? known !== undefined : !isJsonObject(value) || !isJsonObject(known)) continue
    const field = value === null ? null : withNullsOf(known as JsonObject, value as JsonObject)
    if (field === known) continue
    out ??= { ...zero }
    setOwn(out, name, field)
  }
  return out ?? zero
}

function zeroOf(node: SchemaNode, schema: TypeSchema): JsonObject {
  const out: MutableJsonObject = {}
  for (const [name, field] of Object.entries(node.properties ?? {})) {
    if (isStruct(field)) out[name] = zeroOf(resolved(field, schema), schema)
    else if (field.default === '' || field.default === 0 || field.default === false) out[name] = field.default
    else if (field.$ref !== undefined && optionalReferences.has(field.$ref)) continue
    else if (isWrittenNull(node, name, field)) out[name] = null
  }
  return out
}

/** Structs that are required and yet left out where they are absent, unlike other pointers. */
const optionalReferences: ReadonlySet<string> = new Set(['io.k8s.api.networking.v1.ParentReference'])

/** Structs that are not required and yet written as null where they are absent. */
const writtenReferences: ReadonlySet<string> = new Set(['io.k8s.api.authentication.v1.BoundObjectReference'])

function isWrittenNull(node: SchemaNode, name: string, field: SchemaNode): boolean {
  if (field.$ref !== undefined && writtenReferences.has(field.$ref)) return true
  return node.required?.includes(name) === true && field.default === undefined
}

function isStruct(field: SchemaNode): boolean {
  const { default: value } = field
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
}

function resolved(node: SchemaNode, schema: TypeSchema): SchemaNode {
  return node.$ref === undefined ? node : (schema.resolve(node.$ref) ?? node)
}
