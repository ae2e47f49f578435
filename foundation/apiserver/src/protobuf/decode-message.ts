// Decodes the bytes of a message to the JSON that Go would write for the object. Unknown fields are skipped.
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { formatGoDurationNanoseconds, formatGoMicroTime, formatGoTime, parseJson, setOwn } from '@fairlead/kube'
import type { MessageField, MessageType, SpecialForm } from '@fairlead/builtin-kinds'
import { ProtobufError } from './protobuf-error.ts'

/** Maximum nesting of messages: far beyond any real object, far below the limit of the stack. */
const maxDepth = 1000

const wireVarint = 0
const wireFixed64 = 1
const wireDelimited = 2

/**
 * Decodes a message to the JSON of its fields; missing fields stay absent, so the result still needs its typed form.
 * @throws ProtobufError
 */
export function decodeMessage(type: MessageType, bytes: Uint8Array, depth: number = 0): JsonObject {
  const out: MutableJsonObject = {}
  readInto(type, bytes, out, depth)
  return out
}

function readInto(type: MessageType, bytes: Uint8Array, out: MutableJsonObject, depth: number): void {
  if (depth > maxDepth) throw new ProtobufError('messages are nested too deep')
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag()
    const field = type.byNumber.get(number)
    if (field === undefined) reader.skip(wireType, number)
    else readField(field, wireType, reader, out, depth)
  }
}

function readField(
  field: MessageField,
  wireType: number,
  reader: BinaryReader,
  out: MutableJsonObject,
  depth: number,
): void {
  const { name, message } = field
  if (field.inline && message !== undefined) {
    expectWire(field, wireType, wireDelimited)
    readInto(message, reader.bytes(), out, depth + 1)
  } else if (field.map) {
    expectWire(field, wireType, wireDelimited)
    const [key, value] = readEntry(field, reader.bytes(), depth)
    out[name] ??= {}
    setOwn(out[name] as MutableJsonObject, key, value)
  } else if (field.repeated) {
    const list = ((out[name] as JsonValue[] | undefined) ?? (out[name] = [])) as JsonValue[]
    if (wireType === wireDelimited && field.type !== 'string' && field.type !== 'bytes' && message === undefined) {
      const packed = new BinaryReader(reader.bytes())
      while (packed.pos < packed.len)
        list.push(readValue(field, field.type === 'double' ? wireFixed64 : wireVarint, packed, depth))
    } else {
      list.push(readValue(field, wireType, reader, depth))
    }
  } else {
    out[name] = readValue(field, wireType, reader, depth)
  }
}

function readEntry(field: MessageField, bytes: Uint8Array, depth: number): [key: string, value: JsonValue] {
  const reader = new BinaryReader(bytes)
  let key = ''
  let value: JsonValue | undefined
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag()
    if (number === 1) key = reader.string()
    else if (number === 2) value = readValue(field, wireType, reader, depth)
    else reader.skip(wireType, number)
  }
  return [key, value ?? emptyValue(field)]
}

function readValue(field: MessageField, wireType: number, reader: BinaryReader, depth: number): JsonValue {
  const { message } = field
  if (message !== undefined) {
    expectWire(field, wireType, wireDelimited)
    const bytes = reader.bytes()
    return message.special === undefined
      ? decodeMessage(message, bytes, depth + 1)
      : decodeSpecial(message, message.special, bytes, depth + 1)
  }
  expectWire(
    field,
    wireType,
    field.type === 'double'
      ? wireFixed64
      : field.type === 'string' || field.type === 'bytes'
        ? wireDelimited
        : wireVarint,
  )
  switch (field.type) {
    case 'string':
      return reader.string()
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64')
    case 'bool':
      return reader.bool()
    case 'double':
      return reader.double()
    case 'int32':
      return reader.int32()
    default:
      return integer(reader.int64())
  }
}

function emptyValue(field: MessageField): JsonValue {
  if (field.message !== undefined)
    return field.message.special === undefined
      ? {}
      : decodeSpecial(field.message, field.message.special, new Uint8Array(), 0)
  return field.type === 'string' || field.type === 'bytes' ? '' : field.type === 'bool' ? false : 0
}

/** Converts an int64 to JSON: a number when a double represents it exactly. */
function integer(value: bigint | string): number | bigint {
  const exact = BigInt(value)
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact
}

function decodeSpecial(type: MessageType, form: SpecialForm, bytes: Uint8Array, depth: number): JsonValue {
  switch (form) {
    case 'raw':
    case 'json':
      return embeddedJson(bytes)
    case 'schemaOrBool':
    case 'schemaOrArray':
    case 'schemaOrStrings':
      return schemaUnion(decodeMessage(type, bytes, depth))
    default:
      return plainSpecial(form, decodeMessage(type, bytes, depth))
  }
}

function plainSpecial(form: SpecialForm, fields: JsonObject): JsonValue {
  const seconds = Number(fields['seconds'] ?? 0)
  const nanos = Number(fields['nanos'] ?? 0)
  switch (form) {
    case 'quantity':
      return fields['string'] ?? '0'
    case 'intOrString':
      return fields['type'] === 1 ? (fields['strVal'] ?? '') : (fields['intVal'] ?? 0)
    case 'time':
      return Object.keys(fields).length === 0 ? null : formatGoTime({ seconds, nanos })
    case 'microTime':
      return Object.keys(fields).length === 0 ? null : formatGoMicroTime({ seconds, nanos })
    case 'duration':
      return formatGoDurationNanoseconds(bigintOf(fields['duration']))
    default:
      return fields['items'] ?? []
  }
}

function schemaUnion(fields: JsonObject): JsonValue {
  return fields['schema'] ?? fields['jSONSchemas'] ?? fields['property'] ?? fields['allows'] ?? false
}

/** Decodes `{1: raw}`: JSON bytes, unchanged. */
function embeddedJson(bytes: Uint8Array): JsonValue {
  const reader = new BinaryReader(bytes)
  let raw: Uint8Array | undefined
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag()
    if (number === 1 && wireType === wireDelimited) raw = reader.bytes()
    else reader.skip(wireType, number)
  }
  return raw === undefined || raw.length === 0 ? null : parseJson(raw)
}

function expectWire(field: MessageField, wireType: number, expected: number): void {
  if (wireType !== expected)
    throw new ProtobufError(
      `proto: wrong wireType = ${wireType} for field ${field.name.charAt(0).toUpperCase()}${field.name.slice(1)}`,
    )
}

function bigintOf(value: JsonValue | undefined): bigint {
  return typeof value === 'bigint' ? value : BigInt(Number(value ?? 0))
}
