// Check of a configured value path against the schema of the referent (originals/ack.md §6.1 item 9).
import type { JsonObject } from '@fairlead/kube'
import { isJsonObject, ownValue } from '@fairlead/kube'

/** A value path with the names of the schema, or why it leads to no value. */
export type CheckedPath = { readonly path: string; readonly section: 'spec' | 'status' } | { readonly error: string }

/** Returns the property whose name is equal but for the case of its letters: configurations use the names of Go. */
function property(schema: JsonObject, segment: string): readonly [string, JsonObject] | undefined {
  const properties = ownValue(schema, 'properties')
  if (!isJsonObject(properties)) return undefined
  const names = Object.keys(properties)
  const name = names.find((one) => one === segment) ?? names.find((one) => one.toLowerCase() === segment.toLowerCase())
  const found = name === undefined ? undefined : ownValue(properties, name)
  return name !== undefined && isJsonObject(found) ? [name, found] : undefined
}

/**
 * Checks a path such as `Status.ACKResourceMetadata.ARN` against the OpenAPI schema of a kind: it must begin with
 * spec or status and lead to a string.
 */
export function checkValuePath(kind: string, schema: JsonObject, path: string): CheckedPath {
  const names: string[] = []
  let at = schema
  for (const segment of path.split('.')) {
    const next = property(at, segment)
    if (next === undefined) {
      const where = names.length === 0 ? kind : `${kind}.${names.join('.')}`
      const known = Object.keys((ownValue(at, 'properties') ?? {}) as JsonObject)
      return {
        error: `${path}: ${where} has no field ${segment}${known.length > 0 ? `; it has ${known.toSorted().join(', ')}` : ''}`,
      }
    }
    names.push(next[0])
    at = next[1]
  }
  const [section] = names
  if (section !== 'spec' && section !== 'status') return { error: `${path}: a value path begins with spec or status` }
  const type = ownValue(at, 'type')
  if (type !== 'string')
    return {
      error: `${path}: ${kind}.${names.join('.')} is of type ${JSON.stringify(type ?? 'object')}, it must be a string`,
    }
  return { path: names.join('.'), section }
}
