// JSON bodies of built-in kinds as Go's types decode and encode them: unknown fields, nulls and empty optional values
// are dropped, empty required values are added, quantities and times become canonical. Start with typedForm().
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { MessageField, MessageType } from './message-type.ts'
import { messageOfKind } from './message-type.ts'
import { TypeMismatch } from '../definition/resource-definition.ts'
import type { BodyDecoder } from '../definition/resource-definition.ts'
import { roundedToMilli, specialForm, specialZero } from './special-form.ts'

/** A decoded body, and the paths of its unknown fields in the order of the body. */
export interface TypedForm {
  readonly object: JsonObject
  readonly unknownFields: readonly string[]
}

/**
 * Decodes a body as a kind. The result is a deep copy and may be changed.
 * @throws TypeMismatch with the message of Go's decoder
 */
export function typedForm(type: MessageType, body: JsonObject, decoder: BodyDecoder = 'json'): TypedForm {
  const reader = new Reader(decoder)
  const object = reader.message(type, body, true)
  return { object, unknownFields: decoder === 'json' ? reader.unknownFields : reader.unknownFields.toSorted() }
}

/** Returns the JSON of Go's zero value of a message. */
export function zeroForm(type: MessageType): MutableJsonObject {
  return new Reader().message(type, {}, false)
}

/** Returns the {@link zeroForm} of a built-in kind's `status`; undefined when it has none or it is a pointer. */
export function zeroStatus(apiVersion: string, kind: string): MutableJsonObject | undefined {
  const status = messageOfKind(apiVersion, kind)?.byJsonName.get('status')
  return status?.message === undefined || status.pointer ? undefined : zeroForm(status.message)
}

/**
 * Normalizes an object for storage, after defaults and preparation have changed it: fields are in the order of their
 * type, and empty required lists become null, because protobuf, the storage encoding, does not distinguish them.
 * `keepsEmptyLists`: the kind is stored as JSON. Changes the object in place.
 */
export function normalizeForStorage(type: MessageType, object: MutableJsonObject, keepsEmptyLists: boolean): void {
  const normalized = normalizedMessage(type, object, keepsEmptyLists)
  if (normalized === object) return
  for (const name of Object.keys(object)) delete object[name]
  Object.assign(object, normalized)
}

/**
 * Returns the message itself when its fields are in order, else a copy. Values are replaced in place, so frozen parts
 * must be normalized already.
 */
function normalizedMessage(type: MessageType, object: MutableJsonObject, keepsEmptyLists: boolean): MutableJsonObject {
  let last = -1
  let isOrdered = true
  for (const name of Object.keys(object)) {
    const position = type.positions.get(name)
    const field = type.byJsonName.get(name)
    if (position === undefined || field === undefined) continue
    if (position < last) isOrdered = false
    last = position
    const value = object[name] ?? null
    const next = normalizedValue(field, value, keepsEmptyLists)
    if (next !== value) object[name] = next
  }
  return isOrdered ? object : inOrder(type, object)
}

function normalizedValue(field: MessageField, value: JsonValue, keepsEmptyLists: boolean): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (field.repeated && isJsonArray(value) && value.length === 0)
    return field.omitempty || keepsEmptyLists ? value : null
  const { message } = field
  if (message === undefined || message.special !== undefined) return value
  const normalized = (child: JsonValue): JsonValue =>
    normalizedMessage(message, child as MutableJsonObject, keepsEmptyLists)
  if (isJsonArray(value)) {
    const items = value.map(normalized)
    return items.every((item, index) => item === value[index]) ? value : items
  }
  if (!field.map) return normalized(value)
  const entries = Object.entries(value).map(([key, child]) => [key, child, normalized(child)] as const)
  return entries.every(([, child, next]) => next === child)
    ? value
    : Object.fromEntries(entries.map(([key, , next]) => [key, next]))
}

function inOrder(type: MessageType, object: MutableJsonObject): MutableJsonObject {
  const out: MutableJsonObject = {}
  for (const [name, value] of Object.entries(object)) if (!type.positions.has(name)) out[name] = value
  for (const name of type.positions.keys()) {
    const value = object[name]
    if (value !== undefined) out[name] = value
  }
  return out
}

/** The maximum depth of objects; real ones are far below it, and the stack holds more. */
const maxDepth = 1000

class Reader {
  readonly #decoder: BodyDecoder
  readonly unknownFields: string[] = []
  /** Field names, keys and indices down to the current value, for unknown fields. */
  readonly #path: (string | number)[] = []
  /** Names of struct fields only, for type errors. */
  readonly #fields: string[] = []
  #depth = 0

  constructor(decoder: BodyDecoder = 'json') {
    this.#decoder = decoder
  }

  message(type: MessageType, body: JsonObject, hasTypeMeta: boolean): MutableJsonObject {
    if (++this.#depth > maxDepth) throw new TypeMismatch('exceeded max depth')
    const found: MutableJsonObject = {}
    const embedsTypeMeta = (hasTypeMeta || isKind(type)) && !type.byJsonName.has('kind')
    for (const [name, value] of this.#decoder === 'json' ? Object.entries(body) : inTypeOrder(type, body)) {
      if (embedsTypeMeta && (name === 'kind' || name === 'apiVersion')) {
        if (typeof value !== 'string' && value !== null) this.#mismatch(value, type, name, 'string')
        continue
      }
      const field = name === '-' ? undefined : type.byJsonName.get(name)
      this.#path.push(name)
      if (field === undefined) {
        this.unknownFields.push(formatPath(this.#path))
      } else if (value !== null) {
        this.#fields.push(name)
        const read = this.#field(type, field, value)
        if (read !== undefined) found[name] = read
        this.#fields.pop()
      }
      this.#path.pop()
    }
    this.#depth -= 1
    const out: MutableJsonObject = {}
    if (embedsTypeMeta)
      for (const name of ['kind', 'apiVersion'])
        if (typeof body[name] === 'string' && body[name] !== '') out[name] = body[name]
    for (const [name, field] of type.byJsonName) {
      // Go writes fields without `omitempty`, and structs that are not pointers, even when they are zero.
      const value = found[name] ?? (name === '-' ? undefined : zeroOf(field))
      if (value !== undefined) out[name] = value
    }
    return out
  }

  /** Decodes a field; undefined when it is omitted. */
  #field(owner: MessageType, field: MessageField, value: JsonValue): JsonValue | undefined {
    if (field.map) {
      if (!isJsonObject(value)) return this.#mismatch(value, owner, undefined, `map[string]${goType(field)}`)
      const entries = Object.entries(value).map(([key, item]): [string, JsonValue] => [
        key,
        this.#at(key, () => this.#element(owner, field, item)),
      ])
      if (isResourceList(owner, field)) for (const entry of entries) entry[1] = roundedToMilli(entry[1] as string)
      return entries.length === 0 && !isKeptEmpty(owner, field) ? undefined : Object.fromEntries(entries)
    }
    if (field.repeated) {
      if (!isJsonArray(value)) return this.#mismatch(value, owner, undefined, `[]${goType(field)}`)
      if (value.length === 0) return field.omitempty && !isKeptEmpty(owner, field) ? undefined : []
      return value.map((item, index) => this.#at(index, () => this.#element(owner, field, item)))
    }
    const read = this.#value(owner, field, value)
    return isOmitted(field, read) ? undefined : read
  }

  /** Decodes an item of a list or map, where null is the zero value. */
  #element(owner: MessageType, field: MessageField, value: JsonValue): JsonValue {
    if (value !== null) return this.#value(owner, field, value)
    // Storage does not distinguish nil bytes from empty ones.
    return field.type === 'bytes' ? '' : elementZero(field)
  }

  #value(owner: MessageType, field: MessageField, value: JsonValue): JsonValue {
    const { message } = field
    if (message === undefined) return this.#scalar(owner, field, value)
    if (message.special !== undefined) return this.#special(owner, message, message.special, value)
    return isJsonObject(value)
      ? this.message(message, value, false)
      : this.#mismatch(value, owner, undefined, goType(field))
  }

  #special(
    owner: MessageType,
    type: MessageType,
    form: NonNullable<MessageType['special']>,
    value: JsonValue,
  ): JsonValue {
    try {
      return specialForm(form, value, (schema) => {
        const child = type.byJsonName.get('schema')?.message
        return child === undefined || !isJsonObject(schema) ? schema : this.message(child, schema, false)
      })
    } catch (error) {
      // Go adds the field to the type errors of a type's own decoder.
      const wanted = error instanceof TypeMismatch ? /into Go value of type (\S+)$/.exec(error.message)?.[1] : undefined
      if (wanted === undefined) throw error
      return this.#mismatch(value, owner, undefined, wanted)
    }
  }

  #scalar(owner: MessageType, field: MessageField, value: JsonValue): JsonValue {
    switch (field.type) {
      case 'string':
        return typeof value === 'string' ? value : this.#mismatch(value, owner, undefined, 'string')
      case 'bool':
        return typeof value === 'boolean' ? value : this.#mismatch(value, owner, undefined, 'bool')
      case 'double':
        // As Go's float64, also for integers that it cannot hold.
        return typeof value === 'number' || typeof value === 'bigint'
          ? Number(value)
          : this.#mismatch(value, owner, undefined, 'float64')
      case 'bytes':
        return this.#bytes(owner, value)
      default:
        return isInteger(value, field.type) ? value : this.#mismatch(value, owner, undefined, field.type)
    }
  }

  /** Decodes bytes: a base64 string, or a list of numbers, as serde of Rust writes them. */
  #bytes(owner: MessageType, value: JsonValue): string {
    if (typeof value === 'string') return canonicalBase64(value)
    if (!isJsonArray(value)) return this.#mismatch(value, owner, undefined, '[]uint8')
    const bytes = value.map((item) => {
      if (item === null) return 0
      // The converter from unstructured objects keeps the low byte of a number.
      const isByte = this.#decoder === 'unstructured' ? isInteger(item, 'int64') : isInteger(item, 'uint8')
      return isByte ? (item as number) & 255 : this.#mismatch(item, owner, undefined, 'uint8')
    })
    return Buffer.from(bytes).toString('base64')
  }

  #at<T>(step: string | number, read: () => T): T {
    this.#path.push(step)
    const value = read()
    this.#path.pop()
    return value
  }

  #mismatch(value: JsonValue, owner: MessageType, field: string | undefined, type: string): never {
    if (this.#decoder === 'unstructured') throw new TypeMismatch(restoreError(value, type))
    const path = field === undefined ? this.#fields : [...this.#fields, field]
    const place = `${owner.name.slice(owner.name.lastIndexOf('.') + 1)}.${path.join('.')}`
    throw new TypeMismatch(
      `json: cannot unmarshal ${describe(value, type)} into Go struct field ${place} of type ${type}`,
    )
  }
}

/** Returns the entries of an object in the order of its type, those of unknown fields last. */
function inTypeOrder(type: MessageType, body: JsonObject): [string, JsonValue][] {
  const position = ([name]: [string, JsonValue]): number => type.positions.get(name) ?? type.positions.size
  return Object.entries(body).toSorted((a, b) => position(a) - position(b))
}

/** The kinds of Go types that the converter from unstructured objects converts to one another. */
const convertibleKinds: Readonly<Record<string, readonly string[]>> = {
  int64: ['string', 'int32', 'int64', 'float64'],
  float64: ['int32', 'int64', 'float64'],
}

/** Returns the message of apimachinery's converter for a value that is not of a type. */
function restoreError(value: JsonValue, type: string): string {
  const kind = kindOfValue(value)
  if (type.startsWith('[]')) return `cannot restore slice from ${kind}`
  if (type.startsWith('map[')) return `cannot restore map from ${kind}`
  if (type.includes('.')) return `cannot restore struct from: ${kind}`
  return (convertibleKinds[kind] ?? []).includes(type)
    ? `cannot convert ${kind} to ${type}`
    : `unrecognized type: ${type}`
}

/** Returns the kind of the Go type that holds a value of an unstructured object. */
function kindOfValue(value: JsonValue): string {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number' || typeof value === 'bigint')
    return Number.isInteger(Number(value)) ? 'int64' : 'float64'
  return isJsonArray(value) ? 'slice' : 'map'
}

/** Reports whether Go's `omitempty` drops a value: empty strings, zeros and false without a pointer; structs stay. */
function isOmitted(field: MessageField, value: JsonValue): boolean {
  if (field.pointer || !field.omitempty) return false
  return value === '' || value === 0 || value === false || (field.omitzero && value === null)
}

function zeroOf(field: MessageField): JsonValue | undefined {
  if (field.pointer || field.map || field.repeated) return field.omitempty ? undefined : null
  if (field.message !== undefined) return field.omitzero || isOmittedNil(field) ? undefined : elementZero(field)
  return field.omitempty ? undefined : elementZero(field)
}

/** Reports whether a field is a named list type (Verbs, ExtraValue), whose nil slice `omitempty` drops. */
function isOmittedNil(field: MessageField): boolean {
  return field.message?.special === 'strings' && field.omitempty
}

function elementZero(field: MessageField): JsonValue {
  const { message } = field
  if (message?.special !== undefined) return specialZero(message.special)
  if (message !== undefined) return zeroForm(message)
  switch (field.type) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'bytes':
      return null
    default:
      return 0
  }
}

function isInteger(value: JsonValue, type: string): boolean {
  if (typeof value === 'bigint') return type === 'int64'
  if (typeof value !== 'number' || !Number.isInteger(value)) return false
  if (type === 'uint8') return value >= 0 && value <= 255
  return type === 'int64' ? Number.isSafeInteger(value) : value >= -2147483648 && value <= 2147483647
}

function canonicalBase64(text: string): string {
  const compact = text.replace(/[\r\n]/g, '')
  const valid = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?/.exec(compact)?.[0] ?? ''
  if (valid.length === compact.length) return compact
  const wrong = /[^A-Za-z0-9+/]/.exec(compact.slice(valid.length))
  throw new TypeMismatch(
    `illegal base64 data at input byte ${wrong === null ? compact.length - (compact.length % 4) : valid.length + wrong.index}`,
  )
}

function describe(value: JsonValue, type: string): string {
  if (typeof value === 'number' || typeof value === 'bigint')
    return /^(int|uint|float)/.test(type) ? `number ${String(value)}` : 'number'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return isJsonArray(value) ? 'array' : 'object'
}

function goType(field: MessageField): string {
  if (field.message === undefined)
    return field.type === 'bytes' ? '[]uint8' : field.type === 'double' ? 'float64' : field.type
  return field.type.split('.').slice(-2).join('.')
}

function formatPath(path: readonly (string | number)[]): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
}

/**
 * Fields whose empty lists and maps are never valid. Go keeps all of these until an object is stored, and messages and
 * defaults distinguish them from absent ones; here only those that no stored object has.
 */
const keptEmpty: ReadonlySet<string> = new Set([
  'k8s.io.api.autoscaling.v2.HPAScalingRules.policies',
  'k8s.io.api.batch.v1.SuccessPolicy.rules',
  'k8s.io.api.core.v1.PersistentVolumeSpec.capacity',
])

function isKeptEmpty(owner: MessageType, field: MessageField): boolean {
  return keptEmpty.has(`${owner.name}.${field.name}`)
}

/** Reports whether a field is a ResourceList; maps of quantities in resource.k8s.io are of another type. */
function isResourceList({ name }: MessageType, { map, message }: MessageField): boolean {
  return map && message?.special === 'quantity' && !name.startsWith('k8s.io.api.resource.')
}

/** Reports whether a type embeds TypeMeta although it is nested: items of lists and claim templates. */
function isKind(type: MessageType): boolean {
  return (
    type.byJsonName.get('metadata')?.type === 'k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta' &&
    !/(TemplateSpec|ClaimTemplate)$/.test(type.name)
  )
}
