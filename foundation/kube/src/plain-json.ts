// The fast way to parse JSON: natively, where a scan shows that the result is the same as that of the exact parser.
import type { JsonValue } from './object.ts'

const quote = 0x22
const backslash = 0x5c

/** Digits that a number may have; more could be an integer beyond 2^53. */
const safeDigits = 15

/**
 * Parses JSON natively. `keys` is its {@link plainKeyCount}. Returns undefined for JSON with syntax errors, and for
 * repeated keys unless they are allowed.
 */
export function parsePlainJson(text: string, keys: number, allowsRepeatedKeys: boolean): JsonValue | undefined {
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
  return allowsRepeatedKeys || keys === keysIn(value) ? value : undefined
}

/**
 * Returns the number of keys in a source; undefined when it is not plain: with large numbers, exponents or escaped
 * surrogates, or deeper than `maxDepth`.
 */
export function plainKeyCount(text: string, maxDepth: number): number | undefined {
  let keys = 0
  let depth = 0
  let digits = 0
  const { length } = text
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x30 && code <= 0x39) {
      if (++digits > safeDigits) return undefined
      continue
    }
    switch (code) {
      case quote:
        at = endOfString(text, at + 1)
        if (at < 0) return undefined
        break
      case 0x3a: // :
        keys++
        break
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maxDepth) return undefined
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        break
      case 0x45: // E
      case 0x65: // e
        if (digits > 0) return undefined
        break
    }
    // The digits before and after a point are those of one number.
    if (code !== 0x2e) digits = 0
  }
  return keys
}

/** Returns the offset of the closing quote; -1 when there is none, or when the string escapes a surrogate. */
function endOfString(text: string, start: number): number {
  let at = start
  for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(++at)) {
    if (Number.isNaN(code)) return -1
    if (code !== backslash) continue
    code = text.charCodeAt(++at)
    if (code === 0x75 && (text.charCodeAt(at + 1) | 0x20) === 0x64) return -1
  }
  return at
}

function keysIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[])
      if (typeof item === 'object' && item !== null) count += keysIn(item)
    return count
  }
  const object = value as Readonly<Record<string, JsonValue>>
  for (const key in object) {
    count++
    const field = object[key]!
    if (typeof field === 'object' && field !== null) count += keysIn(field)
  }
  return count
}
