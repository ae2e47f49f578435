// Objects as the journal writes them.
import { deepFreeze, parseJson, stringifyJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'

/** The text of an object. */
export function encodeObject(object: JsonObject): string {
  return stringifyJson(object)
}

/** The object of a text, frozen. */
export function decodeObject(text: string): JsonObject {
  // Only integers of sixteen digits and more can be too large for a double; the scanner that keeps them is slower.
  const value = /\d{16}/.test(text) ? parseJson(text) : (JSON.parse(text) as unknown)
  return deepFreeze(value as JsonObject)
}
