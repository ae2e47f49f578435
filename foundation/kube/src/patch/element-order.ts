// The order of lists that a strategic merge patch merges: elements of the patch keep the patch's order, elements of the
// server alone stay next to their neighbors where possible.
import { marshalGoJson } from '../go-json.ts'
import { jsonEqual } from '../json.ts'
import { isJsonObject, ownValue } from '../own-property.ts'
import type { JsonValue } from '../object.ts'

/** The key of an element: the value under the merge key, or the element itself in lists of scalars. */
export type ElementKey = (element: JsonValue) => JsonValue | undefined

/** Returns the key function of a list with this merge key; '' for scalars. */
export function elementKey(mergeKey: string): ElementKey {
  if (mergeKey === '') return (element) => element
  return (element) => (isJsonObject(element) ? ownValue(element, mergeKey) : undefined)
}

/** Reports whether both keys exist and are equal. */
export function sameKey(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return a !== undefined && b !== undefined && jsonEqual(a, b)
}

/** Returns the identity of a key, by which a Map finds it: equal for keys that are {@link sameKey}. */
export function keyIdentity(key: JsonValue): string {
  return typeof key === 'string' ? `"${key}` : marshalGoJson(key)
}

/**
 * Sorts a merged list. Elements of `named` are in its order, the others in their order in `server`; where both orders
 * leave a choice, a server element comes before the first named one that it preceded.
 */
export function orderElements(
  merged: readonly JsonValue[],
  named: readonly JsonValue[],
  server: readonly JsonValue[],
  keyOf: ElementKey,
): JsonValue[] {
  const namedAt = positions(named, keyOf)
  const serverAt = positions(server, keyOf)
  const fromPatch = sortBy(
    merged.filter((element) => namedAt(element) >= 0),
    namedAt,
  )
  const serverOnly = sortBy(
    merged.filter((element) => namedAt(element) < 0),
    serverAt,
  )
  const out: JsonValue[] = []
  let next = 0
  for (const element of fromPatch) {
    const place = serverAt(element)
    while (next < serverOnly.length && place >= 0) {
      const candidate = serverAt(serverOnly[next]!)
      if (candidate < 0 || candidate >= place) break
      out.push(serverOnly[next++]!)
    }
    out.push(element)
  }
  return [...out, ...serverOnly.slice(next)]
}

/** Returns the first index of an element's key in a list, -1 when it is absent. */
function positions(list: readonly JsonValue[], keyOf: ElementKey): (element: JsonValue) => number {
  const indices = new Map<string, number>()
  for (const [index, element] of list.entries()) {
    const key = keyOf(element)
    if (key === undefined) continue
    const identity = keyIdentity(key)
    if (!indices.has(identity)) indices.set(identity, index)
  }
  return (element) => {
    const key = keyOf(element)
    return key === undefined ? -1 : (indices.get(keyIdentity(key)) ?? -1)
  }
}

function sortBy(list: readonly JsonValue[], positionOf: (element: JsonValue) => number): JsonValue[] {
  return list
    .map((element) => ({ element, position: positionOf(element) }))
    .sort((a, b) => (a.position < 0 || b.position < 0 ? 0 : a.position - b.position))
    .map(({ element }) => element)
}
