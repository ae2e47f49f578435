// The body of a JSON patch as the real server looks at it first: a list of operations with known members of the right
// types. It is skipped where unknown fields are ignored.
import { badRequest, goQuote, isJsonObject } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'

const texts: ReadonlySet<string> = new Set(['op', 'path', 'from'])

/**
 * Complaints about members that operations do not have.
 * @throws StatusError 400 where the patch is no list of operations
 */
export function jsonPatchComplaints(patch: JsonValue): readonly string[] {
  if (patch === null) return []
  if (!Array.isArray(patch)) throw undecodable(patch, 'Go value of type []handlers.jsonPatchOp')
  return patch.flatMap((operation: JsonValue, index) => {
    if (operation === null) return []
    if (!isJsonObject(operation)) throw undecodable(operation, 'Go value of type handlers.jsonPatchOp')
    return Object.entries(operation).flatMap(([name, value]) => {
      if (name === 'value') return []
      if (!texts.has(name)) return [`json patch unknown field ${goQuote(`[${index}].${name}`)}`]
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
