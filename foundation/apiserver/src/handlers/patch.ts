// PATCH: JSON patch, merge patch, strategic merge patch and server-side apply. The patched document goes through the same decoding and checks as a
// body that a client sent, with the same complaints about unknown fields.
import {
  applyJsonPatch,
  applyMergePatch,
  applyServerSide,
  applyStrategicMerge,
  asJson,
  asObject,
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
  notFound,
  parseJson,
  parseYaml,
  requestEntityTooLarge,
  sortKeys,
  StrategicMergeError,
  stringifyJson,
  unknownError,
  unprocessable,
  YamlSyntaxError,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject, TypeSchema } from '@fairlead/kube'
import { foreignKind, kindOfResource, repeatedInYaml } from '../request/body-decoder.ts'
import type { ExpectedKind } from '../request/body-decoder.ts'
import type { FieldValidation, PatchOptions } from '../request/write-options.ts'
import type { RegistryReader } from '../registry/registry.ts'
import { TypeMismatch } from '@fairlead/builtin-kinds'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import type { Environment, ResourceCall } from './server-dependencies.ts'
import { timestamp } from './server-dependencies.ts'
import { modifyObject, setNamespace } from './update.ts'
import type { Written } from './update.ts'
import { acrossVersions } from './across-versions.ts'
import { jsonPatchComplaints } from './json-patch-body.ts'
import { resetFields, schemaOf } from './managed-fields.ts'

export const jsonPatchType = 'application/json-patch+json'
export const mergePatchType = 'application/merge-patch+json'
export const strategicPatchType = 'application/strategic-merge-patch+json'
export const applyPatchType = 'application/apply-patch+yaml'

/** The patch types that a resource takes: custom resources have no strategic merge. */
export function patchTypes({ crd }: ResourceDefinition): readonly string[] {
  return crd === undefined
    ? [jsonPatchType, mergePatchType, strategicPatchType, applyPatchType]
    : [jsonPatchType, mergePatchType, applyPatchType]
}

/** A patch as it came: bytes, or the value of an in-process caller. */
export type PatchSource = Uint8Array | { readonly json: JsonValue }

/**
 * Applies a patch to the object that the call names.
 * @throws StatusError
 */
export function patchObject(
  environment: Environment,
  call: ResourceCall,
  type: string,
  source: PatchSource,
  options: PatchOptions,
): Promise<Written> {
  if (type === applyPatchType) return applyPatch(environment, call, source, options)
  const repeated: string[] = []
  let patch: JsonValue | undefined
  // A patch of a missing object is not looked at.
  const readOnce = (): JsonValue => (patch ??= readPatch(source, type, repeated, options.fieldValidation))
  const complaints = new Set<string>()
  const written = modifyObject(environment, call, {
    dryRun: options.dryRun,
    manager: options.fieldManager,
    createsMissing: false,
    change: (current) => {
      const { object, warnings } = patchedObject(
        call,
        type,
        readOnce(),
        current!,
        options.fieldValidation,
        environment.registry,
        repeated,
      )
      for (const text of warnings) complaints.add(text)
      setNamespace(call, object)
      return object
    },
  })
  return written.finally(() => call.warnings.push(...complaints))
}

function patchedObject(
  call: ResourceCall,
  type: string,
  patch: JsonValue,
  current: KubeObject,
  validation: FieldValidation,
  registry: RegistryReader,
  repeated: readonly string[],
): { object: JsonObject; warnings: readonly string[] } {
  const { value, shown } = patchedValue(call.resource.version.schema, asJson(current), type, patch)
  return decodePatched(kindOfResource(call.resource), value, shown, validation, registry, repeated)
}

/** A patched document and how messages show it. */
export interface Patched {
  readonly value: JsonObject
  readonly shown: () => string
}

/**
 * Applies a patch other than server-side apply to a document.
 * @throws StatusError 400, 413, 422, 500
 */
export function patchedValue(
  schema: TypeSchema | undefined,
  document: JsonObject,
  type: string,
  patch: JsonValue,
): Patched {
  const value = applyTo(schema, document, type, patch)
  if (!isJsonObject(value)) throw unprocessable()
  const shown = (): string =>
    type === strategicPatchType ? formatGoValue(patch) : stringifyJson(inGoOrder(value, document, type, patch))
  return { value, shown }
}

/**
 * Decodes what a patch made; complaints name the patch. The result may be changed.
 * @throws StatusError 422
 */
export function decodePatched(
  expected: ExpectedKind,
  patched: JsonObject,
  shown: () => string,
  validation: FieldValidation,
  registry: RegistryReader,
  repeated: readonly string[] = [],
): { object: JsonObject; warnings: readonly string[] } {
  const refuse = (message: string): Error =>
    invalid({ group: '', kind: '' }, '', [fieldErrors.invalid('patch', shown(), message)])
  const { kind } = patched
  if (!expected.isCustom) {
    const apiVersion = textOf(patched['apiVersion']) || expected.apiVersion
    const reason = foreignKind(apiVersion, textOf(kind) || expected.kind, expected, registry)
    if (reason !== undefined) throw refuse(reason)
    if (textOf(kind) === '' || textOf(patched['apiVersion']) === '')
      patched = { ...patched, apiVersion: expected.apiVersion, kind: expected.kind }
  }
  if (expected.isCustom && kind === undefined) throw refuse(`Object 'Kind' is missing in '${stringifyJson(patched)}'`)
  let decoded: ReturnType<typeof expected.decode>
  try {
    if (expected.isCustom && textOf(patched['apiVersion']) === '')
      throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    decoded = expected.decode(patched)
  } catch (error) {
    if (error instanceof TypeMismatch) throw refuse(error.message)
    throw error
  }
  const warnings =
    validation === 'Ignore'
      ? []
      : [...repeated, ...decoded.unknownFields.map((path) => `unknown field ${goQuote(path)}`)]
  if (warnings.length > 0 && validation === 'Strict') throw refuse(`strict decoding error: ${warnings.join(', ')}`)
  const object = cloneJson(decoded.object) as MutableJsonObject
  if (!isJsonObject(object['metadata'])) object['metadata'] = {}
  return { object, warnings }
}

function applyTo(schema: TypeSchema | undefined, document: JsonObject, type: string, patch: JsonValue): JsonValue {
  try {
    if (type === jsonPatchType) return applyJsonPatch(document, patch)
    if (type === mergePatchType || schema === undefined) return applyMergePatch(document, mergePatchObject(patch))
    return applyStrategicMerge(document, patch, schema)
  } catch (error) {
    throw patchRefusal(error)
  }
}

/** What the server answers when a patch cannot be read or applied. */
function patchRefusal(error: unknown): unknown {
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

/** Reads the text of a patch; complaints about it join `repeated`. @throws StatusError 400 */
export function readPatch(
  source: PatchSource,
  type: string,
  repeated: string[],
  validation: FieldValidation = 'Ignore',
): JsonValue {
  const patch = parsePatch(source, type, repeated)
  if (type === jsonPatchType && validation !== 'Ignore') repeated.push(...jsonPatchComplaints(patch))
  return patch
}

function parsePatch(source: PatchSource, type: string, repeated: string[]): JsonValue {
  if (!(source instanceof Uint8Array)) return cloneJson(source.json)
  const prefix = type === jsonPatchType ? 'json patch ' : ''
  try {
    return parseJson(source, {
      onDuplicate: (path) => void repeated.push(`${prefix}duplicate field ${goQuote(path)}`),
    })
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badRequest(`error decoding patch: ${error.message}`)
    throw error
  }
}

async function applyPatch(
  environment: Environment,
  call: ResourceCall,
  source: PatchSource,
  options: PatchOptions,
): Promise<Written> {
  const { object: applied, repeated } = readApplied(source)
  const { apiVersion } = call.resource
  if (applied['apiVersion'] !== apiVersion || applied['kind'] !== call.resource.definition.kind)
    checkAppliedKind(call, applied)
  const metadata = isJsonObject(applied['metadata']) ? { ...applied['metadata'] } : {}
  const configuration: MutableJsonObject = { ...applied, metadata }
  if (metadata['managedFields'] !== undefined && metadata['managedFields'] !== null)
    throw badRequest('metadata.managedFields must be nil')
  checkAppliedPlace(call, configuration)
  const writing = modifyObject(environment, call, {
    dryRun: options.dryRun,
    manager: options.fieldManager,
    isApplied: true,
    createsMissing: call.subresource === '',
    change: async (current) => {
      if (current === undefined && typeof metadata['uid'] === 'string' && metadata['uid'] !== '')
        throw uidWithoutObject(call, metadata['uid'])
      const now = timestamp(environment.clock.now())
      const merged = await acrossVersions(call.resource, (versions) =>
        applyServerSide({
          live: current,
          applied: asObject(configuration),
          schemaFor: schemaOf(call.resource),
          manager: options.fieldManager,
          force: options.force,
          subresource: call.subresource,
          now,
          resetFields: resetFields(call.resource, call.subresource),
          ...versions,
        }),
      )
      const json = asJson(merged)
      if (options.fieldValidation === 'Strict' && repeated.length > 0) throw repeatedKeys(repeated)
      return decodePatched(
        kindOfResource(call.resource),
        json,
        () => stringifyJson(json),
        'Ignore',
        environment.registry,
      ).object
    },
  })
  const written = await writing
  if (options.fieldValidation === 'Warn') call.warnings.push(...repeated)
  return written
}

function repeatedKeys(repeated: readonly string[]): Error {
  const texts = repeated.join('\n  ')
  return badRequest(`error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${texts}`)
}

/** A body that is JSON without a flaw, as most clients send it; all others are read as YAML, fifty times slower, whose refusals count. */
function plainJson(source: Uint8Array): JsonValue | undefined {
  if (source[0] !== 0x7b) return undefined
  try {
    let isFlawless = true
    const value = parseJson(source, { onDuplicate: () => void (isFlawless = false) })
    return isFlawless ? value : undefined
  } catch {
    return undefined
  }
}

/** The applied configuration, as YAML or JSON. @throws StatusError 400 */
export function readApplied(source: PatchSource): { object: JsonObject; repeated: readonly string[] } {
  const repeated: string[] = []
  let value: JsonValue
  if (!(source instanceof Uint8Array)) {
    value = cloneJson(source.json)
  } else {
    try {
      value =
        plainJson(source) ??
        parseYaml(new TextDecoder().decode(source), {
          onDuplicate: (path, line) => void repeated.push(repeatedInYaml(path, line)),
        })
    } catch (error) {
      if (error instanceof YamlSyntaxError || error instanceof JsonSyntaxError)
        throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`)
      throw error
    }
  }
  if (value !== null && !isJsonObject(value)) {
    const what = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
    const message = `json: cannot unmarshal ${what} into Go value of type map[string]interface {}`
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${message}`)
  }
  return { object: value ?? {}, repeated }
}

function checkAppliedKind({ resource: { definition, apiVersion } }: ResourceCall, applied: JsonObject): void {
  const [given, kind] = [textOf(applied['apiVersion']), textOf(applied['kind'])]
  if (given === apiVersion && kind === definition.kind) return
  // Go reads no kind at all beside an apiVersion that is none
  const parts = given.split('/')
  const shown = parts.length > 2 ? '/, Kind=' : `${parts.length === 2 ? parts[0] : ''}/${parts.at(-1)}, Kind=${kind}`
  throw badRequest(`invalid object type: ${shown}`)
}

/** Name and namespace of a configuration are those of the path; a missing name is taken from it. */
function checkAppliedPlace(call: ResourceCall, configuration: MutableJsonObject): void {
  const metadata = configuration['metadata'] as MutableJsonObject
  const name = metadata['name']
  if (name === undefined || name === '') metadata['name'] = call.name
  if (metadata['name'] !== call.name) {
    throw badRequest(`the name of the object (${textOf(name)}) does not match the name on the URL (${call.name})`)
  }
}

function uidWithoutObject(call: ResourceCall, uid: string): Error {
  const detail = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
  const missing = notFound(call.resource.definition, call.name)
  return failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${missing.message.replace(/ not found$/, '')}: ${detail}`,
    missing.status.details,
  )
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** Go's patch libraries write objects that a patch went through with sorted keys, all others as they were. */
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
