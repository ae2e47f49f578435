// Caps the number of Update managers of an object: the oldest are merged into one (apimachinery's capmanagers.go).
import { unionOf } from './field-set.ts'
import { managerIdentifier, secondsOf } from './managers.ts'
import type { Manager, Managers } from './managers.ts'
import { compareStrings } from './path-element.ts'

/** The number of Update managers that an object may have (apimachinery's DefaultMaxUpdateManagers). */
export const maxUpdateManagers = 10

/** The name of the manager that old updates are merged into. */
export const ancientChanges = 'ancient-changes'

/** Merges the oldest updates of each version until no more than {@link maxUpdateManagers} updates are left. */
export function capUpdateManagers(managers: Managers): Managers {
  const updates = [...managers].filter(([, manager]) => manager.operation === 'Update')
  if (updates.length <= maxUpdateManagers) return managers
  updates.sort(([a, left], [b, right]) => secondsOf(left.time) - secondsOf(right.time) || compareStrings(a, b))
  const out = new Map(managers)
  const firstOfVersion = new Map<string, string>()
  let left = updates.length
  for (const [id, manager] of updates) {
    if (left <= maxUpdateManagers) break
    const { apiVersion } = manager
    const first = firstOfVersion.get(apiVersion)
    if (first === undefined) {
      firstOfVersion.set(apiVersion, id)
      continue
    }
    const bucket: Omit<Manager, 'fields' | 'time'> = {
      name: ancientChanges,
      operation: 'Update',
      apiVersion,
      subresource: '',
    }
    const bucketId = managerIdentifier(bucket)
    const base = out.get(bucketId) ?? out.get(first)!
    if (!out.has(bucketId)) out.delete(first)
    out.delete(id)
    // the update being merged is the more recent one
    out.set(bucketId, { ...bucket, time: manager.time, fields: unionOf(manager.fields, base.fields) })
    left--
  }
  return out
}
