// The edges of kinds with references of their own: aws has a table of them, generated kinds have it in their
// definitions.
import { objectReference } from '@fairlead/controller'
import type { ObjectReader, ObjectReference, Relation } from '@fairlead/controller'
import { isJsonObject, keyOf, parseApiVersion } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { idKey } from '../engine/object-id.ts'
import type { ObjectId } from '../engine/object-id.ts'
import { edgesOf } from '../engine/reference-index.ts'
import type { ReferringKind } from '../engine/reference-table.ts'
import { recordedReferences } from '../engine/resolved-reference.ts'

/** Returns the edges between an object of any kind and the objects of kinds with references. */
export async function kindRelations(
  object: KubeObject,
  kinds: readonly Omit<ReferringKind, 'plural'>[],
  read: ObjectReader,
): Promise<readonly Relation[]> {
  const id = idOf(object)
  const own = kinds.find(({ group, kind }) => group === id.group && kind === id.kind)
  const referring = kinds.filter(({ rows }) =>
    rows.some((row) => [row, ...(row.kinds ?? [])].some(({ group, kind }) => group === id.group && kind === id.kind)),
  )
  const to = objectReference(object)
  const lists = await Promise.all(
    referring.map(async ({ group, version, kind, rows }) => {
      const { objects } = await read.list({ apiVersion: apiVersionOf(group, version), kind })
      return (referrersIn(objects, rows).get(idKey(id)) ?? []).map((other) => reference(other, id, to))
    }),
  )
  const named = own === undefined ? [] : edgesOf(id, specOf(object), own.rows)
  const kindsNamed = own?.rows.flatMap((row) => [row, ...(row.kinds ?? [])]) ?? []
  return [...named.map((one) => reference(object, one.to, referenceTo(one.to, kindsNamed))), ...lists.flat()]
}

type Referrers = ReadonlyMap<string, readonly KubeObject[]>

/** The objects of a list by the ids that they refer to, of each list and rows once. */
const known = new WeakMap<ReferringKind['rows'], WeakMap<readonly KubeObject[], Referrers>>()

function referrersIn(objects: readonly KubeObject[], rows: ReferringKind['rows']): Referrers {
  const ofRows = known.get(rows) ?? new WeakMap<readonly KubeObject[], Referrers>()
  known.set(rows, ofRows)
  let found = ofRows.get(objects)
  if (found === undefined) {
    const byReferent = new Map<string, KubeObject[]>()
    for (const object of objects)
      for (const key of new Set(edgesOf(idOf(object), specOf(object), rows).map(({ to }) => idKey(to))))
        append(byReferent, key, object)
    found = byReferent
    ofRows.set(objects, found)
  }
  return found
}

/** Adds a value to the list of a key. */
export function append<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** Returns the edge of a reference; it holds when its controller has recorded the value. */
function reference(object: KubeObject, id: ObjectId, to: ObjectReference): Relation {
  const recorded = recordedReferences(object)?.filter(({ referent }) => idKey(referent) === idKey(id)) ?? []
  const open = recorded.find(({ state }) => state !== 'Resolved')
  const edge: Relation = { type: 'refers-to', from: objectReference(object), to }
  if (recorded.length === 0) return edge
  return { ...edge, holds: open === undefined ? true : { reason: open.state, message: `${open.path} waits for it` } }
}

/** Returns the id of an object. */
export function idOf(object: KubeObject): ObjectId {
  return { group: parseApiVersion(object.apiVersion).group, kind: object.kind, ...keyOf(object) }
}

/** Returns the reference to an id; `kinds` have the version of its kind. */
export function referenceTo(
  { group, kind, namespace, name }: ObjectId,
  kinds: readonly { readonly group: string; readonly version: string; readonly kind: string }[],
): ObjectReference {
  const { version = 'v1' } = kinds.find((one) => one.group === group && one.kind === kind) ?? {}
  return { apiVersion: apiVersionOf(group, version), kind, ...(namespace === '' ? {} : { namespace }), name }
}

function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

function specOf(object: KubeObject): JsonObject {
  const spec = object['spec'] as JsonValue | undefined
  return isJsonObject(spec) ? spec : {}
}
