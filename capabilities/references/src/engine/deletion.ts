// Deletion of what an object describes: dependents first, and never by a key that is not known (originals/ack.md §6.3,
// §6.5).
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { formatId } from './object-id.ts'
import type { ObjectId } from './object-id.ts'
import { SpecDraft, occurrencesOf } from './occurrences.ts'
import type { ReferenceRow } from './reference-table.ts'
import { resolveReferences } from './resolve.ts'
import type { Dependent } from './resolve.ts'
import type { Referents } from './referents.ts'

/** A dependent of an object that is being deleted. */
export interface DependentState {
  readonly id: ObjectId
  /** Set when what it describes exists, or may exist. */
  readonly exists: boolean
  /** Set when it is in one cycle with the object: one of them must go first. */
  readonly sameCycle: boolean
}

/** Decision on an object with a deletion time and our finalizer. */
export type DeletionDecision =
  | { readonly do: 'release'; readonly reason: string }
  | { readonly do: 'wait'; readonly reason: 'DeletionBlocked'; readonly message: string }
  | { readonly do: 'wait'; readonly reason: 'DeletionKeyUnknown'; readonly message: string }
  /** Delete what the spec describes; its references have the values they were created with. */
  | { readonly do: 'delete'; readonly spec: JsonObject }

/** Facts of a deletion. */
export interface Deletion {
  readonly dependent: Dependent
  readonly rows: readonly ReferenceRow[]
  /** Paths of the fields without which the object cannot be found: an unknown one of them is not "not found". */
  readonly keyPaths: readonly string[]
  /** `retain` keeps what the object describes; so does read-only. */
  readonly policy: 'delete' | 'retain'
  readonly dependents: readonly DependentState[]
}

/** Names of dependents in a message; the rest is counted. */
const named = 10

/** Decides on a deletion. Referents are not needed: the values that were stored before the creation are the keys. */
export function decideDeletion(deletion: Deletion, referents: Referents): DeletionDecision {
  const { dependent, policy, rows, keyPaths } = deletion
  if (policy === 'retain') return { do: 'release', reason: 'the deletion policy is retain' }
  const blocking = deletion.dependents
    .filter(({ exists, sameCycle }) => exists && !sameCycle)
    .map(({ id }) => formatId(id))
  if (blocking.length > 0) {
    const more = blocking.length > named ? ` and ${blocking.length - named} more` : ''
    const refer = blocking.length === 1 ? 'refers' : 'refer'
    const names = blocking.toSorted().slice(0, named).join(', ')
    const message = `waits for the deletion of ${names}${more}, which ${refer} to it`
    return { do: 'wait', reason: 'DeletionBlocked', message }
  }
  const live = resolveReferences(dependent, rows, referents)
  const draft = new SpecDraft(dependent.spec)
  const stored = valuesByPath(dependent.stored)
  const read = valuesByPath(live.references)
  const unknown: string[] = []
  for (const occurrence of rows.flatMap((row) => occurrencesOf(row, dependent.spec))) {
    if (occurrence.reference === undefined || occurrence.plain !== undefined) continue
    const value = stored.get(occurrence.path) ?? read.get(occurrence.path)
    if (value !== undefined) draft.put(occurrence.path, value)
    else if (occurrence.row.required || keyPaths.includes(occurrence.row.fieldPath)) unknown.push(occurrence.path)
  }
  if (unknown.length === 0) return { do: 'delete', spec: draft.spec }
  const message = `${unknown.join(', ')} must be known to delete it: it was not stored, and its referent does not have it now`
  return { do: 'wait', reason: 'DeletionKeyUnknown', message }
}

type Values = readonly { readonly path: string; readonly value?: JsonValue }[]

/** Returns the values of fields by their paths; those of a list field are listed with indexes behind its path. */
function valuesByPath(values: Values): ReadonlyMap<string, JsonValue> {
  const items = new Map<string, JsonValue[]>()
  const found = new Map<string, JsonValue>()
  for (const { path, value } of values) {
    if (value === undefined) continue
    if (!found.has(path)) found.set(path, value)
    const field = /^(.*)\[\d+\]$/s.exec(path)?.[1]
    if (field === undefined) continue
    const list = items.get(field) ?? []
    list.push(value)
    items.set(field, list)
  }
  return new Map([...items, ...found])
}
