// Distinguishes the differences that the server made from those that other writers made. Start with isAsWritten.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { asJson, isJsonObject, jsonEqual, parseJson, stringifyJson } from '@fairlead/kube'
import type { ListItem } from './list-items.ts'
import { ListItems } from './list-items.ts'
import { goJson, lastAppliedAnnotation, mergeKeyOf, systemFields, withoutLastApplied } from './merge.ts'

/** A field of a child, and the field sets (the form of `managedFields[].fieldsV1`) at and below it. */
interface Field {
  readonly observed: JsonValue | undefined
  readonly own: readonly JsonObject[]
  readonly others: readonly JsonObject[]
}

/**
 * Returns whether a child differs from the desired one at most by what the server made of the last write: quantities in
 * another form, null fields that it dropped, values and items that admission changed or added. Writing it again would
 * change nothing, or recreate it for ever. True when the last response was the same, and each of its fields has the
 * desired value or is still owned by the manager: another manager that changes a field takes over its ownership.
 */
export function isAsWritten(observed: KubeObject, desired: KubeObject, manager: string): boolean {
  const { managedFields = [], annotations = {} } = observed.metadata
  const { status: _status, ...applied } = asJson(withoutLastApplied(desired))
  const record = annotations[lastAppliedAnnotation]
  if (record === undefined || record !== goJson(asJson(withoutLastApplied(desired)))) return false
  const metadata = { ...(applied['metadata'] as JsonObject) }
  for (const field of systemFields) delete metadata[field]
  const isOwn = (entry: (typeof managedFields)[number]): boolean =>
    entry.manager === manager && entry.subresource === undefined
  const own = managedFields.filter(isOwn).map(({ fieldsV1 }) => (fieldsV1 ?? {}) as JsonObject)
  const others = managedFields.filter((entry) => !isOwn(entry)).map(({ fieldsV1 }) => (fieldsV1 ?? {}) as JsonObject)
  return own.length > 0 && isKept({ observed: asJson(observed), own, others }, { ...applied, metadata })
}

/** Returns whether a field is as wanted, or as the server made it. */
function isKept(field: Field, wanted: JsonValue): boolean {
  const { observed, own, others } = field
  // The merge removes a scalar, and nothing of a map or list.
  if (wanted === null) return observed === undefined || typeof observed === 'object' || others.length === 0
  if (observed !== undefined && jsonEqual(observed, wanted)) return true
  if (isLeaf(field, wanted)) return own.length > 0 && !others.some((other) => elementsOf(other).length > 0)
  if (Array.isArray(wanted)) return isListKept(field, wanted as readonly JsonValue[])
  if (!isJsonObject(wanted)) return false
  return Object.entries(wanted).every(([name, value]) => isKept(fieldBelow(field, name), value))
}

/**
 * Returns whether a field is owned as a whole: a scalar, an atomic map or list. A map whose fields other managers took
 * over or removed looks alike, but lacks some of them.
 */
function isLeaf({ observed, own }: Field, wanted: JsonValue): boolean {
  if (own.some((fields) => elementsOf(fields).length > 0)) return false
  if (Array.isArray(wanted)) return wanted.length === 0 || (Array.isArray(observed) && observed.length > 0)
  if (!isJsonObject(wanted)) return true
  const names = Object.keys(wanted)
  if (names.length === 0) return true
  return own.length > 0 && isJsonObject(observed) && names.every((name) => Object.hasOwn(observed, name))
}

/** Returns whether a list has all wanted items, and no other manager's where the merge replaces the list as a whole. */
function isListKept({ observed, own, others }: Field, wanted: readonly JsonValue[]): boolean {
  const items = Array.isArray(observed) ? (observed as readonly JsonValue[]) : []
  const key = mergeKeyOf([...items, ...wanted])
  if (key === undefined && others.some((fields) => elementsOf(fields).some((element) => !isOwned(own, element))))
    return false
  const elements = own.flatMap((fields) => elementsOf(fields))
  const values = new Set(elements.flatMap((element) => valueOf(element)))
  const found = new ListItems(items, elements, key)
  return wanted.every(
    (item) =>
      (values.size > 0 && values.has(stringifyJson(item))) ||
      found.candidates(item).some((one) => isItemKept(one, { own, others }, item)),
  )
}

/** Returns whether an item of a list is the wanted one. */
function isItemKept(
  { observed, element }: ListItem,
  { own, others }: Omit<Field, 'observed'>,
  wanted: JsonValue,
): boolean {
  if (element === undefined) return isKept({ observed, own: [], others: [] }, wanted)
  return isKept({ observed, own: below(own, element), others: below(others, element) }, wanted)
}

/** Returns the value that an element of a set has, as JSON. */
function valueOf(element: string): readonly string[] {
  return element.startsWith('v:') ? [stringifyJson(parseJson(element.slice(2)))] : []
}

function fieldBelow({ observed, own, others }: Field, name: string): Field {
  const value = isJsonObject(observed) && Object.hasOwn(observed, name) ? observed[name] : undefined
  return { observed: value, own: below(own, `f:${name}`), others: below(others, `f:${name}`) }
}

function below(sets: readonly JsonObject[], element: string): JsonObject[] {
  return sets.map((fields) => fields[element]).filter((fields) => isJsonObject(fields))
}

function isOwned(own: readonly JsonObject[], element: string): boolean {
  return own.some((fields) => Object.hasOwn(fields, element))
}

function elementsOf(fields: JsonObject): string[] {
  return Object.keys(fields).filter((element) => element !== '.')
}
