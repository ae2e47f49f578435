// Detection of writes that change only the times in managedFields.
import type { KubeObject, ManagedFieldsEntry } from '../object.ts'
import { jsonEqual } from '../json.ts'

/**
 * Returns `updated` with the managedFields of `old` when the two differ only in their times (and resourceVersion), else
 * `updated`. Called after defaulting, admission and the strategy, which may have reverted a change.
 */
export function keepUnchangedTimes(old: KubeObject, updated: KubeObject): KubeObject {
  const before = old.metadata.managedFields ?? []
  const after = updated.metadata.managedFields ?? []
  if (before === after || after.length === 0 || before.length !== after.length) return updated
  if (after.every((entry, index) => entry.time === before[index]!.time)) return updated
  if (!sameButTimes(before, after)) return updated
  if (!jsonEqual(comparable(old), comparable(updated))) return updated
  return { ...updated, metadata: { ...updated.metadata, managedFields: before } }
}

/** Compares entries without their times, which decide the order, so entries are matched by their other fields. */
function sameButTimes(before: readonly ManagedFieldsEntry[], after: readonly ManagedFieldsEntry[]): boolean {
  const left = [...before]
  return after.every((entry) => {
    const index = left.findIndex(
      (candidate) => candidate === entry || jsonEqual(withoutTime(candidate), withoutTime(entry)),
    )
    if (index >= 0) left.splice(index, 1)
    return index >= 0
  })
}

function withoutTime(entry: ManagedFieldsEntry): Omit<ManagedFieldsEntry, 'time'> {
  const { time: _, ...rest } = entry
  return rest
}

function comparable(object: KubeObject): unknown {
  const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata
  return { ...object, metadata }
}
