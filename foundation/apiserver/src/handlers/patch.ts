// PATCH: JSON patch, merge patch and strategic merge patch; server-side apply is in apply.ts. The patched document
// passes the same decoding and checks as a body that a client sent, with the same errors about unknown fields.
import { yieldIfLong } from '@fairlead/client'
import {
  applyJsonPatchSteps,
  applyMergePatch,
  applyStrategicMerge,
  asJson,
  badRequest,
  cloneJson,
  failure,
  fieldErrors,
  formatGoValue,
  goQuote,
  internalError,
  invalid,
  isJsonObject,
  JsonPatchError,
  JsonSyntaxError,
  mergePatchObject,
  MergePatchError,
  parseJson,
  requestEntityTooLarge,
  runStepsCooperatively,
  sortKeys,
  StrategicMergeError,
  stringifyJson,
  unknownError,
  unprocessable,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject, ObjectMeta, TypeSchema } from '@fairlead/kube'
import { parseMediaType } from '../http/media-type.ts'
import { bodyBytes, foreignKind, kindOfResource } from '../request/body-decoder.ts'
import type { ExpectedKind } from '../request/body-decoder.ts'
import type { FieldValidation, PatchOptions } from '../request/write-options.ts'
import type { RegistryReader } from '../registry/registry.ts'
import { TypeMismatch } from '@fairlead/builtin-kinds'
import { checkValueCount, keyLimit, tooManyValues } from '../objects/value-limit.ts'
import { checkPlace, updateObject } from './update.ts'
import type { Written } from './update.ts'
import { jsonPatchErrors } from './json-patch-body.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { jsonPatchType, mergePatchType, strategicPatchType } from '../http/media-type.ts'

/** A patch as it arrived: bytes, or the value of an in-process client, which is not changed. */
export type PatchSource = Uint8Array | { readonly json: JsonValue }

/** Returns the media type of a patch. */
export function patchTypeOf({ contentType }: RequestScope): string {
  return parseMediaType(contentType)?.type ?? ''
}

/** Returns the body of a patch. @throws StatusError 413 */
export function patchSource(scope: RequestScope): PatchSource {
  const { body } = scope
  return body !== undefined && !(body instanceof Uint8Array) ? body : (bodyBytes(scope) ?? new Uint8Array())
}

/**
 * Applies a patch to the object of the request.
 * @throws StatusError
 */
export function patchObject(
  server: ServerDependencies,
  scope: RequestScope,
  type: string,
  source: PatchSource,
  options: PatchOptions,
): Promise<Written> {
  const repeated: string[] = []
  let patch: JsonValue | undefined
  // The patch of a missing object is not read.
  const readOnce = (): JsonValue => (patch ??= readPatch(source, type, repeated, options.fieldValidation))
  const unknownFields = new Set<string>()
  const written = updateObject(server, scope, {
    dryRun: options.dryRun,
    manager: options.fieldManager,
    createsMissing: false,
    change: async (current) => {
      const { object, warnings } = await patchedObject(
        scope,
        type,
        readOnce(),
        current!,
        options.fieldValidation,
        server.registry,
        repeated,
      )
      for (const warning of warnings) unknownFields.add(warning)
      checkPlace(scope, object)
      return object
    },
  })
  return written.finally(() => {
    for (const warning of unknownFields) scope.warnings.push(warning)
  })
}

async function patchedObject(
  scope: RequestScope,
  type: string,
  patch: JsonValue,
  current: KubeObject,
  validation: FieldValidation,
  registry: RegistryReader,
  repeated: readonly string[],
): Promise<{ object: JsonObject; warnings: readonly string[] }> {
  const { value, shown } = await patchedValue(scope.resource.version.schema, asJson(current), type, patch)
  await yieldIfLong()
  const { managedFields } = current.metadata
  const kind = kindOfResource(scope.resource)
  const expected: ExpectedKind =
    type === strategicPatchType ? { ...kind, decode: (body) => kind.decode(body, 'unstructured') } : kind
  return decodePatched(expected, value, shown, validation, registry, repeated, managedFields)
}

/** A patched document, and its form in error messages. */
export interface Patched {
  readonly value: JsonObject
  readonly shown: () => string
}

/**
 * Applies a patch other than server-side apply to a document.
 * @throws StatusError 400, 413, 422, 500
 */
export async function patchedValue(
  schema: TypeSchema | undefined,
  document: JsonObject,
  type: string,
  patch: JsonValue,
): Promise<Patched> {
  await yieldIfLong()
  const value = await applyTo(schema, document, type, patch)
  if (!isJsonObject(value)) throw unprocessable()
  const shown = (): string =>
    type === strategicPatchType ? formatGoValue(patch) : stringifyJson(inGoOrder(value, document, type, patch))
  return { value, shown }
}

/**
 * Decodes a patched document; errors name the patch. The result may be changed, except for `managedFields`: where the
 * document has this very list, which the server made, the result shares it. `refusal` makes another error.
 * @throws StatusError 422, or what `refusal` makes
 */
export function decodePatched(
  expected: ExpectedKind,
  patched: JsonObject,
  shown: () => string,
  validation: FieldValidation,
  registry: RegistryReader,
  repeated: readonly string[] = [],
  managedFields?: ObjectMeta['managedFields'],
  refusal?: (message: string) => Error,
): { object: JsonObject; warnings: readonly string[] } {
  const refuse = (message: string): Error =>
    refusal?.(message) ?? invalid({ group: '', kind: '' }, '', [fieldErrors.invalid('patch', shown(), message)])
  const { kind } = patched
  if (!expected.isUnstructured) {
    const apiVersion = stringOf(patched['apiVersion']) || expected.apiVersion
    const reason = foreignKind(apiVersion, stringOf(kind) || expected.kind, expected, registry)
    if (reason !== undefined) throw refuse(reason)
    if (stringOf(kind) === '' || stringOf(patched['apiVersion']) === '')
      patched = { ...patched, apiVersion: expected.apiVersion, kind: expected.kind }
  }
  if (expected.isUnstructured && kind === undefined)
    throw refuse(`Object 'Kind' is missing in '${stringifyJson(patched)}'`)
  const sharing = managedFields === undefined ? undefined : withoutManagedFields(patched, managedFields)
  let decoded: ReturnType<typeof expected.decode>
  try {
    if (expected.isUnstructured && stringOf(patched['apiVersion']) === '')
      throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    decoded = expected.decode(sharing ?? patched)
  } catch (error) {
    if (error instanceof TypeMismatch) throw refuse(error.message)
    throw error
  }
  const warnings =
    validation === 'Ignore'
      ? []
      : [...repeated, ...decoded.unknownFields.map((path) => `unknown field ${goQuote(path)}`)]
  if (warnings.length > 0 && validation === 'Strict') throw refuse(`strict decoding error: ${warnings.join(', ')}`)
  // Kinds with a Go type are decoded into new objects; custom resources share with the current object.
  const object = (expected.isUnstructured ? cloneJson(decoded.object) : decoded.object) as MutableJsonObject
  if (!isJsonObject(object['metadata'])) object['metadata'] = {}
  if (sharing !== undefined)
    (object['metadata'] as MutableJsonObject)['managedFields'] = managedFields as unknown as JsonValue
  return { object, warnings }
}

/** Returns the document without its managedFields; undefined unless they are this very list. */
function withoutManagedFields(document: JsonObject, list: ObjectMeta['managedFields']): JsonObject | undefined {
  const { metadata } = document
  if (!isJsonObject(metadata) || metadata['managedFields'] !== (list as unknown)) return undefined
  const { managedFields: _list, ...rest } = metadata
  return { ...document, metadata: rest }
}

async function applyTo(
  schema: TypeSchema | undefined,
  document: JsonObject,
  type: string,
  patch: JsonValue,
): Promise<JsonValue> {
  try {
    // One operation may copy or compare most of the document.
    if (type === jsonPatchType) return await runStepsCooperatively(applyJsonPatchSteps(document, patch), yieldIfLong)
    if (type === mergePatchType || schema === undefined) return applyMergePatch(document, mergePatchObject(patch))
    return applyStrategicMerge(document, patch, schema)
  } catch (error) {
    throw patchError(error)
  }
}

/** Returns the error for a patch that cannot be read or applied. */
function patchError(error: unknown): unknown {
  if (error instanceof JsonPatchError) {
    if (error.code === 'TooManyOperations') return requestEntityTooLarge(error.message)
    return error.code === 'InvalidJsonPatch' ? badRequest(decodingPrefix(error.message)) : unprocessable()
  }
  if (error instanceof MergePatchError) return badRequest(decodingPrefix(error.message))
  if (error instanceof StrategicMergeError) {
    if (error.code === 'InvalidStrategicMerge') return badRequest(error.message)
    return error.code === 'ListOfLists' ? failure(422, 'Invalid', error.message) : unknownError(error.message)
  }
  return error
}

function decodingPrefix(message: string): string {
  return message.startsWith('json:') ? `error decoding patch: ${message}` : message
}

/**
 * Parses a patch; repeated and unknown fields are added to `repeated`.
 * @throws StatusError 400
 */
export function readPatch(
  source: PatchSource,
  type: string,
  repeated: string[],
  validation: FieldValidation = 'Ignore',
): JsonValue {
  const patch = parsePatch(source, type, repeated)
  // The operations of a JSON patch have a limit of their own; what they make is checked.
  if (source instanceof Uint8Array && type !== jsonPatchType) checkValueCount(patch)
  if (type === jsonPatchType && validation !== 'Ignore')
    for (const error of jsonPatchErrors(patch)) repeated.push(error)
  return patch
}

function parsePatch(source: PatchSource, type: string, repeated: string[]): JsonValue {
  if (!(source instanceof Uint8Array)) return source.json
  const prefix = type === jsonPatchType ? 'json patch ' : ''
  const problem = type === strategicPatchType ? '' : 'error decoding patch: '
  try {
    return parseJson(source, {
      maxKeys: keyLimit,
      onDuplicate: (path) => void repeated.push(`${prefix}duplicate field ${goQuote(path)}`),
    })
  } catch (error) {
    if (error instanceof JsonSyntaxError && error.code === 'JsonTooManyKeys') throw tooManyValues()
    if (error instanceof JsonSyntaxError) throw badRequest(`${problem}${error.message}`)
    throw error
  }
}

export function stringOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/**
 * Returns the document in the key order of Go's patch libraries: objects that the patch touched have sorted keys, all
 * others keep their order.
 */
function inGoOrder(patched: JsonValue, document: JsonValue, type: string, patch: JsonValue): JsonValue {
  if (type === mergePatchType) return sortAlong(patched, patch)
  if (patched === document || !isJsonObject(patched)) return patched
  const out: MutableJsonObject = {}
  for (const key of Object.keys(patched).toSorted()) {
    const value = patched[key]!
    const before = isJsonObject(document) ? document[key] : undefined
    out[key] = value === before || before === undefined ? value : inGoOrder(value, before, type, patch)
  }
  return out
}

function sortAlong(value: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonObject(value) || !isJsonObject(patch)) return value
  const out: MutableJsonObject = {}
  for (const key of Object.keys(value).toSorted()) {
    const inner = patch[key]
    out[key] =
      inner === undefined ? value[key]! : isJsonObject(inner) ? sortAlong(value[key]!, inner) : sortKeys(value[key]!)
  }
  return out
}
