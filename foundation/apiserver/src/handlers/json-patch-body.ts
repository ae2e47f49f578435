// Strict checks of the body of a JSON patch, before it is applied: an array of operations with known fields of the
// right types. Skipped where unknown fields are ignored.
import { badRequest, goQuote, isJsonObject } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'

const stringFields: ReadonlySet<string> = new Set(['op', 'path', 'from'])

/**
 * Returns the errors about fields that operations do not have.
 * @throws StatusError 400 where the patch is no array of operations
 */
export function jsonPatchErrors(patch: JsonValue): readonly string[] {
  if (patch === null) return []
  if (!Array.isArray(patch)) throw undecodable(patch, 'Go value of type []handlers.jsonPatchOp')
  return patch.flatMap((operation: JsonValue, index) => {
    if (operation === null) return []
    if (!isJsonObject(operation)) throw undecodable(operation, 'Go value of type handlers.jsonPatchOp')
    return Object.entries(operation).flatMap(([name, value]) => {
      if (name === 'value') return []
      if (!stringFields.has(name)) return [`json patch unknown field ${goQuote(`[${index}].${name}`)}`]
      if (value !== null && typeof value !== 'string')
        throw undecodable(value, `Go struct field jsonPatchOp.${name} of type string`)
      return []
    })
  })
}

function undecodable(value: JsonValue, target: string): Error {
  const type = typeof value === 'boolean' ? 'bool' : Array.isArray(value) ? 'array' : typeof value
  return badRequest(
    `error decoding patch: json: cannot unmarshal ${type === 'bigint' ? 'number' : type} into ${target}`,
  )
}
