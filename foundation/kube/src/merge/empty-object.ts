// The zero value of a built-in kind. The server compares a new object with it, so structs that are always there have no owner.
import type { JsonObject, MutableJsonObject } from '../object.ts'
import type { SchemaNode, TypeSchema } from '../schema/schema-node.ts'
import { isJsonObject, setOwn } from '../own-property.ts'
import { isBuiltInSchema } from './merge-type.ts'

const emptyObjects = new WeakMap<TypeSchema, JsonObject>()
const nothing: JsonObject = Object.freeze({})

/**
 * The members that every object of the kind has: in the schemas of Go types, structs carry `default: {}`, scalars that are always
 * written carry their zero, and other required members are written as null. Empty for custom resources.
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
 * What a new object of a kind is compared with: the kind's zero value, with null wherever the object says null in a struct that is always
 * there (Go writes absent times as null).
 */
export function zeroBeside(schema: TypeSchema, object: JsonObject): JsonObject {
  const zero = emptyObjectOf(schema)
  return zero === nothing ? zero : withNullsOf(zero, object)
}

function withNullsOf(zero: JsonObject, object: JsonObject): JsonObject {
  let out: MutableJsonObject | undefined
  for (const [name, value] of Object.entries(object)) {
    const known = Object.hasOwn(zero, name) ? zero[name] : undefined
    if (value === null ? known !== undefined : !isJsonObject(value) || !isJsonObject(known)) continue
    const beside = value === null ? null : withNullsOf(known as JsonObject, value as JsonObject)
    if (beside === known) continue
    out ??= { ...zero }
    setOwn(out, name, beside)
  }
  return out ?? zero
}

function zeroOf(node: SchemaNode, schema: TypeSchema): JsonObject {
  const out: MutableJsonObject = {}
  for (const [name, member] of Object.entries(node.properties ?? {})) {
    if (isStruct(member)) out[name] = zeroOf(resolved(member, schema), schema)
    else if (member.default === '' || member.default === 0 || member.default === false) out[name] = member.default
    else if (node.required?.includes(name) === true && member.default === undefined) out[name] = null
  }
  return out
}

function isStruct(member: SchemaNode): boolean {
  const { default: value } = member
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
}

function resolved(node: SchemaNode, schema: TypeSchema): SchemaNode {
  return node.$ref === undefined ? node : (schema.resolve(node.$ref) ?? node)
}
