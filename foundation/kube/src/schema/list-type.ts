// The promises of x-kubernetes-list-type: items of a set differ, items of a map differ in their keys. Checked beside validateValue.
import { fieldErrors, fieldPath } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'
import { marshalGoJson } from '../go-json.ts'
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, ownValue, setOwn } from '../own-property.ts'
import { additionalOf, memberPath, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/**
 * One Duplicate error for each item, or key of a map list, that was there before in its list, at its second occurrence.
 * On update Kubernetes asks this only of objects that kept the promise before: see {@link validateListTypesOnUpdate}.
 */
export function validateListTypes(value: JsonValue, schema: TypeSchema): FieldError[] {
  const errors: FieldError[] = []
  visit(value, schema.root, '', schema, errors)
  return errors
}

/** As {@link validateListTypes}; nothing when the old value broke a promise already. */
export function validateListTypesOnUpdate(value: JsonValue, old: JsonValue, schema: TypeSchema): FieldError[] {
  const errors = validateListTypes(value, schema)
  return errors.length > 0 && validateListTypes(old, schema).length > 0 ? [] : errors
}

function visit(value: JsonValue, reference: SchemaNode, path: string, schema: TypeSchema, errors: FieldError[]): void {
  const node = resolveNode(reference, schema)
  if (isJsonArray(value)) {
    if (node['x-kubernetes-list-type'] === 'set') errors.push(...duplicates(value, value, path))
    else if (node['x-kubernetes-list-type'] === 'map') errors.push(...duplicateKeys(value, node, path))
    if (node.items === undefined) return
    for (const [index, item] of value.entries()) visit(item, node.items, fieldPath(path, index), schema, errors)
  } else if (isJsonObject(value)) {
    visitMembers(value, node, path, schema, errors)
  }
}

function visitMembers(
  object: JsonObject,
  node: SchemaNode,
  path: string,
  schema: TypeSchema,
  errors: FieldError[],
): void {
  const additional = additionalOf(node)
  if (node.properties === undefined && additional === undefined) return
  for (const [key, member] of Object.entries(object)) {
    const property = propertyOf(node, key)
    if (property !== undefined) visit(member, property, memberPath(path, key), schema, errors)
    else if (additional !== undefined) visit(member, additional, fieldPath(path, { key }), schema, errors)
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
