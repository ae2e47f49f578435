// The standard library of CEL: operators, sizes, conversions, and string tests.
import { parseGoDurationNanoseconds } from '../../duration.ts'
import { formatGoNumber } from '../../go-text.ts'
import { compileRegex } from '../../regex.ts'
import { comparison, concatenation, match, membership, search, secondTraversal, traversal } from '../call-cost.ts'
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import {
  Duration,
  TypeValue,
  Uint,
  addLists,
  celEquals,
  checkedTimestamp,
  formatTime,
  parseTimestamp,
  typeName,
} from '../values.ts'
import type { CelValue, MapValue, Timestamp } from '../values.ts'
import { lengthOf } from './code-points.ts'

const int64 = 1n << 63n
const uint64 = 1n << 64n

/** Returns an int, or throws when it exceeds 64 bits. */
export function checkedInt(value: bigint): bigint {
  if (value >= int64 || value < -int64) throw new CelError('integer overflow')
  return value
}

function checkedUint(value: bigint): Uint {
  if (value >= uint64 || value < 0n) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}

function nonZero(divisor: bigint, what: string): bigint {
  if (divisor === 0n) throw new CelError(`${what} by zero`)
  return divisor
}

function checkedDuration(nanos: bigint): Duration {
  return new Duration(checkedInt(nanos))
}

function arithmetic(library: Library): void {
  library
    .define('_+_(int, int): int', (a: bigint, b: bigint) => checkedInt(a + b))
    .define('_+_(uint, uint): uint', (a: Uint, b: Uint) => checkedUint(a.value + b.value))
    .define('_+_(double, double): double', (a: number, b: number) => a + b)
    .define('_+_(string, string): string', (a: string, b: string) => a + b, concatenation)
    .define('_+_(bytes, bytes): bytes', (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b]), concatenation)
    .define('_+_(list<A>, list<A>): list<A>', addLists, concatenation)
    .define('_+_(timestamp, duration): timestamp', (a: Timestamp, b: Duration) =>
      checkedTimestamp(a.nanos + b.nanos, a.offset),
    )
    .define('_+_(duration, timestamp): timestamp', (a: Duration, b: Timestamp) =>
      checkedTimestamp(a.nanos + b.nanos, b.offset),
    )
    .define('_+_(duration, duration): duration', (a: Duration, b: Duration) => checkedDuration(a.nanos + b.nanos))
    .define('_-_(int, int): int', (a: bigint, b: bigint) => checkedInt(a - b))
    .define('_-_(uint, uint): uint', (a: Uint, b: Uint) => checkedUint(a.value - b.value))
    .define('_-_(double, double): double', (a: number, b: number) => a - b)
    .define('_-_(timestamp, timestamp): duration', (a: Timestamp, b: Timestamp) => checkedDuration(a.nanos - b.nanos))
    .define('_-_(timestamp, duration): timestamp', (a: Timestamp, b: Duration) =>
      checkedTimestamp(a.nanos - b.nanos, a.offset),
    )
    .define('_-_(duration, duration): duration', (a: Duration, b: Duration) => checkedDuration(a.nanos - b.nanos))
    .define('_*_(int, int): int', (a: bigint, b: bigint) => checkedInt(a * b))
    .define('_*_(uint, uint): uint', (a: Uint, b: Uint) => checkedUint(a.value * b.value))
    .define('_*_(double, double): double', (a: number, b: number) => a * b)
    .define('_/_(int, int): int', (a: bigint, b: bigint) => checkedInt(a / nonZero(b, 'division')))
    .define('_/_(uint, uint): uint', (a: Uint, b: Uint) => new Uint(a.value / nonZero(b.value, 'division')))
    .define('_/_(double, double): double', (a: number, b: number) => a / b)
    .define('_%_(int, int): int', (a: bigint, b: bigint) => a % nonZero(b, 'modulus'))
    .define('_%_(uint, uint): uint', (a: Uint, b: Uint) => new Uint(a.value % nonZero(b.value, 'modulus')))
    .define('-_(int): int', (a: bigint) => checkedInt(-a))
    .define('-_(double): double', (a: number) => -a)
    .define('!_(bool): bool', (a: boolean) => !a)
}

/** Compares two values: negative, zero or positive; NaN for unordered doubles. */
function orderOf(a: CelValue, b: CelValue): number {
  // As in cel-go, an int and a double are compared as doubles.
  const isDouble = typeof a === 'number' || typeof b === 'number'
  const [left, right] = [a, b].map((value) => (isDouble ? Number(orderable(value)) : orderable(value))) as [
    number,
    number,
  ]
  return left < right ? -1 : left > right ? 1 : left === right ? 0 : NaN
}

function orderable(value: CelValue): bigint | number | string {
  if (value instanceof Uint) return value.value
  if (typeof value === 'boolean') return Number(value)
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'string') return value
  return (value as Timestamp).nanos
}

/** Compares strings by code points; UTF-16 order differs beyond the basic plane. */
function compareStrings(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

const orderedPairs = [
  ['bool', 'bool'],
  ...['int', 'uint', 'double'].flatMap((left) => ['int', 'uint', 'double'].map((right) => [left, right])),
  ['timestamp', 'timestamp'],
  ['duration', 'duration'],
]

/** The results of a comparison for which each operator is true. */
const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  '_<_': (order) => order < 0,
  '_<=_': (order) => order <= 0,
  '_>_': (order) => order > 0,
  '_>=_': (order) => order >= 0,
}

function comparisonOperators(library: Library): void {
  for (const [operator, accepts] of Object.entries(comparisons)) {
    for (const [left, right] of orderedPairs) {
      library.define(`${operator}(${left}, ${right}): bool`, (a: CelValue, b: CelValue) => accepts(orderOf(a, b)))
    }
    library
      .define(`${operator}(string, string): bool`, (a: string, b: string) => accepts(compareStrings(a, b)), comparison)
      .define(
        `${operator}(bytes, bytes): bool`,
        (a: Uint8Array, b: Uint8Array) => accepts(Buffer.compare(a, b)),
        comparison,
      )
  }
  library
    .define('_==_(A, A): bool', celEquals, comparison)
    .define('_!=_(A, A): bool', (a: CelValue, b: CelValue) => !celEquals(a, b), comparison)
    .define(
      '@in(A, list<A>): bool',
      (a: CelValue, list: readonly CelValue[]) => list.some((item) => celEquals(a, item)),
      membership,
    )
    .define('@in(A, map<A, B>): bool', (key: CelValue, map: MapValue) => map.has(key))
}

function strings(library: Library): void {
  for (const prefix of ['size(', '']) {
    const of = (type: string): string => (prefix === '' ? `${type}.size(): int` : `size(${type}): int`)
    library
      .define(of('string'), (text: string) => BigInt(lengthOf(text)))
      .define(of('bytes'), (bytes: Uint8Array) => BigInt(bytes.length))
      .define(of('list<A>'), (list: readonly CelValue[]) => BigInt(list.length))
      .define(of('map<A, B>'), (map: MapValue) => BigInt(map.size))
  }
  const matches = (text: string, pattern: string): boolean => {
    try {
      return compileRegex(pattern).test(text)
    } catch (error) {
      throw new CelError((error as Error).message)
    }
  }
  library
    .define('string.contains(string): bool', (text: string, part: string) => text.includes(part), search)
    .define('string.startsWith(string): bool', (text: string, part: string) => text.startsWith(part), secondTraversal)
    .define('string.endsWith(string): bool', (text: string, part: string) => text.endsWith(part), secondTraversal)
    .define('string.matches(string): bool', matches, match)
    .define('matches(string, string): bool', matches, match)
}

/** Creates the error of a string that does not convert to the type. */
function notOfType(type: string): CelError {
  return new CelError(`type conversion error from 'string' to '${type}'`)
}

function parseInteger(text: string, type: 'int' | 'uint', check: (value: bigint) => boolean): bigint {
  // Unsigned numbers have no sign.
  if (!(type === 'int' ? /^[-+]?\d+$/ : /^\d+$/).test(text)) throw notOfType(type)
  const value = BigInt(text.replace('+', ''))
  if (!check(value)) throw notOfType(type)
  return value
}

function truncated(value: number, low: number, high: number): bigint {
  if (!(value > low && value < high)) throw new CelError('integer overflow')
  return BigInt(Math.trunc(value))
}

const trueStrings: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True'])
const falseStrings: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False'])

function parseBool(text: string): boolean {
  if (trueStrings.has(text)) return true
  if (falseStrings.has(text)) return false
  throw notOfType('bool')
}

function parseDouble(text: string): number {
  const special: Record<string, number> = {
    inf: Infinity,
    '+inf': Infinity,
    '-inf': -Infinity,
    nan: NaN,
    infinity: Infinity,
    '-infinity': -Infinity,
  }
  const known = special[text.toLowerCase()]
  if (known !== undefined) return known
  const digits = text.replace(/(?<=\d)_(?=\d)/g, '')
  if (!/^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(digits)) throw notOfType('double')
  return Number(digits)
}

/** Parses a Go duration. @throws CelError */
export function parseDuration(text: string): Duration {
  try {
    return new Duration(parseGoDurationNanoseconds(text))
  } catch {
    throw notOfType('google.protobuf.Duration')
  }
}

/** Formats a double as CEL does. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (Object.is(value, -0)) return '-0'
  // Go's %g has an exponent below 1e-4 and from 1e6 on.
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return formatGoNumber(value)
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

function conversions(library: Library): void {
  const inInt = (value: bigint): boolean => value < int64 && value >= -int64
  const inUint = (value: bigint): boolean => value < uint64 && value >= 0n
  library
    .define('int(int): int', (a: bigint) => a)
    .define('int(uint): int', (a: Uint) => checkedInt(a.value))
    .define('int(double): int', (a: number) => truncated(a, -(2 ** 63), 2 ** 63))
    .define('int(string): int', (a: string) => parseInteger(a, 'int', inInt))
    .define('int(timestamp): int', (a: Timestamp) => floorDivide(a.nanos, 1_000_000_000n))
    .define('int(duration): int', (a: Duration) => a.nanos)
    .define('uint(uint): uint', (a: Uint) => a)
    .define('uint(int): uint', (a: bigint) => checkedUint(a))
    .define('uint(double): uint', (a: number) => new Uint(truncated(a, -1, 2 ** 64)))
    .define('uint(string): uint', (a: string) => new Uint(parseInteger(a, 'uint', inUint)))
    .define('double(double): double', (a: number) => a)
    .define('double(int): double', (a: bigint) => Number(a))
    .define('double(uint): double', (a: Uint) => Number(a.value))
    .define('double(string): double', parseDouble)
    .define('string(string): string', (a: string) => a)
    .define('string(bool): string', (a: boolean) => String(a))
    .define('string(int): string', (a: bigint) => String(a))
    .define('string(uint): string', (a: Uint) => String(a.value))
    .define('string(double): string', formatDouble)
    .define('string(bytes): string', decode, traversal)
    .define('string(timestamp): string', (a: Timestamp) => formatTime(a))
    .define('string(duration): string', (a: Duration) => formatTime(a))
    .define('bytes(bytes): bytes', (a: Uint8Array) => a)
    .define('bytes(string): bytes', (a: string) => new TextEncoder().encode(a), traversal)
    .define('bool(bool): bool', (a: boolean) => a)
    .define('bool(string): bool', parseBool)
    .define('timestamp(timestamp): timestamp', (a: Timestamp) => a)
    .define('timestamp(string): timestamp', parseTimestamp)
    .define('timestamp(int): timestamp', (a: bigint) => checkedTimestamp(a * 1_000_000_000n))
    .define('duration(duration): duration', (a: Duration) => a)
    .define('duration(string): duration', parseDuration)
    .define('duration(int): duration', (a: bigint) => new Duration(a))
    .define('dyn(A): dyn', (a: CelValue) => a)
    .define('type(A): type', (a: CelValue) => new TypeValue(typeName(a)))
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return a % b < 0n ? quotient - 1n : quotient
}

/** Returns operators, sizes, conversions and string tests. */
export function standardLibrary(): Library {
  const library = new Library()
  arithmetic(library)
  comparisonOperators(library)
  strings(library)
  conversions(library)
  return library
}
