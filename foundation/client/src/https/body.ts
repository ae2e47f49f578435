// Parses response bodies: JSON, exact where a double is not, and frozen.
import { deepFreeze, parseJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'

/** Matches a number that may be too long for a double: 16 digits or more without a quote before them. */
const longNumber = /[:[,\s-]\d{16}/

/**
 * Parses JSON and freezes it. Native parsing is several times faster than the exact parser, which is used only for
 * strings that may contain an integer beyond a double (design decision 3). Throws SyntaxError or JsonSyntaxError.
 */
export function readJson(text: string): JsonValue {
  return deepFreeze(longNumber.test(text) ? parseJson(text) : (JSON.parse(text) as JsonValue))
}

/** Returns the messages of `Warning` headers (`299 - "text"`), unquoted. */
export function readWarnings(headers: readonly string[]): readonly string[] {
  return headers.flatMap((header) =>
    [...header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]!.replaceAll(/\\(.)/g, '$1')),
  )
}
