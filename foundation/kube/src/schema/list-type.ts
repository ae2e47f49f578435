// Validation of x-kubernetes-list-type: items of a set are unique, items of a map have unique keys. Runs beside
// validateValue.
import { fieldErrors, fieldPath } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'
import { marshalGoJson } from '../go-json.ts'
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, ownValue, setOwn } from '../own-property.ts'
import { additionalOf, joinPath, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/**
 * Returns one Duplicate error for each item, or key of a map list, that occurs more than once, at its second
 * occurrence. On update Kubernetes checks only objects that were valid before: see {@link validateListTypesOnUpdate}.
 */
export function validateListTypes(value: JsonValue, schema: TypeSchema): FieldError[] {
  const errors: FieldError[] = []
  visit(value, schema.root, '', schema, errors)
  return errors
}

/** Validates like {@link validateListTypes}, unless the old value was invalid already. */
export function validateListTypesOnUpdate(value: JsonValue, old: JsonValue, schema: TypeSchema): FieldError[] {
  const errors = validateListTypes(value, schema)
  return errors.length > 0 && validateListTypes(old, schema).length > 0 ? [] : errors
}

function visit(value: JsonValue, reference: SchemaNode, path: string, schema: TypeSchema, errors: FieldError[]): void {
  const node = resolveNode(reference, schema)
  if (isJsonArray(value)) {
    if (node['x-kubernetes-list-type'] === 'set') addAll(errors, duplicates(value, value, path))
    else if (node['x-kubernetes-list-type'] === 'map') addAll(errors, duplicateKeys(value, node, path))
    if (node.items === undefined) return
    for (const [index, item] of value.entries()) visit(item, node.items, fieldPath(path, index), schema, errors)
  } else if (isJsonObject(value)) {
    visitFields(value, node, path, schema, errors)
  }
}

/** Adds errors one by one: a call with hundreds of thousands of arguments overflows the stack. */
function addAll(errors: FieldError[], more: readonly FieldError[]): void {
  for (const error of more) errors.push(error)
}

function visitFields(
  object: JsonObject,
  node: SchemaNode,
  path: string,
  schema: TypeSchema,
  errors: FieldError[],
): void {
  const additional = additionalOf(node)
  if (node.properties === undefined && additional === undefined) return
  for (const [key, field] of Object.entries(object)) {
    const property = propertyOf(node, key)
    if (property !== undefined) visit(field, property, joinPath(path, key), schema, errors)
    else if (additional !== undefined) visit(field, additional, fieldPath(path, { key }), schema, errors)
  }
}

function duplicates(items: readonly JsonValue[], shown: readonly JsonValue[], path: string): FieldError[] {
  const times = new Map<string, number>()
  const errors: FieldError[] = []
  for (const [index, item] of items.entries()) {
    const identity = marshalGoJson(item)
    const seen = times.get(identity) ?? 0
    times.set(identity, seen + 1)
    if (seen === 1) errors.push(fieldErrors.duplicate(fieldPath(path, index), shown[index]!))
  }
  return errors
}

function duplicateKeys(list: readonly JsonValue[], node: SchemaNode, path: string): FieldError[] {
  const stranger = list.findIndex((item) => item !== null && !isJsonObject(item))
  if (stranger >= 0) {
    return [
      fieldErrors.invalid(fieldPath(path, stranger), list[stranger], 'must be an object for an array of list-type map'),
    ]
  }
  const keys = list.map((item) => keysOf(item, node['x-kubernetes-list-map-keys'] ?? []))
  return duplicates(keys, keys, path)
}

function keysOf(item: JsonValue, names: readonly string[]): JsonObject {
  const keys: MutableJsonObject = {}
  if (!isJsonObject(item)) return keys
  for (const name of names) {
    const value = ownValue(item, name)
    if (value !== undefined) setOwn(keys, name, value)
  }
  return keys
}
