// Access to object fields whose names come from users. `__proto__`, `constructor` and the like are ordinary names.
import type { JsonObject, JsonValue, MutableJsonObject } from './object.ts'

/** Returns the own property `key`; undefined when there is none (inherited ones are ignored). */
export function ownValue(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/**
 * Sets a property as JSON.parse does: the name `__proto__` makes an ordinary property and never changes the prototype.
 */
export function setOwn(object: MutableJsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    object[key] = value
  }
}

/** Reports whether a value is a JSON object, not an array, null or a scalar. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reports whether a value is a JSON array; like `Array.isArray`, but keeps the element type. */
export function isJsonArray(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value)
}
