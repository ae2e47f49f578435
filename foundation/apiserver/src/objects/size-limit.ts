// The limit on the size of stored objects, as etcd's limit on requests in the real server.
import { requestEntityTooLarge, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'

/** Bytes of JSON that one stored object may take (specs: foundation §1.4). */
export const storedObjectLimit: number = 1.5 * 1024 * 1024

/** The most bytes of a UTF-16 unit: the escape of a control character. */
const mostBytesPerUnit = 6
/** Quotes, colon and comma of a field; digits of a number. */
const bytesPerField = 24

/**
 * Checks the size of an object. Costs a walk; JSON is made only of objects that may be too large.
 * @throws StatusError 413
 */
export function checkStoredSize(object: JsonObject, limit: number = storedObjectLimit): void {
  if (unitsOf(object) * mostBytesPerUnit <= limit) return
  if (Buffer.byteLength(stringifyJson(object)) > limit)
    throw requestEntityTooLarge(`a stored object may take ${limit} bytes`)
}

function unitsOf(value: JsonValue): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return bytesPerField
  let units = 2
  if (Array.isArray(value)) {
    for (const item of value) units += unitsOf(item as JsonValue) + 1
    return units
  }
  const object = value as JsonObject
  for (const key in object) units += key.length + bytesPerField + unitsOf(object[key] as JsonValue)
  return units
}
