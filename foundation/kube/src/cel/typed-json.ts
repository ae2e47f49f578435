// JSON as values of a declared type: where the type is known, it decides what a number or a text is.
import { isJsonArray, isJsonObject, ownValue } from '../own-property.ts'
import type { JsonValue } from '../object.ts'
import { parseDuration } from './library/standard.ts'
import type { CelType } from './types.ts'
import { MapValue, Uint, fromJson, parseTimestamp } from './values.ts'
import type { CelValue } from './values.ts'

/**
 * A JSON value as one of the type; what does not fit the type is taken for what it looks like.
 * @throws CelError `CelEvaluation` for a text that is no timestamp or duration where one is declared
 */
export function fromTypedJson(value: JsonValue | undefined, type: CelType): CelValue {
  if (typeof value === 'number' || typeof value === 'bigint') return numberOf(value, type)
  if (typeof value === 'string') return textOf(value, type)
  if (isJsonArray(value)) {
    if (type.kind !== 'list') return fromJson(value)
    return value.map((item) => fromTypedJson(item, type.element))
  }
  if (!isJsonObject(value)) return fromJson(value)
  const typeOfMember = (name: string): CelType | undefined =>
    type.kind === 'map' ? type.value : type.kind === 'object' ? type.fields.get(name) : undefined
  return MapValue.of(
    Object.keys(value).map((name) => {
      const member = ownValue(value, name)
      const declared = typeOfMember(name)
      return [name, declared === undefined ? fromJson(member) : fromTypedJson(member, declared)] as const
    }),
  )
}

function numberOf(value: number | bigint, type: CelType): CelValue {
  if (type.kind === 'double') return Number(value)
  const plain = fromJson(value)
  return type.kind === 'uint' && typeof plain === 'bigint' ? new Uint(plain) : plain
}

function textOf(value: string, type: CelType): CelValue {
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
