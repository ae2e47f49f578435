// The size of a stored object: what etcd's limit on requests is to the real server.
import { requestEntityTooLarge, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'

/** Bytes of JSON that one stored object may take (specs: foundation §1.4). */
export const storedObjectLimit: number = 1.5 * 1024 * 1024

/** What a UTF-16 unit takes at most: the escape of a control character. */
const mostBytesPerUnit = 6
/** Quotes, colon and comma of a member; digits of a number. */
const perMember = 24

/**
 * Throws a 413 for an object that is too large to be stored. Costs a walk; text is made only of what may be too large.
 */
export function checkStoredSize(object: JsonObject, limit: number = storedObjectLimit): void {
  if (unitsOf(object) * mostBytesPerUnit <= limit) return
  if (Buffer.byteLength(stringifyJson(object)) > limit)
    throw requestEntityTooLarge(`a stored object may take ${limit} bytes`)
}

function unitsOf(value: JsonValue): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return perMember
  let units = 2
  if (Array.isArray(value)) {
    for (const item of value) units += unitsOf(item as JsonValue) + 1
    return units
  }
  const object = value as JsonObject
  for (const key in object) units += key.length + perMember + unitsOf(object[key] as JsonValue)
  return units
}
