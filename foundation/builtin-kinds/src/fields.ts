// Access to fields of built-in kinds. Bodies are decoded by their types, so values have the right type or are absent:
// readers return an empty value for absent fields, `fill…` functions change a Draft in place.
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'

const nothing: JsonObject = Object.freeze({})

/** Returns the object at a path of field names; an empty one when a field of the path is absent. */
export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  return (valueAt(value, path) ?? nothing) as JsonObject
}

/** Reports whether an object has the field with a value other than null. */
export function has(value: JsonObject, field: string): boolean {
  return value[field] !== undefined && value[field] !== null
}

/** Returns the list of objects at a path; empty when absent. */
export function objectsAt(value: unknown, ...path: readonly string[]): readonly JsonObject[] {
  return (valueAt(value, path) ?? []) as readonly JsonObject[]
}

/** Returns the list of strings at a path; empty when absent. */
export function stringsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  return (valueAt(value, path) ?? []) as readonly string[]
}

/**
 * Returns the map of strings at a path (labels, data); empty when absent. A copy without a prototype, because its keys
 * come from users, `constructor` included.
 */
export function mapAt(value: unknown, ...path: readonly string[]): Readonly<Record<string, string>> {
  return Object.assign(Object.create(null) as Record<string, string>, valueAt(value, path))
}

/** Returns the string at a path; '' when absent. */
export function stringAt(value: unknown, ...path: readonly string[]): string {
  return (valueAt(value, path) ?? '') as string
}

/** Returns the number at a path; undefined when absent. */
export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, path)
  return found === undefined ? undefined : Number(found)
}

/** Returns the boolean at a path; false when absent. */
export function flagAt(value: unknown, ...path: readonly string[]): boolean {
  return valueAt(value, path) === true
}

/** Returns the value at a path; undefined when absent or null. */
export function valueAt(value: unknown, path: readonly string[]): JsonValue | undefined {
  let current = value as JsonValue | undefined
  for (const step of path) {
    if (typeof current !== 'object' || current === null) return undefined
    current = (current as JsonObject)[step]
  }
  return current ?? undefined
}

/** Returns the mutable child object of a draft; undefined when absent. */
export function draftAt(
  parent: MutableJsonObject | undefined,
  ...path: readonly string[]
): MutableJsonObject | undefined {
  return valueAt(parent, path) as MutableJsonObject | undefined
}

/** Returns the mutable items of a list of a draft. */
export function draftsAt(
  parent: MutableJsonObject | undefined,
  ...path: readonly string[]
): readonly MutableJsonObject[] {
  return (valueAt(parent, path) ?? []) as unknown as readonly MutableJsonObject[]
}

/** Returns the mutable child object of a draft, created when absent. */
export function ensureAt(parent: MutableJsonObject, ...path: readonly string[]): MutableJsonObject {
  let current = parent
  for (const step of path) {
    current[step] ??= {}
    current = current[step] as MutableJsonObject
  }
  return current
}

/** Sets the fields that are absent or null. */
export function fill(target: MutableJsonObject | undefined, defaults: JsonObject): void {
  if (target === undefined) return
  for (const [field, value] of Object.entries(defaults)) target[field] ??= value
}

/** Like {@link fill}, for fields that are plain strings in Go: empty strings are absent too. */
export function fillStrings(target: MutableJsonObject | undefined, defaults: Readonly<Record<string, string>>): void {
  if (target === undefined) return
  for (const [field, value] of Object.entries(defaults))
    if (target[field] === undefined || target[field] === null || target[field] === '') target[field] = value
}
