// The limit on the number of values in an object: together with that on bytes it bounds what one write costs.
import { requestEntityTooLarge } from '@fairlead/kube'
import type { JsonObject, JsonValue, StatusError } from '@fairlead/kube'

/**
 * Fields and list items, at every level, that a body may have; those of managedFields do not count. The largest
 * definitions of custom resources have half of that. Kubernetes has a limit on bytes alone.
 */
const valueLimit = 30_000

/** Keys that a JSON body may have before it is parsed, those of managedFields included. */
export const keyLimit: number = 3 * valueLimit

/** Returns the 413 for an object with more values than allowed. */
export function tooManyValues(): StatusError {
  return requestEntityTooLarge(`an object may have ${valueLimit} fields and list items`)
}

/**
 * Checks the number of values in a body, or in an object that `old` is replaced with: one above the limit may become
 * smaller.
 * @throws StatusError 413
 */
export function checkValueCount(value: JsonValue, old?: JsonObject): void {
  const count = countValues(value, valueLimit)
  if (count <= valueLimit) return
  if (old !== undefined && countValues(value, Infinity) <= countValues(old, Infinity)) return
  throw tooManyValues()
}

/** Counts values, at least up to one more than the limit. */
function countValues(value: JsonValue, limit: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return countItems(value as readonly JsonValue[], limit)
  const object = value as JsonObject
  let count = 0
  for (const key in object) {
    const field = object[key]
    if (field === undefined || key === 'managedFields') continue
    count++
    if (typeof field === 'object' && field !== null) count += countValues(field, limit - count)
    if (count > limit) break
  }
  return count
}

function countItems(list: readonly JsonValue[], limit: number): number {
  let count = list.length
  for (const item of list) {
    if (count > limit) break
    if (typeof item === 'object' && item !== null) count += countValues(item, limit - count)
  }
  return count
}
