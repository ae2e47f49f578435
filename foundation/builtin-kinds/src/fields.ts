// Reading and filling objects of built-in kinds. Bodies have been decoded by their types, so what is there has the right shape and only
// absence needs care: readers answer with an empty value, `fill…` functions change a Draft in place.
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'

const nothing: JsonObject = Object.freeze({})

/** The object under a path of field names; an empty one when something on the way is absent. */
export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  return (valueAt(value, path) ?? nothing) as JsonObject
}

/** Whether an object has the field with a value other than null. */
export function has(value: JsonObject, field: string): boolean {
  return value[field] !== undefined && value[field] !== null
}

/** The list of objects under a path; empty when absent. */
export function objectsAt(value: unknown, ...path: readonly string[]): readonly JsonObject[] {
  return (valueAt(value, path) ?? []) as readonly JsonObject[]
}

/** The list of strings under a path; empty when absent. */
export function stringsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  return (valueAt(value, path) ?? []) as readonly string[]
}

/** The map of strings under a path (labels, data); empty when absent. A copy without a prototype: its keys come from users, `constructor` included. */
export function mapAt(value: unknown, ...path: readonly string[]): Readonly<Record<string, string>> {
  return Object.assign(Object.create(null) as Record<string, string>, valueAt(value, path))
}

/** The string under a path; '' when absent. */
export function stringAt(value: unknown, ...path: readonly string[]): string {
  return (valueAt(value, path) ?? '') as string
}

/** The number under a path; undefined when absent. */
export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, path)
  return found === undefined ? undefined : Number(found)
}

/** The boolean under a path; false when absent. */
export function flagAt(value: unknown, ...path: readonly string[]): boolean {
  return valueAt(value, path) === true
}

/** Whatever stands under a path; undefined when absent or null. */
export function valueAt(value: unknown, path: readonly string[]): JsonValue | undefined {
  let current = value as JsonValue | undefined
  for (const step of path) {
    if (typeof current !== 'object' || current === null) return undefined
    current = (current as JsonObject)[step]
  }
  return current ?? undefined
}

/** The child object of a draft, to be filled; undefined when absent. */
export function draftAt(
  parent: MutableJsonObject | undefined,
  ...path: readonly string[]
): MutableJsonObject | undefined {
  return valueAt(parent, path) as MutableJsonObject | undefined
}

/** The child objects of a draft's list, to be filled. */
export function draftsAt(
  parent: MutableJsonObject | undefined,
  ...path: readonly string[]
): readonly MutableJsonObject[] {
  return (valueAt(parent, path) ?? []) as unknown as readonly MutableJsonObject[]
}

/** The child object of a draft, made when absent. */
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

/** {@link fill}, where empty strings count as absent too: fields that Go holds as plain strings. */
export function fillText(target: MutableJsonObject | undefined, defaults: Readonly<Record<string, string>>): void {
  if (target === undefined) return
  for (const [field, value] of Object.entries(defaults))
    if (target[field] === undefined || target[field] === null || target[field] === '') target[field] = value
}
