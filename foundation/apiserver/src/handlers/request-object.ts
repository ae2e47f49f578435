// The object in the body of a request: decoded, and with its warnings passed on.
import { yieldIfLong } from '@fairlead/client'
import { builtinSchema, messageOfKind, typedForm } from '@fairlead/builtin-kinds'
import { badRequest, cloneJson, isJsonObject, trackUpdate } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { timestamp } from '../objects/timestamp.ts'
import { bodyBytes, decodeObject, inputEncoding, parseBody, parseText } from '../request/body-decoder.ts'
import type { ExpectedKind } from '../request/body-decoder.ts'
import type { FieldValidation, WriteOptions } from '../request/write-options.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'

/**
 * Decodes the body of a POST or PUT. The result is private to this request.
 * @throws StatusError 400, 413, 415
 */
export async function readObject(
  server: ServerDependencies,
  scope: RequestScope,
  expected: ExpectedKind,
  validation: FieldValidation,
): Promise<JsonObject> {
  const { object, isShared } = await decode(server, scope, expected, validation)
  return withOwnMetadata(isShared ? (cloneJson(object) as JsonObject) : object)
}

/**
 * Decodes like {@link readObject}, for callers that change nothing below metadata: an in-process client may share the
 * rest.
 * @throws StatusError 400, 413, 415
 */
export async function readSharedObject(
  server: ServerDependencies,
  scope: RequestScope,
  expected: ExpectedKind,
  validation: FieldValidation,
): Promise<JsonObject> {
  return withOwnMetadata((await decode(server, scope, expected, validation)).object)
}

/**
 * Returns the DeleteOptions in the body of a DELETE, undefined when there are none. @throws StatusError 400, 413, 415
 */
export function readDeleteOptions({ protobuf }: ServerDependencies, scope: RequestScope): JsonValue | undefined {
  const { body } = scope
  if (body === undefined) return undefined
  if (!(body instanceof Uint8Array)) return body.json
  if (body.length === 0) return undefined
  const encoding = inputEncoding(scope, protobuf === undefined)
  const bytes = bodyBytes(scope)!
  if (encoding !== 'protobuf') return parseText(bytes, encoding, 'DeleteOptions').value
  try {
    return protobuf!.decode(bytes)
  } catch (error) {
    throw badRequest((error as Error).message)
  }
}

/** Returns the object with the managedFields that every POST adds; for objects that are never stored. */
export function withManagedFields(
  server: ServerDependencies,
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
    now: timestamp(server.clock.now()),
  })
}

/**
 * Returns the kind that a built-in subresource expects in place of its parent's (Binding, Eviction, Scale,
 * TokenRequest).
 */
export function builtinKind(apiVersion: string, kind: string): ExpectedKind {
  const message = messageOfKind(apiVersion, kind)
  return {
    apiVersion,
    kind,
    isUnstructured: false,
    decode: (body) => (message === undefined ? { object: body, unknownFields: [] } : typedForm(message, body)),
  }
}

async function decode(
  { protobuf, registry }: ServerDependencies,
  scope: RequestScope,
  expected: ExpectedKind,
  validation: FieldValidation,
): Promise<{ readonly object: JsonObject; readonly isShared: boolean }> {
  const parsed = parseBody(scope, expected, protobuf?.decode)
  await yieldIfLong()
  const { object, warnings } = decodeObject(parsed, expected, validation, registry)
  await yieldIfLong()
  for (const warning of warnings) scope.warnings.push(warning)
  // Kinds with a Go type are decoded into new objects; custom resources keep what they share with the body.
  return { object, isShared: parsed.isShared && expected.isUnstructured }
}

function withOwnMetadata(object: JsonObject): JsonObject {
  return { ...object, metadata: { ...(isJsonObject(object['metadata']) ? object['metadata'] : {}) } }
}
