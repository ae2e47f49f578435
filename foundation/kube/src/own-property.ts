// Reading and writing object members whose names come from outside. `__proto__`, `constructor` and the like are names as any other.
import type { JsonObject, JsonValue, MutableJsonObject } from './object.ts'

/** The member `key` that the object itself has; undefined when it has none (inherited ones do not count). */
export function ownValue(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Sets a member as JSON.parse would: the name `__proto__` makes an ordinary member and never touches the prototype. */
export function setOwn(object: MutableJsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    object[key] = value
  }
}

/** A JSON object, told apart from arrays, null and scalars. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A JSON array; `Array.isArray` that keeps the element type. */
export function isJsonArray(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value)
}
