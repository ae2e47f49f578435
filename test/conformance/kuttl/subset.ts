// kuttl's comparison: what is expected must be there, more may be. Lists are compared by length and place.
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'

/** Where `came` lacks something that is expected, with what; empty when it has all. */
export function missing(expected: JsonValue, came: JsonValue | undefined, at: string = ''): string[] {
  if (came === undefined) return [`${at}: key is missing`]
  if (isJsonObject(expected) && isJsonObject(came))
    return Object.keys(expected).flatMap((key) => missing(expected[key]!, came[key], `${at}.${key}`))
  if (isJsonArray(expected) && isJsonArray(came)) {
    if (expected.length !== came.length) return [`${at}: ${expected.length} entries are expected, ${came.length} came`]
    return expected.flatMap((item, index) => missing(item, came[index], `${at}[${index}]`))
  }
  return Object.is(expected, came)
    ? []
    : [`${at}: ${JSON.stringify(expected)} is expected, ${JSON.stringify(came)} came`]
}
