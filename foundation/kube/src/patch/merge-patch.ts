// JSON merge patch (RFC 7386), as the API server applies it.
import { jsonEqual, jsonTypeName } from '../json.ts'
import { isJsonArray, isJsonObject, ownValue, setOwn } from '../own-property.ts'
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'

/** Thrown for a merge patch that is not an object; the API server responds 400 with the message. */
export class MergePatchError extends Error {
  override readonly name = 'MergePatchError'
  readonly code = 'InvalidMergePatch'
}

/**
 * Returns the patch as an object, which the API server requires.
 * @throws MergePatchError `InvalidMergePatch`
 */
export function mergePatchObject(patch: JsonValue): JsonObject {
  if (isJsonObject(patch)) return patch
  if (patch === null) throw new MergePatchError('Invalid JSON Patch')
  throw new MergePatchError(
    `error decoding patch: json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`,
  )
}

/**
 * Applies the patch: null removes, objects merge, other values replace. Neither argument is changed; parts without
 * changes are shared with the document. As in the API server, null fields are also removed from objects that the patch
 * adds, in lists too, unless an object is replaced by a list.
 */
export function applyMergePatch(document: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonObject(document)) return withoutNulls(patch)
  if (!isJsonObject(patch)) return patch
  const out: MutableJsonObject = { ...document }
  for (const key of Object.keys(patch)) {
    const change = ownValue(patch, key)!
    if (change === null) delete out[key]
    else setOwn(out, key, applyMergePatch(ownValue(document, key) ?? null, change))
  }
  return out
}

function withoutNulls(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withoutNulls)
  if (!isJsonObject(value)) return value
  const out: MutableJsonObject = {}
  for (const key of Object.keys(value)) {
    const member = ownValue(value, key)!
    if (member !== null) setOwn(out, key, withoutNulls(member))
  }
  return out
}

/** Returns the merge patch from `original` to `modified`: removed fields become null. Empty when they are equal. */
export function createMergePatch(original: JsonObject, modified: JsonObject): JsonObject {
  const out: MutableJsonObject = {}
  for (const key of Object.keys(original)) {
    if (!Object.hasOwn(modified, key)) setOwn(out, key, null)
  }
  for (const key of Object.keys(modified)) {
    const before = ownValue(original, key)
    const after = ownValue(modified, key)!
    if (before !== undefined && jsonEqual(before, after)) continue
    setOwn(
      out,
      key,
      before !== undefined && isJsonObject(before) && isJsonObject(after) ? createMergePatch(before, after) : after,
    )
  }
  return out
}
