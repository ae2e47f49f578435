// Conversion of JSON to values of a declared type, which decides how numbers and strings are converted.
import { isJsonArray, isJsonObject, ownValue } from '../own-property.ts'
import type { JsonValue } from '../object.ts'
import { parseDuration } from './library/standard.ts'
import type { CelType } from './types.ts'
import { MapValue, Uint, fromJson, parseTimestamp } from './values.ts'
import type { CelValue } from './values.ts'

/**
 * Converts a JSON value to the type; values that do not match the type are converted by their JSON type.
 * @throws CelError `CelEvaluation` for a string that is not a timestamp or duration where one is declared
 */
export function fromTypedJson(value: JsonValue | undefined, type: CelType): CelValue {
  if (typeof value === 'number' || typeof value === 'bigint') return fromNumber(value, type)
  if (typeof value === 'string') return fromString(value, type)
  if (isJsonArray(value)) {
    if (type.kind !== 'list') return fromJson(value)
    return value.map((item) => fromTypedJson(item, type.element))
  }
  if (!isJsonObject(value)) return fromJson(value)
  const typeOfField = (name: string): CelType | undefined =>
    type.kind === 'map' ? type.value : type.kind === 'object' ? type.fields.get(name) : undefined
  return MapValue.of(
    Object.keys(value).map((name) => {
      const field = ownValue(value, name)
      const declared = typeOfField(name)
      return [name, declared === undefined ? fromJson(field) : fromTypedJson(field, declared)] as const
    }),
  )
}

function fromNumber(value: number | bigint, type: CelType): CelValue {
  if (type.kind === 'double') return Number(value)
  const plain = fromJson(value)
  return type.kind === 'uint' && typeof plain === 'bigint' ? new Uint(plain) : plain
}

function fromString(value: string, type: CelType): CelValue {
  switch (type.kind) {
    case 'timestamp':
      return parseTimestamp(value)
    case 'duration':
      return parseDuration(value)
    case 'bytes':
      return Buffer.from(value, 'base64')
    default:
      return value
  }
}
