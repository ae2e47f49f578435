// JSON as Go's json.Marshal writes it: what stands in messages, and in the bodies that the server sorts.
import { byKey } from './go-text.ts'
import { stringifyJson } from './json.ts'
import type { JsonValue } from './object.ts'

/** JSON as Go's json.Marshal writes a map: keys sorted, `<`, `>` and `&` escaped. */
export function marshalGoJson(value: JsonValue): string {
  return escapeHtml(stringifyJson(sortKeys(value)))
}

/** Escapes in JSON what Go's json.Marshal does not leave as it is. */
export function escapeHtml(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))
}

/** The value with the keys of every object in order, as Go marshals maps. */
export function sortKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => sortKeys(item as JsonValue))
  return Object.fromEntries(
    Object.entries(value)
      .sort(byKey)
      .map(([key, member]) => [key, sortKeys(member as JsonValue)]),
  )
}
