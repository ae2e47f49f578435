// The body of a POST that is answered and never stored: reviews and token requests.
import { isJsonObject, trackUpdate } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { builtinSchema } from '@fairlead/builtin-kinds'
import { decodeObject, parseBody } from '../request/body-decoder.ts'
import type { ExpectedKind } from '../request/body-decoder.ts'
import type { WriteOptions } from '../request/write-options.ts'
import { timestamp } from './server-dependencies.ts'
import type { Environment } from './server-dependencies.ts'
import type { Exchange } from './exchange.ts'

/** Decodes the body to an object whose metadata may be changed. @throws StatusError 400, 415 */
export function readPosted(
  environment: Environment,
  { request, call, protobuf }: Exchange,
  expected: ExpectedKind,
  options: WriteOptions,
): JsonObject {
  const parsed = parseBody(request, expected, protobuf?.decode)
  const { object, warnings } = decodeObject(parsed, expected, options.fieldValidation, environment.registry)
  call.warnings.push(...warnings)
  return { ...object, metadata: { ...(isJsonObject(object['metadata']) ? object['metadata'] : {}) } }
}

/** Returns the object with the managedFields that every POST adds. */
export function withManagedFields(
  environment: Environment,
  object: KubeObject,
  options: WriteOptions,
  subresource: string = '',
): KubeObject {
  return trackUpdate({
    live: undefined,
    updated: object,
    schemaFor: (apiVersion) => builtinSchema(apiVersion, object.kind),
    manager: options.fieldManager,
    subresource,
    now: timestamp(environment.clock.now()),
  })
}
