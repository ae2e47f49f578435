// Compares as kuttl does: fields that are not expected are ignored; lists are compared by length and index.
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'

/** Returns the differences, each with its path; empty when `actual` has all that is expected. */
export function missing(expected: JsonValue, actual: JsonValue | undefined, at: string = ''): string[] {
  if (actual === undefined) return [`${at}: key is missing`]
  if (isJsonObject(expected) && isJsonObject(actual))
    return Object.keys(expected).flatMap((key) => missing(expected[key]!, actual[key], `${at}.${key}`))
  if (isJsonArray(expected) && isJsonArray(actual)) {
    if (expected.length !== actual.length) return [`${at}: ${expected.length} entries expected, found ${actual.length}`]
    return expected.flatMap((item, index) => missing(item, actual[index], `${at}[${index}]`))
  }
  return Object.is(expected, actual)
    ? []
    : [`${at}: ${JSON.stringify(expected)} expected, found ${JSON.stringify(actual)}`]
}
