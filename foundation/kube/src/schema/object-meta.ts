// The metadata of an object as Go's ObjectMeta decodes and encodes it: unknown fields and empty values are dropped,
// wrong types are rejected with the messages of Go's decoder. For custom resources and the resources embedded in them;
// built-in kinds are decoded with the rest of their types.
import { formatTime } from '../conditions.ts'
import { goQuote } from '../go-text.ts'
import type { JsonObject, JsonValue, MutableJsonObject, ObjectMeta } from '../object.ts'
import { isJsonArray, isJsonObject, setOwn } from '../own-property.ts'
import { isInt64 } from './number-format.ts'
import { joinPath } from './resolve.ts'

/** Thrown for metadata that does not decode to ObjectMeta. `message` is that of Go's decoder. */
export class ObjectMetaError extends Error {
  override readonly name = 'ObjectMetaError'
  readonly code = 'MalformedMetadata'
}

/** Decoded metadata. */
export interface DecodedObjectMeta {
  readonly metadata: ObjectMeta
  /** Paths of unknown fields below `path`, in the order they appear. */
  readonly unknown: readonly string[]
}

/**
 * Decodes `metadata`. Null is empty; times become RFC 3339 in UTC with whole seconds.
 * @param path the path of the metadata, for the paths of unknown fields
 * @throws ObjectMetaError
 */
export function decodeObjectMeta(value: JsonValue, path: string = 'metadata'): DecodedObjectMeta {
  const unknown: string[] = []
  if (value === null) return { metadata: {}, unknown }
  if (!isJsonObject(value)) throw mismatch(value, 'Go value', 'v1.ObjectMeta')
  return { metadata: decodeStruct(value, objectMeta, '', path, unknown), unknown }
}

type Kind = 'string' | 'uid' | 'operation' | 'int64' | 'bool' | 'time' | 'strings' | 'stringMap' | 'object' | StructList

interface StructType {
  readonly name: string
  readonly fields: Readonly<Record<string, Kind>>
  /** Fields that Go writes even when they are empty. */
  readonly always?: readonly string[]
}

interface StructList {
  readonly items: StructType
}

const ownerReference: StructType = {
  name: 'OwnerReference',
  fields: {
    apiVersion: 'string',
    kind: 'string',
    name: 'string',
    uid: 'uid',
    controller: 'bool',
    blockOwnerDeletion: 'bool',
  },
  always: ['apiVersion', 'kind', 'name', 'uid'],
}

const managedFieldsEntry: StructType = {
  name: 'ManagedFieldsEntry',
  fields: {
    manager: 'string',
    operation: 'operation',
    apiVersion: 'string',
    time: 'time',
    fieldsType: 'string',
    fieldsV1: 'object',
    subresource: 'string',
  },
}

const objectMeta: StructType = {
  name: 'ObjectMeta',
  fields: {
    name: 'string',
    generateName: 'string',
    namespace: 'string',
    selfLink: 'string',
    uid: 'uid',
    resourceVersion: 'string',
    generation: 'int64',
    creationTimestamp: 'time',
    deletionTimestamp: 'time',
    deletionGracePeriodSeconds: 'int64',
    labels: 'stringMap',
    annotations: 'stringMap',
    ownerReferences: { items: ownerReference },
    finalizers: 'strings',
    managedFields: { items: managedFieldsEntry },
  },
}

/** Decodes a field; `place` is the dotted path of struct fields so far, `path` that of the value with its indices. */
function decodeStruct(
  object: JsonObject,
  type: StructType,
  place: string,
  path: string,
  unknown: string[],
): JsonObject {
  const out: MutableJsonObject = {}
  for (const [key, value] of Object.entries(object)) {
    const kind = Object.hasOwn(type.fields, key) ? type.fields[key] : undefined
    if (kind === undefined) {
      unknown.push(joinPath(path, key))
      continue
    }
    if (value === null) continue
    const field = joinPath(place, key)
    const decoded = decode(value, kind, `Go struct field ${type.name}.${field}`, field, joinPath(path, key), unknown)
    if (!isOmitted(decoded, kind, key)) out[key] = decoded
  }
  for (const key of type.always ?? []) out[key] ??= ''
  return out
}

function decode(
  value: JsonValue,
  kind: Kind,
  target: string,
  place: string,
  path: string,
  unknown: string[],
): JsonValue {
  if (typeof kind === 'object') {
    if (!isJsonArray(value)) throw mismatch(value, target, `[]v1.${kind.items.name}`)
    return value.map((item, index) => {
      if (item === null) return decodeStruct({}, kind.items, place, path, unknown)
      if (!isJsonObject(item)) throw mismatch(item, target, `v1.${kind.items.name}`)
      return decodeStruct(item, kind.items, place, `${path}[${index}]`, unknown)
    })
  }
  switch (kind) {
    case 'string':
    case 'uid':
    case 'operation':
      if (typeof value !== 'string') throw mismatch(value, target, stringTypes[kind])
      return value
    case 'int64':
      if ((typeof value !== 'number' && typeof value !== 'bigint') || !isInt64(value))
        throw mismatch(value, target, 'int64')
      return value
    case 'bool':
      if (typeof value !== 'boolean') throw mismatch(value, target, 'bool')
      return value
    case 'time':
      return decodeTime(value)
    case 'strings':
      if (!isJsonArray(value)) throw mismatch(value, target, '[]string')
      return value.map((item) => decodeString(item, target))
    case 'stringMap':
      if (!isJsonObject(value)) throw mismatch(value, target, 'map[string]string')
      return decodeMap(value, target)
    default:
      return value
  }
}

const stringTypes = { string: 'string', uid: 'types.UID', operation: 'v1.ManagedFieldsOperationType' } as const

function decodeString(value: JsonValue, target: string): string {
  if (value === null) return ''
  if (typeof value !== 'string') throw mismatch(value, target, 'string')
  return value
}

function decodeMap(value: JsonObject, target: string): JsonObject {
  const out: MutableJsonObject = {}
  for (const [key, text] of Object.entries(value)) setOwn(out, key, decodeString(text, target))
  return out
}

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})$/

function decodeTime(value: JsonValue): string {
  if (typeof value !== 'string') throw mismatch(value, 'Go value', 'string')
  if (!rfc3339.test(value) || Number.isNaN(Date.parse(value))) {
    const layout = '2006-01-02T15:04:05Z07:00'
    throw new ObjectMetaError(
      `parsing time ${goQuote(value)} as ${goQuote(layout)}: cannot parse ${goQuote(value)} as "2006"`,
    )
  }
  return formatTime(Date.parse(value))
}

function isOmitted(value: JsonValue, kind: Kind, key: string): boolean {
  if (kind === 'object' || kind === 'bool') return false
  if (value === 0) return key === 'generation'
  if (value === '') return true
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function mismatch(value: JsonValue, target: string, type: string): ObjectMetaError {
  return new ObjectMetaError(`json: cannot unmarshal ${describe(value, type)} into ${target} of type ${type}`)
}

function describe(value: JsonValue, type: string): string {
  if (typeof value === 'number' || typeof value === 'bigint') return type === 'int64' ? `number ${value}` : 'number'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return isJsonArray(value) ? 'array' : 'object'
}
