// JSON as Go's json.Marshal writes it, for messages and for bodies with sorted keys.
import { byKey } from './go-text.ts'
import { stringifyJson } from './json.ts'
import type { JsonValue } from './object.ts'

/** Writes JSON as Go's json.Marshal writes a map: keys sorted, `<`, `>` and `&` escaped. */
export function marshalGoJson(value: JsonValue): string {
  return escapeHtml(stringifyJson(sortKeys(value)))
}

/** Escapes the characters of JSON that Go's json.Marshal escapes. */
export function escapeHtml(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))
}

/** Returns the value with the keys of every object sorted, as Go marshals maps. */
export function sortKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => sortKeys(item as JsonValue))
  return Object.fromEntries(
    Object.entries(value)
      .sort(byKey)
      .map(([key, member]) => [key, sortKeys(member as JsonValue)]),
  )
}
