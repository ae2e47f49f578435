// Canonical JSON, as Go's encoder writes it: keys sorted, no spaces, and the characters escaped that are special in
// HTML.
import type { JsonValue } from '../object.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'

const escaped = /[<>&\u2028\u2029]/g

/** Returns the canonical JSON of a value; equal values have equal strings. */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return jsonString(value)
  if (isJsonArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isJsonObject(value)) {
    const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    return `{${entries.map(([name, field]) => `${jsonString(name)}:${canonicalJson(field)}`).join(',')}}`
  }
  return String(value)
}

function jsonString(text: string): string {
  return JSON.stringify(text).replace(
    escaped,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
