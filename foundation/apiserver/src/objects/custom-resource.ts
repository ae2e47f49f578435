// Bodies of custom resources: metadata is decoded like everyone's, the rest is pruned by the schema of its version.
import { coerceEmbeddedMetadata, decodeObjectMeta, ObjectMetaError, prune } from '@fairlead/kube'
import type { JsonObject, JsonValue, TypeSchema } from '@fairlead/kube'
import { TypeMismatch } from '../registry/resource.ts'

/**
 * Decodes a body that has apiVersion and kind. What it shares with `body` may be changed by the caller when `body` may.
 * @throws TypeMismatch where metadata, its own or an embedded resource's, has wrong types
 */
export function pruneCustomResource(body: JsonObject, schema: TypeSchema | undefined): { object: JsonObject; unknownFields: readonly string[] } {
  const { metadata, unknown } = decodeMetadata(body['metadata'] ?? null)
  if (schema === undefined) return { object: { ...body, metadata }, unknownFields: unknown }
  const { value, pruned } = prune({ ...body, metadata }, schema)
  const coerced = coerceEmbeddedMetadata(value, schema)
  return { object: coerced.value as JsonObject, unknownFields: [...unknown, ...pruned, ...coerced.unknown] }
}

function decodeMetadata(metadata: JsonValue): { metadata: JsonObject; unknown: readonly string[] } {
  try {
    return decodeObjectMeta(metadata)
  } catch (error) {
    if (error instanceof ObjectMetaError) throw new TypeMismatch(error.message, { cause: error })
    throw error
  }
}
