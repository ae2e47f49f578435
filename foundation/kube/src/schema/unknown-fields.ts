// fieldValidation: which fields of a body its type does not know, and how the API server words that in warnings and in strict errors.
import type { JsonObject, JsonValue } from '../object.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'
import { goQuote } from '../go-text.ts'
import { additionalOf, memberPath, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/**
 * Paths of the fields that a schema (with or without `$ref`) does not declare, in the order of the body, as Go's strict decoder reports
 * them for built-in types. What is unknown is not looked into. Custom resources report what {@link prune} dropped.
 */
export function unknownFields(value: JsonValue, schema: TypeSchema): string[] {
  const found: string[] = []
  visit(value, schema.root, '', schema, found)
  return found
}

/** `unknown field "spec.x"`: the text of a warning and of a strict error. */
export function unknownFieldText(path: string): string {
  return `unknown field ${goQuote(path)}`
}

/** `duplicate field "spec.x"`: the text of a warning and of a strict error. */
export function duplicateFieldText(path: string): string {
  return `duplicate field ${goQuote(path)}`
}

/** What fieldValidation=Strict answers, from the texts of single fields; to be put behind what could not be decoded. */
export function strictDecodingError(texts: readonly string[]): string {
  return `strict decoding error: ${texts.join(', ')}`
}

function visit(value: JsonValue, reference: SchemaNode, path: string, schema: TypeSchema, found: string[]): void {
  const node = resolveNode(reference, schema)
  if (isJsonArray(value)) {
    if (node.items === undefined) return
    for (const [index, item] of value.entries()) visit(item, node.items, `${path}[${index}]`, schema, found)
  } else if (isJsonObject(value)) {
    visitMembers(value, node, path, schema, found)
  }
}

function visitMembers(object: JsonObject, node: SchemaNode, path: string, schema: TypeSchema, found: string[]): void {
  // An object without declared members is free-form: RawExtension, FieldsV1, JSON.
  const isFree = node.properties === undefined || node['x-kubernetes-preserve-unknown-fields'] === true
  const additional = additionalOf(node)
  for (const [key, member] of Object.entries(object)) {
    const child = propertyOf(node, key) ?? additional
    if (child !== undefined) visit(member, child, memberPath(path, key), schema, found)
    else if (!isFree && node.additionalProperties !== true) found.push(memberPath(path, key))
  }
}
