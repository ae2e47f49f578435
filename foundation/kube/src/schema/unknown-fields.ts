// fieldValidation: the unknown fields of a request body, and the API server's messages for them in warnings and strict
// errors.
import type { JsonObject, JsonValue } from '../object.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'
import { goQuote } from '../go-text.ts'
import { additionalOf, joinPath, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/**
 * Returns the paths of the fields that a schema (with or without `$ref`) does not declare, in the order of the body, as
 * Go's strict decoder reports them for built-in types. Values of unknown fields are skipped. Custom resources report
 * the fields that {@link prune} dropped.
 */
export function unknownFields(value: JsonValue, schema: TypeSchema): string[] {
  const found: string[] = []
  visit(value, schema.root, '', schema, found)
  return found
}

/** Returns the message of a warning and of a strict error: `unknown field "spec.x"`. */
export function unknownFieldMessage(path: string): string {
  return `unknown field ${goQuote(path)}`
}

/** Returns the message of a warning and of a strict error: `duplicate field "spec.x"`. */
export function duplicateFieldMessage(path: string): string {
  return `duplicate field ${goQuote(path)}`
}

function visit(value: JsonValue, reference: SchemaNode, path: string, schema: TypeSchema, found: string[]): void {
  const node = resolveNode(reference, schema)
  if (isJsonArray(value)) {
    if (node.items === undefined) return
    for (const [index, item] of value.entries()) visit(item, node.items, `${path}[${index}]`, schema, found)
  } else if (isJsonObject(value)) {
    visitFields(value, node, path, schema, found)
  }
}

function visitFields(object: JsonObject, node: SchemaNode, path: string, schema: TypeSchema, found: string[]): void {
  // An object without declared fields is free-form: RawExtension, FieldsV1, JSON.
  const isFree = node.properties === undefined || node['x-kubernetes-preserve-unknown-fields'] === true
  const additional = additionalOf(node)
  for (const [key, field] of Object.entries(object)) {
    const child = propertyOf(node, key) ?? additional
    if (child !== undefined) visit(field, child, joinPath(path, key), schema, found)
    else if (!isFree && node.additionalProperties !== true) found.push(joinPath(path, key))
  }
}
