// The string functions of cel-go's extension, and format.
import { goQuote } from '../../go-text.ts'
import { joining, rewriting, traversal } from '../call-cost.ts'
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import { Duration, MapValue, Timestamp, TypeValue, Uint, formatTime, isList, typeName } from '../values.ts'
import type { CelValue } from '../values.ts'
import { formatDouble } from './standard.ts'
import { characters, checkedLength, indexIn, lastIndexIn, lengthOf, sliceOf } from './code-points.ts'

function checkedIndex(index: bigint, length: number): number {
  if (index < 0n || index > BigInt(length)) throw new CelError(`index out of range: ${index}`)
  return Number(index)
}

function charAt(text: string, index: bigint): string {
  return characters(text)[checkedIndex(index, lengthOf(text))] ?? ''
}

function substring(text: string, start: bigint, end?: bigint): string {
  const length = lengthOf(text)
  const from = checkedIndex(start, length)
  const to = end === undefined ? length : checkedIndex(end, length)
  if (from > to) throw new CelError(`invalid substring range. start: ${start}, end: ${end}`)
  return sliceOf(text, from, to)
}

function indexOf(text: string, part: string, from: bigint = 0n): bigint {
  return BigInt(indexIn(text, part, checkedIndex(from, lengthOf(text))))
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const length = lengthOf(text)
  return BigInt(lastIndexIn(text, part, from === undefined ? length : checkedIndex(from, length)))
}

function replace(text: string, old: string, replacement: string, limit: bigint = -1n): string {
  const times = limit < 0n ? text.length + 1 : Math.min(Number(limit), text.length + 1)
  checkedLength(text.length + Math.floor(times / Math.max(1, old.length)) * replacement.length)
  if (limit < 0n) return text.replaceAll(old, () => replacement)
  let out = text
  let at = 0
  for (let i = 0n; i < limit; i++) {
    const found = out.indexOf(old, at)
    if (found < 0 || (old === '' && found < at)) break
    out = out.slice(0, found) + replacement + out.slice(found + old.length)
    at = found + replacement.length + (old === '' ? 1 : 0)
    if (at > out.length) break
  }
  return out
}

function join(list: readonly (string | null)[], separator: string = ''): string {
  if (!isStrings(list)) throw new CelError('no such overload')
  checkedLength(list.reduce((total, part) => total + part.length + separator.length, 0))
  return list.join(separator)
}

/** The checker accepts nullable strings as strings. */
function isStrings(list: readonly (string | null)[]): list is readonly string[] {
  return !list.includes(null)
}

function split(text: string, separator: string, limit: bigint = -1n): string[] {
  if (limit === 0n) return []
  const parts = separator === '' ? Array.from(text) : text.split(separator)
  if (limit < 0n || BigInt(parts.length) <= limit) return parts
  const kept = parts.slice(0, Number(limit) - 1)
  return [...kept, parts.slice(kept.length).join(separator)]
}

const blanks = /^\p{White_Space}+|\p{White_Space}+$/gu

/** Returns the string extension of cel-go: charAt to trim, join, strings.quote, format. */
export function stringsLibrary(): Library {
  return new Library()
    .define('string.charAt(int): string', charAt)
    .define('string.indexOf(string): int', indexOf, traversal)
    .define('string.indexOf(string, int): int', indexOf, traversal)
    .define('string.lastIndexOf(string): int', lastIndexOf, traversal)
    .define('string.lastIndexOf(string, int): int', lastIndexOf, traversal)
    .define('list<string>.join(): string', join, joining)
    .define('list<string>.join(string): string', join, joining)
    .define(
      'string.lowerAscii(): string',
      (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase()),
      traversal,
    )
    .define(
      'string.upperAscii(): string',
      (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase()),
      traversal,
    )
    .define('string.replace(string, string): string', replace, rewriting)
    .define('string.replace(string, string, int): string', replace, rewriting)
    .define('string.split(string): list<string>', split, rewriting)
    .define('string.split(string, int): list<string>', split, rewriting)
    .define('string.substring(int): string', substring, traversal)
    .define('string.substring(int, int): string', substring, traversal)
    .define('string.trim(): string', (text: string) => text.replace(blanks, ''), traversal)
    .define('string.reverse(): string', (text: string) => Array.from(text).reverse().join(''), traversal)
    .define('strings.quote(string): string', (text: string) => quote(text), traversal)
    .define('string.format(list<dyn>): string', format, traversal)
}

/** Quotes a string with the escapes of CEL; other characters are unchanged. */
function quote(text: string): string {
  return `"${text.replace(/["\\\p{Cc}]/gu, (character) => goQuote(character).slice(1, -1)).toWellFormed()}"`
}

/** The maximum number of digits of a double. */
const maxPrecision = 100

const clause = /%(?:\.(\d+))?(.?)/gs

function format(template: string, args: readonly CelValue[]): string {
  let next = 0
  let length = template.length
  return template.replace(clause, (_whole, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%'
    if (next >= args.length) throw new CelError(`index ${next} out of range`)
    const value = args[next++]!
    const formatter = formatters.get(verb)
    if (formatter === undefined) {
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
    }
    const digits = precision === undefined ? 6 : Number(precision)
    if (digits > maxPrecision)
      throw new CelError(`error during formatting: precision ${digits} is greater than ${maxPrecision}`)
    const part = formatter(value, digits)
    length = checkedLength(length + part.length)
    return part
  })
}

function wrong(clauseName: string, value: CelValue): CelError {
  return new CelError(`error during formatting: ${clauseName} was given ${typeName(value)}`)
}

type Formatter = (value: CelValue, precision: number) => string

const formatters: ReadonlyMap<string, Formatter> = new Map(
  Object.entries<Formatter>({
    s: formatAny,
    d: (value) => {
      if (typeof value === 'bigint') return String(value)
      if (value instanceof Uint) return String(value.value)
      if (typeof value === 'number') return formatAny(value)
      throw wrong('decimal clause can only be used on integers', value)
    },
    f: (value, precision) => fixed(value, precision, (number) => toFixedEven(number, precision)),
    e: (value, precision) =>
      fixed(value, precision, (number) => number.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2')),
    b: (value) => {
      if (typeof value === 'boolean') return value ? '1' : '0'
      return integerIn(value, 2, 'only integers and bools can be formatted as binary,')
    },
    o: (value) => integerIn(value, 8, 'octal clause can only be used on integers,'),
    x: hexadecimal,
    X: (value) => hexadecimal(value).toUpperCase(),
  }),
)

function fixed(value: CelValue, _precision: number, print: (value: number) => string): string {
  const number = typeof value === 'bigint' ? Number(value) : value instanceof Uint ? Number(value.value) : value
  if (typeof number !== 'number') throw wrong('fixed-point clause can only be used on doubles,', value)
  if (Number.isNaN(number)) return 'NaN'
  return Number.isFinite(number) ? print(number) : number > 0 ? 'Infinity' : '-Infinity'
}

/** Formats like toFixed, but rounds half to even, as in Go. */
function toFixedEven(value: number, precision: number): string {
  const rounded = value.toFixed(precision)
  // No double exactly halfway has more digits than that.
  const [whole, fraction = ''] = Math.abs(value)
    .toFixed(Math.min(100, precision + 52))
    .split('.') as [string, string?]
  if (!/^50*$/.test(fraction.slice(precision))) return rounded
  const digits = BigInt(whole + fraction.slice(0, precision))
  const even = String(digits + (digits & 1n)).padStart(precision + 1, '0')
  const text = precision === 0 ? even : `${even.slice(0, -precision)}.${even.slice(-precision)}`
  return value < 0 ? `-${text}` : text
}

function integerIn(value: CelValue, base: number, message: string): string {
  if (typeof value === 'bigint') return value.toString(base)
  if (value instanceof Uint) return value.value.toString(base)
  throw wrong(message, value)
}

function hexadecimal(value: CelValue): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return integerIn(value, 16, 'only integers, byte buffers, and strings can be formatted as hex,')
}

function formatAny(value: CelValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return value
  if (typeof value === 'number')
    return Number.isFinite(value)
      ? formatDouble(value)
      : Number.isNaN(value)
        ? 'NaN'
        : value > 0
          ? 'Infinity'
          : '-Infinity'
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (isList(value)) return `[${value.map(formatAny).join(', ')}]`
  if (value instanceof Timestamp || value instanceof Duration) return formatTime(value)
  if (value instanceof TypeValue) return value.type
  if (value instanceof MapValue) {
    const entries = [...value.entries()].map(([key, member]) => `${formatAny(key)}: ${formatAny(member)}`)
    return `{${entries.sort().join(', ')}}`
  }
  throw wrong(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps,',
    value,
  )
}
