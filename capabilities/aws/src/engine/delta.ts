// Differences between a resolved spec and the resource. The service decides what the spec leaves out: a default that it
// fills in is no difference.
import { isJsonArray, isJsonObject, jsonEqual, ownValue, parseJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { ResourceKind } from './resource-kind.ts'

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true
  return isJsonArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0
}

/** Reports whether the resource has every value that is wanted; empty and absent are the same. */
export function isCovered(wanted: JsonValue | undefined, actual: JsonValue | undefined): boolean {
  if (isEmpty(wanted) && isEmpty(actual)) return true
  if (isJsonObject(wanted))
    return (
      isJsonObject(actual) && Object.entries(wanted).every(([name, value]) => isCovered(value, ownValue(actual, name)))
    )
  if (isJsonArray(wanted))
    return (
      isJsonArray(actual) &&
      wanted.length === actual.length &&
      wanted.every((item, index) => isCovered(item, actual[index]))
    )
  return actual !== undefined && wanted !== undefined && jsonEqual(wanted, actual)
}

function listed(value: JsonValue | undefined): JsonValue | undefined {
  return value === undefined || isJsonArray(value) ? value : [value]
}

/** Returns a policy document in one form: one statement is a list of one, and lists of names have no order. */
function normalized(value: JsonValue, key?: string): JsonValue {
  if (isJsonArray(value)) {
    const items = value.map((item) => normalized(item))
    return items.every((item) => typeof item === 'string') ? items.toSorted() : items
  }
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([name, item]): [string, JsonValue] => {
    const isList = ['Statement', 'Action', 'NotAction', 'Resource', 'NotResource'].includes(name) || key === 'Principal'
    return [name, normalized((isList ? listed(item) : item) as JsonValue, name)]
  })
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Reports whether two policy documents mean the same; what is no JSON is compared as it is. */
export function isSameDocument(a: string, b: string): boolean {
  try {
    return jsonEqual(normalized(parseJson(a)), normalized(parseJson(b)))
  } catch {
    return a === b
  }
}

/** Returns the top-level fields of a spec in which the resource differs, sorted. Reference fields take no part. */
export function deltaOf(kind: ResourceKind, spec: JsonObject, observed: JsonObject): readonly string[] {
  const references = new Set(kind.rows.map(({ refPath }) => refPath))
  const wanted = withoutReferences(spec, references, '') as JsonObject
  const names = new Set([...Object.keys(wanted), ...kind.cleared])
  return [...names]
    .filter((name) => {
      if (kind.uncompared.includes(name)) return false
      const [value, actual] = [ownValue(wanted, name), ownValue(observed, name)]
      if (kind.documents.includes(name) && typeof value === 'string' && typeof actual === 'string')
        return !isSameDocument(value, actual)
      // An entry that the spec lacks is one to remove where the spec decides on the whole field.
      return !isCovered(value, actual) || (kind.cleared.includes(name) && !isCovered(actual, value))
    })
    .toSorted()
}

/** Returns a value without the fields that hold references. `at` is its path in the notation of rows. */
export function withoutReferences(value: JsonValue, references: ReadonlySet<string>, at: string): JsonValue {
  if (isJsonArray(value)) return value.map((item) => withoutReferences(item, references, `${at}[]`))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      const path = at === '' ? name : `${at}.${name}`
      return references.has(path) ? [] : [[name, withoutReferences(item, references, path)]]
    }),
  )
}
