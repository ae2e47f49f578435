// Objects inside objects (x-kubernetes-embedded-resource): their apiVersion, kind and metadata are decoded and
// validated as those of any object.
import { fieldErrors, formatFieldError } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'
import { dns1035Label } from '../names.ts'
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, setOwn } from '../own-property.ts'
import { validateEmbeddedMeta } from './embedded-meta.ts'
import { decodeObjectMeta, ObjectMetaError } from './object-meta.ts'
import { additionalOf, joinPath, propertyOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/**
 * Thrown for an embedded object that cannot be decoded. `fieldError` has the field and the reason; the API server
 * responds 400 with its message.
 */
export class EmbeddedObjectError extends Error {
  override readonly name = 'EmbeddedObjectError'
  readonly code = 'MalformedEmbeddedObject'
  readonly fieldError: FieldError

  constructor(fieldError: FieldError, message: string) {
    super(message)
    this.fieldError = fieldError
  }
}

/** A value with the metadata of its embedded objects decoded. */
export interface Coerced {
  readonly value: JsonValue
  /** Paths of metadata fields that were dropped as unknown to ObjectMeta, sorted. */
  readonly unknown: readonly string[]
}

/**
 * Decodes the metadata of embedded objects. Copies only what changes.
 * @throws EmbeddedObjectError when an apiVersion or kind is not a string or metadata is malformed
 */
export function coerceEmbeddedMetadata(value: JsonValue, schema: TypeSchema): Coerced {
  const unknown: string[] = []
  if (!hasEmbedded(schema.root)) return { value, unknown }
  const coerced = mapEmbedded(value, schema.root, '', schema, (object, path) => coerceObject(object, path, unknown))
  return { value: coerced, unknown: unknown.sort() }
}

/** Validates apiVersion, kind and metadata of embedded objects. `path` is the path of the value. */
export function validateEmbedded(value: JsonValue, schema: TypeSchema, path: string = ''): FieldError[] {
  const errors: FieldError[] = []
  if (!hasEmbedded(schema.root)) return errors
  mapEmbedded(value, schema.root, path, schema, (object, at) => {
    for (const error of validateObject(object, at)) errors.push(error)
    return object
  })
  return errors
}

/** Walks a value by its schema and replaces each embedded object, parents before children. */
function mapEmbedded(
  value: JsonValue,
  reference: SchemaNode,
  path: string,
  schema: TypeSchema,
  replace: (object: JsonObject, path: string) => JsonObject,
): JsonValue {
  const node = resolveNode(reference, schema)
  if (isJsonArray(value)) {
    const { items } = node
    if (items === undefined) return value
    const next = value.map((item, index) => mapEmbedded(item, items, `${path}[${index}]`, schema, replace))
    return next.some((item, index) => item !== value[index]) ? next : value
  }
  if (!isJsonObject(value)) return value
  const object = node['x-kubernetes-embedded-resource'] === true ? replace(value, path) : value
  let changed: MutableJsonObject | undefined
  for (const [key, field] of Object.entries(object)) {
    const property = propertyOf(node, key)
    const child = property ?? additionalOf(node)
    if (child === undefined) continue
    const at = property === undefined ? `${path}[${key}]` : joinPath(path, key)
    const next = mapEmbedded(field, child, at, schema, replace)
    if (next !== field) setOwn((changed ??= { ...object }), key, next)
  }
  return changed ?? object
}

function coerceObject(object: JsonObject, path: string, unknown: string[]): JsonObject {
  for (const key of ['apiVersion', 'kind'] as const) {
    const text = object[key]
    if (text !== undefined && typeof text !== 'string') throw malformed(joinPath(path, key), text, 'must be a string')
  }
  if (!Object.hasOwn(object, 'metadata')) return object
  const at = joinPath(path, 'metadata')
  try {
    const decoded = decodeObjectMeta(object['metadata']!, at)
    for (const field of decoded.unknown) unknown.push(field)
    return { ...object, metadata: decoded.metadata }
  } catch (error) {
    if (error instanceof ObjectMetaError) throw malformed(at, object['metadata']!, error.message)
    throw error
  }
}

function malformed(field: string, value: JsonValue, detail: string): EmbeddedObjectError {
  const error = fieldErrors.invalid(field, value, detail)
  return new EmbeddedObjectError(error, formatFieldError(error))
}

function validateObject(object: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const missing = (['apiVersion', 'kind'] as const).filter((key) => !Object.hasOwn(object, key))
  for (const key of missing) errors.push(fieldErrors.required(joinPath(path, key)))
  const { apiVersion, kind, metadata } = object
  if (apiVersion !== undefined) errors.push(...validateApiVersion(apiVersion, joinPath(path, 'apiVersion')))
  if (kind !== undefined) errors.push(...validateKind(kind, joinPath(path, 'kind')))
  if (isJsonObject(metadata)) errors.push(...validateEmbeddedMeta(metadata, joinPath(path, 'metadata')))
  return errors
}

function validateApiVersion(value: JsonValue, field: string): FieldError[] {
  if (typeof value !== 'string') return [fieldErrors.invalid(field, value, 'must be a string')]
  if (value === '') return [fieldErrors.invalid(field, value, 'must not be empty')]
  const slashes = value.split('/').length - 1
  return slashes > 1 ? [fieldErrors.invalid(field, value, `unexpected GroupVersion string: ${value}`)] : []
}

function validateKind(value: JsonValue, field: string): FieldError[] {
  if (typeof value !== 'string') return [fieldErrors.invalid(field, value, 'must be a string')]
  if (value === '') return [fieldErrors.invalid(field, value, 'must not be empty')]
  const problems = dns1035Label(value.toLowerCase())
  if (problems.length === 0) return []
  return [fieldErrors.invalid(field, value, `may have mixed case, but should otherwise match: ${problems.join(',')}`)]
}

const embedding = new WeakMap<SchemaNode, boolean>()

/**
 * Reports whether a schema has embedded objects anywhere; cached per node, because most have none. References are not
 * followed.
 */
function hasEmbedded(node: SchemaNode): boolean {
  let known = embedding.get(node)
  if (known === undefined) {
    const children = [...Object.values(node.properties ?? {}), additionalOf(node), node.items]
    known =
      node['x-kubernetes-embedded-resource'] === true ||
      children.some((child) => child !== undefined && hasEmbedded(child))
    embedding.set(node, known)
  }
  return known
}
