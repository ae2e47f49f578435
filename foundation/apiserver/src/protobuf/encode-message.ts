// Encodes the JSON of an object as the bytes of its message: fields in order of their numbers, map keys sorted,
// non-pointer scalars always written.
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import {
  isJsonArray,
  isJsonObject,
  parseGoDurationNanoseconds,
  parseGoMicroTime,
  parseGoTime,
  stringifyJson,
} from '@fairlead/kube'
import type { MessageField, MessageType, SpecialForm } from '@fairlead/builtin-kinds'

const wireVarint = 0
const wireFixed64 = 1
const wireDelimited = 2

const text = new TextEncoder()

/** Encodes a message. Fields that it does not have are left out; values must have the types of their fields. */
export function encodeMessage(type: MessageType, value: JsonObject): Uint8Array {
  const writer = new BinaryWriter()
  for (const field of type.wireFields) writeField(field, value, writer)
  return writer.finish()
}

/** Encodes one item of a repeated field, as it is in the bytes of the message. */
export function encodeItem(type: MessageType, name: string, item: JsonValue): Uint8Array {
  const field = type.byJsonName.get(name)
  if (field === undefined) return new Uint8Array()
  const writer = new BinaryWriter()
  writeValue(field, item, writer)
  return writer.finish()
}

function writeField(field: MessageField, owner: JsonObject, writer: BinaryWriter): void {
  if (field.inline && field.message !== undefined) {
    writer.tag(field.number, wireDelimited).bytes(encodeMessage(field.message, owner))
    return
  }
  const value = Object.hasOwn(owner, field.name) ? (owner[field.name] ?? null) : null
  if (field.map) {
    if (isJsonObject(value)) writeMap(field, value, writer)
  } else if (field.repeated) {
    if (isJsonArray(value)) for (const item of value) writeValue(field, item, writer)
  } else if (value !== null) {
    writeValue(field, value, writer)
  } else if (!field.pointer) {
    writeZero(field, writer)
  }
}

function writeMap(field: MessageField, value: JsonObject, writer: BinaryWriter): void {
  for (const key of Object.keys(value).toSorted()) {
    const entry = new BinaryWriter().tag(1, wireDelimited).string(key)
    writeNumbered(field, 2, value[key] ?? null, entry)
    writer.tag(field.number, wireDelimited).bytes(entry.finish())
  }
}

function writeValue(field: MessageField, value: JsonValue, writer: BinaryWriter): void {
  writeNumbered(field, field.number, value, writer)
}

function writeNumbered(field: MessageField, number: number, value: JsonValue, writer: BinaryWriter): void {
  const { message } = field
  if (message !== undefined) {
    const bytes =
      message.special === undefined
        ? encodeMessage(message, isJsonObject(value) ? value : {})
        : encodeSpecial(message, message.special, value)
    writer.tag(number, wireDelimited).bytes(bytes)
    return
  }
  switch (field.type) {
    case 'string':
      writer.tag(number, wireDelimited).string(textOf(value))
      return
    case 'bytes':
      writer.tag(number, wireDelimited).bytes(Buffer.from(textOf(value), 'base64'))
      return
    case 'bool':
      writer.tag(number, wireVarint).bool(value === true)
      return
    case 'double':
      writer.tag(number, wireFixed64).double(Number(value ?? 0))
      return
    case 'int32':
      writer.tag(number, wireVarint).int32(Number(value ?? 0))
      return
    default:
      writer.tag(number, wireVarint).int64(typeof value === 'bigint' ? value : BigInt(Number(value ?? 0)))
  }
}

/**
 * Returns true for fields that are written even when zero: those that are no pointers, except bytes and named lists.
 */
function writeZero(field: MessageField, writer: BinaryWriter): void {
  const { message } = field
  if (message === undefined) {
    if (field.type !== 'bytes') writeNumbered(field, field.number, null, writer)
  } else if (message.special === undefined) {
    writer.tag(field.number, wireDelimited).bytes(encodeMessage(message, {}))
  } else if (message.special !== 'strings') {
    writer.tag(field.number, wireDelimited).bytes(encodeSpecial(message, message.special, null))
  }
}

function encodeSpecial(type: MessageType, form: SpecialForm, value: JsonValue): Uint8Array {
  switch (form) {
    case 'quantity':
      return fieldsOf(type, { string: textOf(value, '0') })
    case 'intOrString':
      return fieldsOf(
        type,
        typeof value === 'string' ? { type: 1, intVal: 0, strVal: value } : { type: 0, intVal: value ?? 0, strVal: '' },
      )
    case 'time':
      return typeof value === 'string'
        ? fieldsOf(type, { seconds: parseGoTime(value).seconds, nanos: 0 })
        : new Uint8Array()
    case 'microTime':
      return typeof value === 'string' ? fieldsOf(type, { ...parseGoMicroTime(value) }) : new Uint8Array()
    case 'duration':
      return fieldsOf(type, { duration: typeof value === 'string' ? parseGoDurationNanoseconds(value) : 0 })
    case 'strings':
      return fieldsOf(type, { items: value })
    case 'raw':
    case 'json':
      return value === null && form === 'raw'
        ? new Uint8Array()
        : new BinaryWriter()
            .tag(1, wireDelimited)
            .bytes(text.encode(stringifyJson(value)))
            .finish()
    case 'schemaOrBool':
      return fieldsOf(type, typeof value === 'boolean' ? { allows: value } : { allows: true, schema: value })
    case 'schemaOrArray':
      return fieldsOf(type, isJsonArray(value) ? { jSONSchemas: value } : { schema: value })
    default:
      return fieldsOf(type, isJsonArray(value) ? { property: value } : { schema: value })
  }
}

function fieldsOf(type: MessageType, fields: JsonObject): Uint8Array {
  return encodeMessage(type, fields)
}

function textOf(value: JsonValue, missing: string = ''): string {
  return typeof value === 'string' ? value : missing
}
