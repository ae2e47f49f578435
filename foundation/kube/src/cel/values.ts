// The values of CEL at run time, and their conversion from and to JSON.
import { ownValue, setOwn } from '../own-property.ts'
import type { JsonValue, MutableJsonObject } from '../object.ts'
import { CelError } from './errors.ts'

/** An unsigned integer; `int` is a bigint. */
export class Uint {
  readonly value: bigint
  /** An unsigned integer; 0 to 2^64 - 1. */
  constructor(value: bigint) {
    this.value = value
  }
}

/** A point in time: nanoseconds since the epoch. */
export class Timestamp {
  readonly nanos: bigint
  /** The offset east of UTC in minutes for formatting; comparisons ignore it. */
  readonly offset: number
  /** A time in nanoseconds since the epoch. */
  constructor(nanos: bigint, offset: number = 0) {
    this.nanos = nanos
    this.offset = offset
  }
}

/** A span of time in nanoseconds. */
export class Duration {
  readonly nanos: bigint
  /** A duration in nanoseconds. */
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A value that may be absent. */
export class Optional {
  readonly value: CelValue | undefined
  /** Creates an optional with a value, or without one. */
  constructor(value?: CelValue) {
    this.value = value
  }
}

/** A type as a value: `type(1)`. */
export class TypeValue {
  readonly type: string
  constructor(type: string) {
    this.type = type
  }
}

/** A value of a library type; equal to values with the same `type` and `text`. */
export class OpaqueValue<T = unknown> {
  readonly type: string
  readonly value: T
  /** The string that equality compares. */
  readonly text: string
  constructor(type: string, value: T, text: string) {
    this.type = type
    this.value = value
    this.text = text
  }
}

/** A map or object, with strings, booleans and numbers as keys; equal numbers of all types are one key. */
export class MapValue {
  readonly #entries = new Map<string | boolean | bigint | number, { key: CelValue; value: CelValue }>()

  static of(entries: Iterable<readonly [CelValue, CelValue]>): MapValue {
    const map = new MapValue()
    for (const [key, value] of entries) map.set(key, value)
    return map
  }

  get size(): number {
    return this.#entries.size
  }

  has(key: CelValue): boolean {
    const raw = rawKey(key)
    return raw !== undefined && this.#entries.has(raw)
  }

  get(key: CelValue): CelValue | undefined {
    const raw = rawKey(key)
    return raw === undefined ? undefined : this.#entries.get(raw)?.value
  }

  /** Adds an entry during construction. @throws CelError for a key of another type */
  set(key: CelValue, value: CelValue): void {
    const raw = typeof key === 'number' ? undefined : rawKey(key)
    if (raw === undefined) throw new CelError(`unsupported key type: ${typeName(key)}`)
    this.#entries.set(raw, { key, value })
  }

  *entries(): IterableIterator<[CelValue, CelValue]> {
    for (const { key, value } of this.#entries.values()) yield [key, value]
  }

  keys(): CelValue[] {
    return [...this.#entries.values()].map(({ key }) => key)
  }
}

/** Returns one key for all equal numbers: integers as bigint. */
function rawKey(key: CelValue): string | boolean | bigint | number | undefined {
  if (key instanceof Uint) return key.value
  if (typeof key === 'number') return Number.isInteger(key) ? BigInt(key) : key
  return typeof key === 'string' || typeof key === 'boolean' || typeof key === 'bigint' ? key : undefined
}

/** A value of CEL. */
export type CelValue =
  | null
  | boolean
  | bigint
  | Uint
  | number
  | string
  | Uint8Array
  | readonly CelValue[]
  | MapValue
  | Timestamp
  | Duration
  | Optional
  | TypeValue
  | OpaqueValue

/** Lists of schemas with `x-kubernetes-list-type` set or map: their order is ignored, and `+` returns the union. */
export interface ListType {
  readonly kind: 'set' | 'map'
  /** The keys of the elements of a map list. */
  readonly keys: readonly string[]
}

const listTypes = new WeakMap<readonly CelValue[], ListType>()

/** Sets the list type of a list and returns it. */
export function withListType(list: readonly CelValue[], listType: ListType | undefined): readonly CelValue[] {
  if (listType !== undefined) listTypes.set(list, listType)
  return list
}

/** Returns the list type of a list, for comparison and addition. */
export function listTypeOf(list: readonly CelValue[]): ListType | undefined {
  return listTypes.get(list)
}

/** Returns the name of a value's type, as `type()` and messages show it. */
export function typeName(value: CelValue): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
    case 'string':
      return 'string'
    default:
  }
  if (value === null) return 'null_type'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (Array.isArray(value)) return 'list'
  if (value instanceof MapValue) return 'map'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof Duration) return 'google.protobuf.Duration'
  if (value instanceof Optional) return 'optional_type'
  if (value instanceof TypeValue) return 'type'
  return (value as OpaqueValue).type
}

/** Reports whether a value is a list. */
export function isList(value: CelValue): value is readonly CelValue[] {
  return Array.isArray(value)
}

/** Returns a value as a bool. @throws CelError for other types */
export function asBool(value: CelValue): boolean {
  if (typeof value === 'boolean') return value
  throw new CelError('no such overload')
}

/** Returns a number of any type in a form that JavaScript compares exactly; undefined for other values. */
export function numeric(value: CelValue): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  return value instanceof Uint ? value.value : undefined
}

/**
 * Compares values as CEL's `==`: numbers by value, lists and maps by their parts; values of different types are not
 * equal.
 */
export function celEquals(a: CelValue, b: CelValue): boolean {
  if (a === b) return true
  const left = numeric(a)
  if (left !== undefined) {
    const right = numeric(b)
    // oxlint-disable-next-line eqeqeq -- this comparison of bigint and double is exact
    return right !== undefined && left == right
  }
  if (isList(a)) return isList(b) && listsEqual(a, b)
  if (a instanceof MapValue) return b instanceof MapValue && mapsEqual(a, b)
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (a instanceof TypeValue) return b instanceof TypeValue && a.type === b.type
  if (a instanceof OpaqueValue) return b instanceof OpaqueValue && a.type === b.type && a.text === b.text
  if (a instanceof Optional) {
    if (!(b instanceof Optional) || (a.value === undefined) !== (b.value === undefined)) return false
    return a.value === undefined || celEquals(a.value, b.value!)
  }
  return false
}

function listsEqual(a: readonly CelValue[], b: readonly CelValue[]): boolean {
  if (a.length !== b.length) return false
  if (listTypeOf(a) === undefined && listTypeOf(b) === undefined) return a.every((item, i) => celEquals(item, b[i]!))
  return a.every((item) => b.some((other) => celEquals(item, other)))
}

/** Adds lists as CEL's `+`: set and map lists unite, others are concatenated. */
export function addLists(left: readonly CelValue[], right: readonly CelValue[]): readonly CelValue[] {
  const listType = listTypeOf(left)
  if (listType === undefined) return [...left, ...right]
  if (listType.kind === 'set') {
    return withListType([...left, ...right.filter((item) => !left.some((other) => celEquals(item, other)))], listType)
  }
  const sameKeys = (a: CelValue, b: CelValue): boolean =>
    a instanceof MapValue &&
    b instanceof MapValue &&
    listType.keys.every((key) => celEquals(a.get(key) ?? null, b.get(key) ?? null))
  const merged = left.map((item) => right.find((other) => sameKeys(item, other)) ?? item)
  return withListType([...merged, ...right.filter((item) => !left.some((other) => sameKeys(item, other)))], listType)
}

function mapsEqual(a: MapValue, b: MapValue): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a.entries()) {
    const other = b.get(key)
    if (other === undefined || !celEquals(value, other)) return false
  }
  return true
}

/** Converts JSON without a schema: integers become int, other numbers double. */
export function fromJson(value: JsonValue | undefined): CelValue {
  switch (typeof value) {
    case 'number':
      return Number.isInteger(value) ? BigInt(value) : value
    case 'undefined':
      return null
    case 'object':
      if (value === null) return null
      if (Array.isArray(value)) return (value as readonly JsonValue[]).map(fromJson)
      return MapValue.of(
        Object.keys(value).map((key) => [key, fromJson(ownValue(value as MutableJsonObject, key))] as const),
      )
    default:
      return value
  }
}

/**
 * Converts a result to JSON. Integers up to 2^53 are numbers; durations and timestamps are strings, bytes base64.
 * @throws CelError for values without a JSON form
 */
export function toJson(value: CelValue): JsonValue {
  if (value === null) return null
  switch (typeof value) {
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? Number(value) : value
    case 'number':
      if (Number.isFinite(value)) return value
      throw new CelError(`${value} has no JSON form`)
    case 'string':
    case 'boolean':
      return value
    default:
  }
  if (value instanceof Uint) return toJson(value.value)
  if (isList(value)) return value.map(toJson)
  if (value instanceof MapValue) {
    const out: MutableJsonObject = {}
    for (const [key, member] of value.entries()) setOwn(out, formatKey(key), toJson(member))
    return out
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Timestamp || value instanceof Duration) return formatTime(value)
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value)
  return value instanceof TypeValue ? value.type : value.text
}

/** Formats a map key as a string. */
export function formatKey(key: CelValue): string {
  if (typeof key === 'string') return key
  return typeof key === 'boolean' ? String(key) : String(numeric(key) ?? typeName(key))
}

const second = 1_000_000_000n

/** Formats a timestamp or duration: `2026-01-02T03:04:05.6Z`, `3.5s`. */
export function formatTime(value: Timestamp | Duration): string {
  const offset = value instanceof Timestamp ? value.offset : 0
  const nanos = value.nanos + BigInt(offset) * 60n * second
  const size = nanos < 0n && value instanceof Duration ? -nanos : nanos
  const remainder = ((size % second) + second) % second
  const whole = (size - remainder) / second
  const fraction = remainder === 0n ? '' : `.${String(remainder).padStart(9, '0').replace(/0+$/, '')}`
  if (value instanceof Duration)
    return `${nanos < 0n ? '-' : ''}${asSeconds(whole, remainder) ?? `${whole}${fraction}`}s`
  const text = new Date(Number(whole) * 1000).toISOString()
  return `${text.replace(/\.000Z$/, '').replace(/^\+0*(\d{4}-)/, '$1')}${fraction}${formatOffset(offset)}`
}

/**
 * Returns seconds as the shortest form of their double, as Go prints durations; undefined where that has an exponent.
 */
function asSeconds(whole: bigint, nanos: bigint): string | undefined {
  const text = String(Number(whole) + Number(nanos) / 1e9)
  return text.includes('e') ? undefined : text
}

function formatOffset(offset: number): string {
  if (offset === 0) return 'Z'
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60]
  return `${offset < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
}

const timestampForm = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)$/
const earliest = -62135596800n * second
const latest = 253402300800n * second

/** Parses an RFC 3339 timestamp. @throws CelError */
export function parseTimestamp(text: string): Timestamp {
  const match = timestampForm.exec(text)
  const milliseconds = match === null ? NaN : Date.parse(`${match[1]}T${match[2]}${match[4]!.toUpperCase()}`)
  if (Number.isNaN(milliseconds))
    throw new CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
  const nanos = BigInt(milliseconds) * 1_000_000n + BigInt((match![3] ?? '').padEnd(9, '0'))
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):(\d\d)$/.exec(match![4]!) ?? []
  return checkedTimestamp(nanos, (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)))
}

/** Creates a timestamp within the years 1 to 9999. @throws CelError */
export function checkedTimestamp(nanos: bigint, offset: number = 0): Timestamp {
  if (nanos < earliest || nanos >= latest) throw new CelError('timestamp overflow')
  return new Timestamp(nanos, offset)
}
