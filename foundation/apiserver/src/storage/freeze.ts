// Freezing what is shared.

/** Freezes a value and everything in it, in place. What is frozen already is taken as frozen to its leaves. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
