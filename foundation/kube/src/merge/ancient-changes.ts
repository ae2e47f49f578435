// Keeps managedFields short: when more than ten managers have updated an object, the oldest are folded into one.
import { unionOf } from './field-set.ts'
import { ownerId, secondsOf } from './owners.ts'
import type { Owner, Owners } from './owners.ts'
import { compareText } from './path-element.ts'

/** How many Update entries an object may have (apimachinery's DefaultMaxUpdateManagers). */
export const maxUpdateManagers = 10

/** The manager that old updates are folded into. */
export const ancientChanges = 'ancient-changes'

/** The owners with the oldest updates of each version merged, until no more than {@link maxUpdateManagers} updates are left. */
export function foldOldUpdates(owners: Owners): Owners {
  const updates = [...owners].filter(([, owner]) => owner.operation === 'Update')
  if (updates.length <= maxUpdateManagers) return owners
  updates.sort(([a, left], [b, right]) => secondsOf(left.time) - secondsOf(right.time) || compareText(a, b))
  const out = new Map(owners)
  const firstOfVersion = new Map<string, string>()
  let left = updates.length
  for (const [id, owner] of updates) {
    if (left <= maxUpdateManagers) break
    const { apiVersion } = owner
    const first = firstOfVersion.get(apiVersion)
    if (first === undefined) {
      firstOfVersion.set(apiVersion, id)
      continue
    }
    const bucket: Omit<Owner, 'fields' | 'time'> = {
      manager: ancientChanges,
      operation: 'Update',
      apiVersion,
      subresource: '',
    }
    const bucketId = ownerId(bucket)
    const base = out.get(bucketId) ?? out.get(first)!
    if (!out.has(bucketId)) out.delete(first)
    out.delete(id)
    // the update being folded in is the more recent one
    out.set(bucketId, { ...bucket, time: owner.time, fields: unionOf(owner.fields, base.fields) })
    left--
  }
  return out
}
