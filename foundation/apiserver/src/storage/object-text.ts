// The encoding of objects in the journal.
import { deepFreeze, parseJson, stringifyJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'

/** Encodes an object as JSON. */
export function encodeObject(object: JsonObject): string {
  return stringifyJson(object)
}

/** Decodes an object and freezes it. */
export function decodeObject(json: string): JsonObject {
  // Only integers of sixteen digits and more can be too large for a double; the parser that keeps them is slower.
  const value = /\d{16}/.test(json) ? parseJson(json) : (JSON.parse(json) as unknown)
  return deepFreeze(value as JsonObject)
}
