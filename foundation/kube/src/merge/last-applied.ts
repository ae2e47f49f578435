// The migration between kubectl's client-side and server-side apply: the last-applied annotation resolves conflicts of
// the first server-side apply, and later ones update it. Only for the field manager `kubectl`.
import type { JsonObject, KubeObject } from '../object.ts'
import { asJson } from '../object.ts'
import { parseJson } from '../json.ts'
import { isJsonObject, ownValue } from '../own-property.ts'
import { canonicalJson } from './canonical-json.ts'
import { compareValues } from './compare-values.ts'
import { differenceOf } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import type { MergeType } from './merge-type.ts'
import { checkValue } from './check-value.ts'
import { fieldsOfValue } from './value-fields.ts'

/** The annotation in which client-side apply stores the applied object. */
export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** The maximum size of all annotations of an object (bytes of keys and values). */
const maxAnnotationsSize = 256 * 1024

/**
 * Returns the fields that client-side apply set and that still have the applied value; undefined when the object has no
 * readable annotation of its version.
 */
export function fieldsStillAsLastApplied(live: KubeObject, type: MergeType): FieldSet | undefined {
  const text = live.metadata.annotations?.[lastAppliedAnnotation]
  if (text === undefined || text === '') return undefined
  const applied = parseObject(text)
  if (applied === undefined || applied.apiVersion !== live.apiVersion || checkValue(applied, type).length > 0)
    return undefined
  const { added, removed, modified } = compareValues(applied, asJson(live), type)
  return [modified, added, removed].reduce(differenceOf, fieldsOfValue(applied, type))
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Updates the annotation, if the object has one, to the applied object. One that is too large is removed. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const { metadata } = object
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined
  if (!isJsonObject(metadata) || !isJsonObject(annotations) || !ownValue(annotations, lastAppliedAnnotation))
    return object
  const text = `${canonicalJson(withoutAnnotation(applied))}\n`
  if (annotations[lastAppliedAnnotation] === text) return object
  const { [lastAppliedAnnotation]: _, ...others } = annotations
  const updated = { ...others, [lastAppliedAnnotation]: text }
  return { ...object, metadata: { ...metadata, annotations: sizeOf(updated) > maxAnnotationsSize ? others : updated } }
}

function withoutAnnotation(applied: JsonObject): JsonObject {
  const { metadata } = applied
  if (!isJsonObject(metadata) || !isJsonObject(metadata.annotations)) return applied
  const { [lastAppliedAnnotation]: _, ...annotations } = metadata.annotations
  return { ...applied, metadata: { ...metadata, annotations } }
}

function sizeOf(annotations: JsonObject): number {
  const encoder = new TextEncoder()
  let size = 0
  for (const [key, value] of Object.entries(annotations))
    size += encoder.encode(key).length + (typeof value === 'string' ? encoder.encode(value).length : 0)
  return size
}
