// Values that the service filled in for fields that a spec leaves out, and that the setting `late-initialize` copies
// into it (ADR 0502). A field that is set is never among them.
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { valueAt, withValue } from '@fairlead/references'
import type { ResourceKind } from './resource-kind.ts'

/** Values by their paths below the spec. */
export type LateFields = ReadonlyMap<string, JsonValue>

/**
 * Returns the fields to fill in: those of the kind that the spec lacks and the resource has. A nested field counts
 * where the spec has the map around it. `spec` has the values of references in place.
 */
export function lateFields(kind: ResourceKind, spec: JsonObject, observed: JsonObject): LateFields {
  const found = new Map<string, JsonValue>()
  for (const path of kind.lateInitialized) {
    const end = path.lastIndexOf('.')
    const value = valueAt(observed, path) ?? null
    const isPlaced = end < 0 || isJsonObject(valueAt(spec, path.slice(0, end)))
    if (isPlaced && value !== null && valueAt(spec, path) === undefined) found.set(path, value)
  }
  return found
}

/** Returns a spec with fields filled in. */
export function withLateFields(spec: JsonObject, fields: LateFields): JsonObject {
  let filled = spec
  for (const [path, value] of fields) filled = withValue(filled, path, value)
  return filled
}

/** Reports whether a spec leaves out a field that the service may fill in. */
export function lacksLateFields({ lateInitialized }: ResourceKind, spec: JsonObject): boolean {
  return lateInitialized.some((path) => valueAt(spec, path) === undefined)
}
