// Removes `undefined` from request bodies: TypeScript code leaves it in objects, JSON has no such value.

/**
 * Returns the value without fields that are undefined (in lists they become null, as in JSON.stringify); the same value
 * when there are none.
 */
export function withoutUndefined<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  return (Array.isArray(value) ? listWithout(value) : objectWithout(value)) as T
}

function listWithout(list: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const item = list[index]
    const kept = item === undefined ? null : withoutUndefined(item)
    if (kept !== item) (copy ??= [...list])[index] = kept
  }
  return copy ?? list
}

function objectWithout(object: object): object {
  const fields = object as Readonly<Record<string, unknown>>
  let changed = false
  for (const name in fields) {
    const value = fields[name]
    if (value === undefined || withoutUndefined(value) !== value) {
      changed = true
      break
    }
  }
  if (!changed) return object
  // fromEntries defines properties, so a field named __proto__ stays a field.
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, withoutUndefined(value)]])),
  )
}
