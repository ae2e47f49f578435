// YAML as Go's yaml.v3 writes it: an indent of four, keys in natural order, strings quoted where YAML 1.1 readers would
// read another type. Digests of outputs are computed over this YAML, so it must be byte for byte the same
// (originals/cartographer.md §4.2).
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'

/** Returns a value as a YAML document that ends with a line break. */
export function goYaml(value: JsonValue): string {
  if (isJsonArray(value) && value.length > 0) return sequence(value, 0)
  if (isJsonObject(value) && Object.keys(value).length > 0) return mapping(value, 0)
  return `${scalar(value, 4)}\n`
}

function mapping(value: JsonObject, indent: number): string {
  const pad = ' '.repeat(indent)
  const child = nextStop(indent)
  return naturallySorted(Object.keys(value))
    .map((key) => {
      const field = value[key]!
      const name = formatKey(key)
      if (isJsonObject(field) && Object.keys(field).length > 0) return `${pad}${name}:\n${mapping(field, child)}`
      if (isJsonArray(field) && field.length > 0) return `${pad}${name}:\n${sequence(field, child)}`
      return `${pad}${name}: ${scalar(field, child)}\n`
    })
    .join('')
}

function sequence(value: readonly JsonValue[], indent: number): string {
  const pad = ' '.repeat(indent)
  return value
    .map((item) => {
      // A nested mapping or sequence begins on the line of the dash, two columns further in.
      if (isJsonObject(item) && Object.keys(item).length > 0)
        return `${pad}- ${mapping(item, indent + 2).slice(indent + 2)}`
      if (isJsonArray(item) && item.length > 0) return `${pad}- ${sequence(item, indent + 2).slice(indent + 2)}`
      return `${pad}- ${scalar(item, indent + 2)}\n`
    })
    .join('')
}

function nextStop(indent: number): number {
  return 4 * Math.floor((indent + 4) / 4)
}

function scalar(value: JsonValue, indent: number): string {
  if (typeof value === 'string') return string(value, indent)
  if (typeof value === 'number') return number(value)
  if (isJsonArray(value)) return '[]'
  return isJsonObject(value) ? '{}' : String(value)
}

/** Formats integers in full; other numbers with an exponent from 1e+06 and below 1e-04, as Go's `%g` does. */
function number(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString()
  const magnitude = Math.abs(value)
  if (magnitude >= 1e-4 && magnitude < 1e6) return String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}

const otherTypes =
  /^(?:|~|null|Null|NULL|true|True|TRUE|false|False|FALSE|<<|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/
const numbers =
  /^(?:[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+|[0-9][0-9_]*)|[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?)$/
const sexagesimal = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/
const timestamp = /^\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]|\s+)\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})?)?$/

function string(value: string, indent: number): string {
  if (value.includes('\n') && fitsBlock(value)) return block(value, indent)
  if (value.includes('\n') || readsAsOtherType(value)) return doubleQuoted(value)
  if (isPlain(value)) return value
  return needsEscapes(value) ? doubleQuoted(value) : `'${value.replaceAll("'", "''")}'`
}

function formatKey(key: string): string {
  if (key.includes('\n') || readsAsOtherType(key)) return doubleQuoted(key)
  if (isPlain(key)) return key
  return needsEscapes(key) ? doubleQuoted(key) : `'${key.replaceAll("'", "''")}'`
}

function readsAsOtherType(value: string): boolean {
  return otherTypes.test(value) || numbers.test(value) || sexagesimal.test(value) || timestamp.test(value)
}

function isPlain(value: string): boolean {
  if (needsEscapes(value) || /^\s|\s$/.test(value)) return false
  if (/^(?:[#,[\]{}&*!|>'"%@`]|[-?:](?:\s|$)|---|\.\.\.)/.test(value)) return false
  return !/:(?:\s|$)|\s#/.test(value)
}

function needsEscapes(value: string): boolean {
  // eslint-disable-next-line no-control-regex
  return /[\u0000-\u0009\u000b-\u001f\u007f-\u0084\u0086-\u009f\u2028\u2029\ufeff\ufffe\uffff]/.test(value)
}

function fitsBlock(value: string): boolean {
  return !needsEscapes(value) && !/ \n| $/.test(value)
}

function block(value: string, indent: number): string {
  const hint = /^[ \n]/.test(value) ? '4' : ''
  const chomp = !value.endsWith('\n') ? '-' : value === '\n' || value.endsWith('\n\n') ? '+' : ''
  const body = value.replace(/\n$/, '').split('\n')
  const pad = ' '.repeat(indent)
  return `|${hint}${chomp}\n${body.map((line) => (line === '' ? '' : pad + line)).join('\n')}`
}

const escapes: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\u0007': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\u001b': '\\e',
  '"': '\\"',
  '\\': '\\\\',
  '\u0085': '\\N',
  '\u2028': '\\L',
  '\u2029': '\\P',
}

function doubleQuoted(value: string): string {
  let out = ''
  for (const character of value) {
    const code = character.codePointAt(0)!
    if (escapes[character] !== undefined) out += escapes[character]
    else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
      out += `\\x${code.toString(16).toUpperCase().padStart(2, '0')}`
    else if (code === 0xfeff || code === 0xfffe || code === 0xffff) out += `\\u${code.toString(16).toUpperCase()}`
    else out += character
  }
  return `"${out}"`
}

/** A key with its code points, which are compared many times. */
interface SortKey {
  readonly key: string
  readonly points: readonly number[]
}

/** Sorts keys as yaml.v3 does (sorter.go, keyList.Less). */
function naturallySorted(keys: readonly string[]): string[] {
  return keys
    .map((key): SortKey => ({ key, points: Array.from(key, (character) => character.codePointAt(0)!) }))
    .toSorted(naturalOrder)
    .map(({ key }) => key)
}

/** Compares keys in natural order: digits by their number, letters after everything else unless digits precede. */
function naturalOrder({ points: a }: SortKey, { points: b }: SortKey): number {
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  if (at === a.length || at === b.length) return a.length - b.length
  const [x, y] = [a[at]!, b[at]!]
  const [xIsLetter, yIsLetter] = [isLetter(x), isLetter(y)]
  if (xIsLetter && yIsLetter) return x - y
  if (xIsLetter || yIsLetter) return (at > 0 && isDigit(a[at - 1]!) ? xIsLetter : yIsLetter) ? -1 : 1
  // After a non-zero digit, a zero is not leading.
  const first = (x === zero || y === zero) && continuesNumber(a, at) ? 1n : 0n
  const [xNumber, yNumber] = [numberAt(a, at, first), numberAt(b, at, first)]
  if (xNumber.value !== yNumber.value) return xNumber.value < yNumber.value ? -1 : 1
  return xNumber.end - yNumber.end || x - y
}

const zero = 0x30

function continuesNumber(points: readonly number[], at: number): boolean {
  for (let before = at - 1; before >= 0 && isDigit(points[before]!); before--) if (points[before] !== zero) return true
  return false
}

/** Reads digits as Go does: of any script, by their distance from `0`, in 64 bits. */
function numberAt(
  points: readonly number[],
  from: number,
  first: bigint,
): { readonly value: bigint; readonly end: number } {
  let [value, end] = [first, from]
  for (; end < points.length && isDigit(points[end]!); end++)
    value = BigInt.asIntN(64, value * 10n + BigInt(points[end]! - zero))
  return { value, end }
}

function isDigit(point: number): boolean {
  return point < 0x80 ? point >= zero && point <= 0x39 : /^\p{Nd}$/u.test(String.fromCodePoint(point))
}

function isLetter(point: number): boolean {
  if (point < 0x80) return (point >= 0x41 && point <= 0x5a) || (point >= 0x61 && point <= 0x7a)
  return /^\p{L}$/u.test(String.fromCodePoint(point))
}
