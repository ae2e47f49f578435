// JSON as Go's encoder writes it: members sorted by name, no spaces, and the characters escaped that are special in HTML.
import type { JsonValue } from '../object.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'

const escaped = /[<>&\u2028\u2029]/g

/** The one text of a JSON value; equal values have equal texts. */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return jsonString(value)
  if (isJsonArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isJsonObject(value)) {
    const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    return `{${members.map(([name, member]) => `${jsonString(name)}:${canonicalJson(member)}`).join(',')}}`
  }
  return String(value)
}

function jsonString(text: string): string {
  return JSON.stringify(text).replace(
    escaped,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
