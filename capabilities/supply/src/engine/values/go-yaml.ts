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
  return Object.keys(value)
    .toSorted(naturalOrder)
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

/**
 * Compares keys in natural order: digits by their number, letters after everything else unless digits precede (yaml.v3
 * sorter.go keyList.Less).
 */
function naturalOrder(left: string, right: string): number {
  const [a, b] = [[...left], [...right]]
  let afterDigit = false
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [x, y] = [a[at]!, b[at]!]
    if (x === y) {
      afterDigit = isDigit(x)
      continue
    }
    const [xIsLetter, yIsLetter] = [isLetter(x), isLetter(y)]
    if (xIsLetter && yIsLetter) return x < y ? -1 : 1
    if (xIsLetter || yIsLetter) return (afterDigit ? xIsLetter : yIsLetter) ? -1 : 1
    const [xRun, yRun] = [digitRun(a, at), digitRun(b, at)]
    const difference = BigInt(xRun || '0') - BigInt(yRun || '0')
    if (difference !== 0n && !hasDigitsBefore(a, at)) return difference < 0n ? -1 : 1
    if (xRun.length !== yRun.length) return xRun.length < yRun.length ? -1 : 1
    return difference === 0n ? (x < y ? -1 : 1) : difference < 0n ? -1 : 1
  }
  return a.length - b.length
}

function digitRun(characters: readonly string[], from: number): string {
  let to = from
  while (to < characters.length && isDigit(characters[to]!)) to++
  return characters.slice(from, to).join('')
}

/** After a non-zero digit, the longer run of digits is the larger number. */
function hasDigitsBefore(characters: readonly string[], at: number): boolean {
  return at > 0 && isDigit(characters[at - 1]!) && characters[at - 1] !== '0'
}

function isDigit(character: string): boolean {
  return /^\p{Nd}$/u.test(character)
}

function isLetter(character: string): boolean {
  return /^\p{L}$/u.test(character)
}
