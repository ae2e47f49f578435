// Decoding of custom resources: metadata like that of every kind, the rest pruned by the schema of its version.
import { coerceEmbeddedMetadata, decodeObjectMeta, EmbeddedObjectError, ObjectMetaError, prune } from '@fairlead/kube'
import type { JsonObject, TypeSchema } from '@fairlead/kube'
import { TypeMismatch } from '@fairlead/builtin-kinds'

/**
 * Decodes a body that has apiVersion and kind. The result may share with `body`.
 * @throws TypeMismatch where metadata, its own or an embedded resource's, has wrong types
 */
export function pruneCustomResource(
  body: JsonObject,
  schema: TypeSchema | undefined,
): { object: JsonObject; unknownFields: readonly string[] } {
  const { metadata, unknown } = asTypeMismatch(() => decodeObjectMeta(body['metadata'] ?? null))
  if (schema === undefined) return { object: { ...body, metadata }, unknownFields: unknown }
  const { value, pruned } = prune({ ...body, metadata }, schema)
  const coerced = asTypeMismatch(() => coerceEmbeddedMetadata(value, schema))
  return { object: coerced.value as JsonObject, unknownFields: [...unknown, ...pruned, ...coerced.unknown] }
}

function asTypeMismatch<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    if (error instanceof ObjectMetaError || error instanceof EmbeddedObjectError)
      throw new TypeMismatch(error.message, { cause: error })
    throw error
  }
}
