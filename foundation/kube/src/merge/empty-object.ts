// The zero value of a built-in kind. The server compares a new object with it, so structs that are always there have no owner.
import type { JsonObject, MutableJsonObject } from '../object.ts'
import type { SchemaNode, TypeSchema } from '../schema/schema-node.ts'
import { isBuiltInSchema } from './merge-type.ts'

const emptyObjects = new WeakMap<TypeSchema, JsonObject>()

/**
 * The members that every object of the kind has: in the schemas of Go types, structs carry `default: {}`, scalars that are always
 * written carry their zero, and other required members are written as null. Empty for custom resources.
 */
export function emptyObjectOf(schema: TypeSchema): JsonObject {
  let empty = emptyObjects.get(schema)
  if (empty === undefined) {
    const root = resolved(schema.root, schema)
    empty = isBuiltInSchema(root) ? zeroOf(root, schema) : {}
    emptyObjects.set(schema, empty)
  }
  return empty
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
