// PATCH with server-side apply: the configuration is merged with the current object by the fields of its managers.
import { yieldIfLong } from '@fairlead/client'
import {
  applyServerSideSteps,
  runStepsCooperatively,
  asJson,
  asObject,
  badRequest,
  failure,
  isJsonObject,
  JsonSyntaxError,
  notFound,
  parseJson,
  stringifyJson,
  unknownError,
  YamlSyntaxError,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { kindOfResource, parseYamlBody } from '../request/body-decoder.ts'
import type { PatchOptions } from '../request/write-options.ts'
import { setNamespace, undeterminableName, updateObject } from './update.ts'
import type { Written } from './update.ts'
import { acrossVersions } from './across-versions.ts'
import { resetFields, schemaOf } from './managed-fields.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { timestamp } from '../objects/timestamp.ts'
import { checkValueCount, keyLimit, tooManyValues } from '../objects/value-limit.ts'
import { decodePatched, stringOf } from './patch.ts'
import type { PatchSource } from './patch.ts'

/**
 * Applies a configuration to the object of the request; a missing object is created.
 * @throws StatusError
 */
export async function applyObject(
  server: ServerDependencies,
  scope: RequestScope,
  source: PatchSource,
  options: PatchOptions,
): Promise<Written> {
  const { object: applied, repeated } = readApplied(source)
  await yieldIfLong()
  const { apiVersion } = scope.resource
  if (applied['apiVersion'] !== apiVersion || applied['kind'] !== scope.resource.definition.kind)
    checkAppliedKind(scope, applied)
  const given = applied['metadata'] ?? null
  const metadata = isJsonObject(given) ? { ...given } : {}
  // Metadata of another type is refused with the other values that do not match the schema.
  const configuration: MutableJsonObject = {
    ...applied,
    metadata: isJsonObject(given) || given === null ? metadata : given,
  }
  if (metadata['managedFields'] !== undefined && metadata['managedFields'] !== null)
    throw badRequest('metadata.managedFields must be nil')
  const isNamed = takesName(scope, metadata)
  const writing = updateObject(server, scope, {
    dryRun: options.dryRun,
    manager: options.fieldManager,
    isApplied: true,
    createsMissing:
      scope.subresource === '' ||
      (scope.subresource === 'status' && scope.resource.definition.strategy.allowCreateOnUpdate === true),
    change: async (current) => {
      if (current === undefined && typeof metadata['uid'] === 'string' && metadata['uid'] !== '')
        throw uidWithoutObject(scope, metadata['uid'])
      if (current === undefined && !isNamed) throw undeterminableName(scope)
      const now = timestamp(server.clock.now())
      const merged = await acrossVersions(scope.resource, (versions) =>
        runStepsCooperatively(
          applyServerSideSteps({
            live: current,
            applied: asObject(configuration),
            schemaFor: schemaOf(scope.resource),
            manager: options.fieldManager,
            force: options.force,
            subresource: scope.subresource,
            now,
            resetFields: resetFields(scope.resource, scope.subresource),
            ...versions,
          }),
          yieldIfLong,
        ),
      )
      const json = asJson(merged)
      await yieldIfLong()
      if (options.fieldValidation === 'Strict' && repeated.length > 0) throw repeatedKeys(repeated)
      const { object } = decodePatched(
        kindOfResource(scope.resource),
        json,
        () => stringifyJson(json),
        'Ignore',
        server.registry,
        [],
        merged.metadata.managedFields,
        (message) => unconvertible(configuration, message),
      )
      setNamespace(scope, object)
      return object
    },
  })
  const written = await writing
  if (options.fieldValidation === 'Warn') for (const warning of repeated) scope.warnings.push(warning)
  return written
}

/** Returns the error for a merged object that matches its schema, but not Go's type: wrong base64, say. */
function unconvertible(configuration: JsonObject, message: string): Error {
  const { apiVersion, kind, metadata } = configuration
  const { namespace = '', name = '' } = isJsonObject(metadata) ? metadata : {}
  const parts = stringOf(apiVersion).split('/')
  const type = `${parts.length === 2 ? parts[0] : ''}/${parts.at(-1)}, Kind=${stringOf(kind)}`
  const object = `${stringOf(namespace)}/${stringOf(name)}; ${type}`
  return unknownError(
    `failed to convert new object (${object}) to proper version: unable to convert unstructured object to ${type}: error decoding from json: ${message}`,
  )
}

function repeatedKeys(repeated: readonly string[]): Error {
  const texts = repeated.join('\n  ')
  return badRequest(`error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${texts}`)
}

/**
 * Parses a body that is valid JSON without repeated keys, as most clients send it; undefined for all others, which are
 * parsed as YAML, fifty times slower, for its error messages.
 */
function plainJson(source: Uint8Array): JsonValue | undefined {
  if (source[0] !== 0x7b) return undefined
  try {
    let hasDuplicates = false
    const value = parseJson(source, { maxKeys: keyLimit, onDuplicate: () => void (hasDuplicates = true) })
    return hasDuplicates ? undefined : value
  } catch (error) {
    if (error instanceof JsonSyntaxError && error.code === 'JsonTooManyKeys') throw tooManyValues()
    return undefined
  }
}

/**
 * Parses the applied configuration, YAML or JSON.
 * @throws StatusError 400
 */
export function readApplied(source: PatchSource): { object: JsonObject; repeated: readonly string[] } {
  const repeated: string[] = []
  let value: JsonValue
  if (!(source instanceof Uint8Array)) {
    value = source.json
  } else {
    try {
      value = plainJson(source) ?? parseYamlBody(source, repeated)
    } catch (error) {
      if (error instanceof YamlSyntaxError || error instanceof JsonSyntaxError)
        throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`)
      throw error
    }
  }
  if (source instanceof Uint8Array) checkValueCount(value)
  if (value !== null && !isJsonObject(value)) {
    const what = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
    const message = `json: cannot unmarshal ${what} into Go value of type map[string]interface {}`
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${message}`)
  }
  return { object: value ?? {}, repeated }
}

function checkAppliedKind({ resource: { definition, apiVersion } }: RequestScope, applied: JsonObject): void {
  const [given, kind] = [stringOf(applied['apiVersion']), stringOf(applied['kind'])]
  if (given === apiVersion && kind === definition.kind) return
  // Go reads no kind beside an invalid apiVersion.
  const parts = given.split('/')
  const shown = parts.length > 2 ? '/, Kind=' : `${parts.length === 2 ? parts[0] : ''}/${parts.at(-1)}, Kind=${kind}`
  throw badRequest(`invalid object type: ${shown}`)
}

/**
 * Checks the name of a configuration against the path. A missing name is that of the object that exists already: it is
 * taken from the path, and false is returned.
 */
function takesName(scope: RequestScope, metadata: MutableJsonObject): boolean {
  const name = metadata['name'] ?? ''
  if (name === '') metadata['name'] = scope.name
  if (metadata['name'] !== scope.name) {
    throw badRequest(`the name of the object (${stringOf(name)}) does not match the name on the URL (${scope.name})`)
  }
  return name !== ''
}

function uidWithoutObject(scope: RequestScope, uid: string): Error {
  const detail = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
  const missing = notFound(scope.resource.definition, scope.name)
  return failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${missing.message.replace(/ not found$/, '')}: ${detail}`,
    missing.status.details,
  )
}
