// `format` of strings, as cel-go's string extension (version 2) has it: numbers with the separators of English, lists
// and maps as they are written in CEL.
import { goQuote } from '../../go-text.ts'
import { CelError } from '../errors.ts'
import { Duration, MapValue, Timestamp, TypeValue, Uint, formatTime, isList, typeName } from '../values.ts'
import type { CelValue } from '../values.ts'
import { checkedLength } from './code-points.ts'
import { formatDouble } from './standard.ts'

/** The maximum number of digits of a double. */
const maxPrecision = 100

const clause = /%(?:\.(\d*))?(.?)/gs

/** Formats the arguments by a template. @throws CelError for clauses and arguments that do not fit */
export function format(template: string, args: readonly CelValue[]): string {
  let next = 0
  let length = template.length
  return template.replace(clause, (_whole, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%'
    const problem = clauseProblem(precision, verb)
    if (problem !== undefined) throw new CelError(problem)
    if (next >= args.length) throw new CelError(`index ${next} out of range`)
    const digits = precision === undefined ? 6 : Number(precision)
    if (digits > maxPrecision)
      throw new CelError(`error during formatting: precision ${digits} is greater than ${maxPrecision}`)
    const part = formatters[verb as keyof typeof formatters](args[next++]!, digits)
    length = checkedLength(length + part.length)
    return part
  })
}

/** Returns what is wrong with a clause: its precision or its verb; `precision` is what follows its dot. */
export function clauseProblem(precision: string | undefined, verb: string): string | undefined {
  if (precision === '')
    return 'could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
  if (verb === '') return 'unexpected end of string'
  return Object.hasOwn(formatters, verb)
    ? undefined
    : `could not parse formatting clause: unrecognized formatting clause ${goQuote(verb)}`
}

function wrong(clauseName: string, value: CelValue): CelError {
  return new CelError(`error during formatting: ${clauseName} was given ${typeName(value)}`)
}

type Formatter = (value: CelValue, precision: number) => string

const formatters: Readonly<Record<'s' | 'd' | 'f' | 'e' | 'b' | 'o' | 'x' | 'X', Formatter>> = {
  s: (value) => formatAny(value),
  d: (value) => {
    if (typeof value === 'bigint') return String(value)
    if (value instanceof Uint) return String(value.value)
    throw wrong('decimal clause can only be used on integers,', value)
  },
  f: (value, precision) => {
    if (typeof value !== 'number') throw wrong('fixed-point clause can only be used on doubles,', value)
    return inEnglish(value, () => grouped(fixed(value, precision)))
  },
  // The real server ignores the precision.
  e: (value) => {
    if (typeof value !== 'number') throw wrong('scientific clause can only be used on doubles,', value)
    return inEnglish(value, () => powerOfTen(value))
  },
  b: (value) => {
    if (typeof value === 'boolean') return value ? '1' : '0'
    return integerIn(value, 2, 'only integers and bools can be formatted as binary,')
  },
  o: (value) => integerIn(value, 8, 'octal clause can only be used on integers,'),
  x: hexadecimal,
  X: (value) => hexadecimal(value).toUpperCase(),
}

function inEnglish(value: number, print: () => string): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? print() : value > 0 ? '∞' : '-∞'
}

function grouped(number: string): string {
  const [whole = '', ...fraction] = number.split('.')
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ','), ...fraction].join('.')
}

const raised = '⁰¹²³⁴⁵⁶⁷⁸⁹'

function powerOfTen(value: number): string {
  const [mantissa = '', exponent = '0'] = value.toExponential(6).split('e')
  const digits = exponent.replace(/^[+-]/, '').padStart(2, '0')
  const power = digits.replace(/\d/g, (digit) => raised[Number(digit)]!)
  return `${mantissa}×10${exponent.startsWith('-') ? '⁻' : ''}${power}`
}

/** Formats like toFixed, but rounds half to even, as in Go, and writes large numbers out. */
function fixed(value: number, precision: number): string {
  if (Math.abs(value) >= 1e21)
    return precision === 0 ? String(BigInt(value)) : `${BigInt(value)}.${'0'.repeat(precision)}`
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

/** Formats a value for `%s`; `isInside` a list or map it is written as in an expression. */
function formatAny(value: CelValue, isInside = false): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return isInside ? goQuote(value) : value
  if (typeof value === 'number') return isInside ? insideDouble(value) : formatDouble(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Uint8Array) return isInside ? `b${goQuote(decoded(value))}` : decoded(value)
  if (isList(value)) return `[${value.map((item) => formatAny(item, true)).join(', ')}]`
  if (value instanceof Timestamp) return isInside ? `timestamp(${goQuote(formatTime(value))})` : formatTime(value)
  if (value instanceof Duration) return isInside ? `duration(${goQuote(formatTime(value))})` : formatTime(value)
  if (value instanceof TypeValue) return value.type
  if (value instanceof MapValue) return formatMap(value)
  throw wrong(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps,',
    value,
  )
}

function insideDouble(value: number): string {
  return Number.isFinite(value) ? fixed(value, 6) : goQuote(formatDouble(value))
}

function formatMap(map: MapValue): string {
  const entries = [...map.entries()]
  for (const [key] of entries)
    if (typeof key === 'number') throw wrong('map keys can only be strings, bools and integers,', key)
  const shown = entries.map(([key, member]) => [key, `${formatAny(key, true)}:${formatAny(member, true)}`] as const)
  const inOrder = shown.toSorted(([a, left], [b, right]) =>
    typeof a === 'bigint' && typeof b === 'bigint' ? (a < b ? -1 : 1) : left < right ? -1 : 1,
  )
  return `{${inOrder.map(([, text]) => text).join(', ')}}`
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}
