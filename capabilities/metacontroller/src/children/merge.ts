// The three-way merge of Metacontroller: fields that the last response had and this one lacks are removed, fields that
// it has are set, everything else stays. Written like that, because children of a running Metacontroller are taken over
// without a change (specs/metacontroller.md §2).
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { JsonSyntaxError, asJson, isJsonObject, jsonEqual, parseJson, stringifyJson } from '@fairlead/kube'

/** Annotation with the desired child of the last write, as Metacontroller stores it. */
export const lastAppliedAnnotation = 'metacontroller.k8s.io/last-applied-configuration'

/** The last applied configuration of a child is no JSON object. */
export class LastAppliedError extends Error {
  override readonly name = 'LastAppliedError'
  readonly code = 'InvalidLastApplied'
}

/** Fields of metadata that only the server sets: a hook that sends them changes nothing. */
export const systemFields: readonly string[] = [
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
]

/** Keys by which lists of objects are merged, in order of precedence. */
const mergeKeys = ['containerPort', 'port', 'mountPath', 'name', 'uid', 'ip', 'path']

/** Returns the desired child with the annotation that records it, as it is created. */
export function withLastApplied(desired: KubeObject): KubeObject {
  const applied = withoutLastApplied(desired)
  const annotations = { ...applied.metadata.annotations, [lastAppliedAnnotation]: goJson(asJson(applied)) }
  return { ...applied, metadata: { ...applied.metadata, annotations } }
}

/**
 * Returns the observed child with the desired fields; the observed object itself when that changes nothing. Throws
 * LastAppliedError.
 */
export function updatedChild(observed: KubeObject, desired: KubeObject): KubeObject {
  const applied = withoutLastApplied(desired)
  const merged = mergeApplied(asJson(observed), lastAppliedOf(observed), asJson(applied)) as unknown as KubeObject
  const { status: _status, ...content } = merged
  const metadata: Record<string, unknown> = { ...merged.metadata }
  for (const field of systemFields) {
    const value = (observed.metadata as Readonly<Record<string, unknown>>)[field]
    if (value === undefined) delete metadata[field]
    else metadata[field] = value
  }
  metadata['annotations'] = { ...merged.metadata.annotations, [lastAppliedAnnotation]: goJson(asJson(applied)) }
  const updated = {
    ...content,
    metadata,
    ...(observed.status === undefined ? {} : { status: observed.status }),
  } as unknown as KubeObject
  return jsonEqual(asJson(updated), asJson(observed)) ? observed : updated
}

/** Returns the difference from `lastApplied` to `desired`, applied to `observed`. */
export function mergeApplied(
  observed: JsonObject,
  lastApplied: JsonObject | undefined,
  desired: JsonObject,
): JsonObject {
  return mergeObject(observed, lastApplied ?? {}, desired)
}

function merge(
  observed: JsonValue | undefined,
  lastApplied: JsonValue | undefined,
  desired: JsonValue | undefined,
): JsonValue {
  if (isJsonObject(observed) && (isJsonObject(desired) || desired === null || desired === undefined))
    return mergeObject(observed, isJsonObject(lastApplied) ? lastApplied : {}, desired ?? {})
  if (isList(observed) && (isList(desired) || desired === null || desired === undefined))
    return mergeList(observed, isList(lastApplied) ? lastApplied : [], desired ?? [])
  return desired ?? null
}

function mergeObject(observed: JsonObject, lastApplied: JsonObject, desired: JsonObject): JsonObject {
  const merged = new Map<string, JsonValue>(Object.entries(observed))
  for (const key of Object.keys(lastApplied)) if (!Object.hasOwn(desired, key)) merged.delete(key)
  for (const [key, value] of Object.entries(desired)) {
    const before = Object.hasOwn(lastApplied, key) ? lastApplied[key] : undefined
    merged.set(key, merge(Object.hasOwn(observed, key) ? observed[key] : undefined, before, value))
  }
  return Object.fromEntries(merged)
}

function mergeList(
  observed: readonly JsonValue[],
  lastApplied: readonly JsonValue[],
  desired: readonly JsonValue[],
): JsonValue {
  const key = mergeKeyOf([...observed, ...lastApplied, ...desired])
  if (key === undefined) return desired as JsonValue
  const keyed = (list: readonly JsonValue[]): Record<string, JsonValue> =>
    Object.fromEntries(list.map((item) => [keyOfItem(item, key), item]))
  const merged = mergeObject(keyed(observed), keyed(lastApplied), keyed(desired))
  // The order of the observed items is kept; new ones follow.
  const order = new Set([...observed, ...desired].map((item) => keyOfItem(item, key)))
  return [...order].flatMap((name) => (Object.hasOwn(merged, name) ? [merged[name] as JsonValue] : []))
}

/** Returns the key by which all items are distinguished; undefined for lists that are replaced as a whole. */
export function mergeKeyOf(items: readonly JsonValue[]): string | undefined {
  if (items.length === 0) return undefined
  return mergeKeys.find((key) => items.every((item) => isJsonObject(item) && Object.hasOwn(item, key)))
}

function keyOfItem(item: JsonValue, key: string): string {
  const value = isJsonObject(item) ? item[key] : undefined
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

function isList(value: JsonValue | undefined): value is JsonValue[] {
  return Array.isArray(value)
}

function lastAppliedOf(observed: KubeObject): JsonObject | undefined {
  const text = observed.metadata.annotations?.[lastAppliedAnnotation]
  if (text === undefined || text === '') return undefined
  try {
    const value = parseJson(text)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
  }
  throw new LastAppliedError(
    `The annotation ${lastAppliedAnnotation} of ${observed.kind} ${observed.metadata.name ?? ''} is no JSON object; remove it`,
  )
}

/** Returns an object without the annotation that records it. */
export function withoutLastApplied(object: KubeObject): KubeObject {
  if (object.metadata.annotations?.[lastAppliedAnnotation] === undefined) return object
  const { [lastAppliedAnnotation]: _left, ...annotations } = object.metadata.annotations
  return { ...object, metadata: { ...object.metadata, annotations } }
}

/**
 * Returns JSON as Go writes it, so that a child does not depend on its writer: keys sorted, some characters escaped.
 */
export function goJson(value: JsonValue): string {
  return stringifyJson(sorted(value)).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function sorted(value: JsonValue): JsonValue {
  if (isList(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => [key, sorted(field)]),
  )
}
