// Strings and values as Go prints them (%q, %v), for messages that Kubernetes clients show.
import type { JsonValue } from './object.ts'

const shortEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}

/** A character that Go's strconv.IsPrint accepts: letters, marks, numbers, punctuation, symbols and the ASCII space. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

function escapeCharacter(character: string, quote: string): string {
  if (character === quote) return '\\' + character
  const short = shortEscapes[character]
  if (short !== undefined) return short
  if (printable.test(character)) return character
  const code = character.codePointAt(0)!
  if (code < 0x20 || code === 0x7f) return '\\x' + code.toString(16).padStart(2, '0')
  if (code >= 0xd800 && code <= 0xdfff) return '\\ufffd'
  if (code < 0x10000) return '\\u' + code.toString(16).padStart(4, '0')
  return '\\U' + code.toString(16).padStart(8, '0')
}

const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/** Quotes a string as Go's `%q` does. */
export function goQuote(text: string): string {
  if (plain.test(text)) return `"${text}"`
  let out = '"'
  for (const character of text) out += escapeCharacter(character, '"')
  return out + '"'
}

/**
 * Formats a character as Go's JSON decoder names it in `invalid character 'x'`; a byte of a longer UTF-8 sequence is
 * shown as Latin-1.
 */
export function goQuoteCharacter(byte: number): string {
  const character = String.fromCharCode(byte)
  return `'${character === '"' ? character : escapeCharacter(character, "'")}'`
}

/**
 * Formats a number as Go's `%v` does: integers in full, floats shortest, with an exponent of two digits from 1e21 and
 * below 1e-4.
 */
export function formatGoNumber(value: number | bigint): string {
  if (typeof value === 'bigint') return value.toString()
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return BigInt(value).toString()
  const magnitude = Math.abs(value)
  const text = magnitude !== 0 && magnitude < 1e-4 ? value.toExponential() : String(value)
  return text.replace(/e([+-])(\d)$/, 'e$10$2')
}

/** Formats a JSON value as Go's `%v` formats a decoded `interface{}`: `map[a:1 b:[x y]]`, `<nil>`. */
export function formatGoValue(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>'
  switch (typeof value) {
    case 'string':
      return value
    case 'boolean':
      return String(value)
    case 'number':
    case 'bigint':
      return formatGoNumber(value)
    default:
  }
  if (Array.isArray(value)) return `[${value.map((item) => formatGoValue(item as JsonValue)).join(' ')}]`
  const entries = Object.entries(value).sort(byKey)
  return `map[${entries.map(([key, member]) => `${key}:${formatGoValue(member as JsonValue)}`).join(' ')}]`
}

/** Compares entries by key. */
export function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0
}
