// The string functions of cel-go's extension, and format.
import { goQuote } from '../../go-text.ts'
import { joining, rewriting, traversal } from '../call-cost.ts'
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import { characters, checkedLength, indexIn, lastIndexIn, lengthOf, sliceOf } from './code-points.ts'
import { format } from './string-format.ts'

function checkedIndex(index: bigint, length: number): number {
  if (index < 0n || index > BigInt(length)) throw new CelError(`index out of range: ${index}`)
  return Number(index)
}

function charAt(text: string, index: bigint): string {
  return characters(text)[checkedIndex(index, lengthOf(text))] ?? ''
}

function substring(text: string, start: bigint, end?: bigint): string {
  const length = lengthOf(text)
  if (end !== undefined && start > end) throw new CelError(`invalid substring range. start: ${start}, end: ${end}`)
  const from = checkedIndex(start, length)
  return sliceOf(text, from, end === undefined ? length : checkedIndex(end, length))
}

function indexOf(text: string, part: string, from: bigint = 0n): bigint {
  const length = lengthOf(text)
  return searchBeyond(part, from, length) ?? BigInt(indexIn(text, part, Number(from)))
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const length = lengthOf(text)
  if (from === undefined) return BigInt(lastIndexIn(text, part, length))
  return searchBeyond(part, from, length) ?? BigInt(lastIndexIn(text, part, Number(from)))
}

/**
 * Returns the result of a search that needs no look at the string: '' is found where the search begins, whatever the
 * length, and nothing else behind the end.
 */
function searchBeyond(part: string, from: bigint, length: number): bigint | undefined {
  if (part === '') return from
  if (from < 0n) throw new CelError(`index out of range: ${from}`)
  return from >= BigInt(length) ? -1n : undefined
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

/** Quotes a string with the escapes of CEL that have a letter; other characters are unchanged. */
function quote(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the controls from \a to \r
  return `"${text.replace(/["\\\u0007-\u000d]/g, (character) => goQuote(character).slice(1, -1)).toWellFormed()}"`
}
