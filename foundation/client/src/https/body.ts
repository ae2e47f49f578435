// Bodies of answers: JSON, exact where a double is not, and frozen.
import { deepFreeze, parseJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'

/** A number that may be too long for a double: 16 digits or more that no quote precedes directly. */
const longNumber = /[:[,\s-]\d{16}/

/**
 * Reads JSON, frozen. Native parsing is several times as fast as the exact parser, so that one only reads texts that
 * may hold an integer which a double cannot (design decision 3). Throws SyntaxError or JsonSyntaxError.
 */
export function readJson(text: string): JsonValue {
  return deepFreeze(longNumber.test(text) ? parseJson(text) : (JSON.parse(text) as JsonValue))
}

/** Texts of `Warning` headers (`299 - "text"`), unquoted. */
export function readWarnings(headers: readonly string[]): readonly string[] {
  return headers.flatMap((header) =>
    [...header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]!.replaceAll(/\\(.)/g, '$1')),
  )
}
