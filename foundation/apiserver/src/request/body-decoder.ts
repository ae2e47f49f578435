// Decoding of bodies into objects of a resource: media types, JSON and YAML syntax, apiVersion and kind, unknown and
// repeated fields. Protobuf is decoded by the codec of the server.
import {
  badRequest,
  duplicateFieldMessage,
  failure,
  goQuote,
  isJsonObject,
  JsonSyntaxError,
  parseApiVersion,
  parseJson,
  parseYaml,
  requestEntityTooLarge,
  stringifyJson,
  unknownFieldMessage,
  unsupportedMediaType,
  YamlSyntaxError,
} from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { ServerRequest } from '../http/message.ts'
import { TypeMismatch } from '@fairlead/builtin-kinds'
import type { BodyDecoder } from '@fairlead/builtin-kinds'
import type { RegistryReader, ServedResource } from '../registry/registry.ts'
import type { FieldValidation } from './write-options.ts'
import { goVersion, isSameType, isSchemeKind } from './go-scheme.ts'
import type { Encoding } from '../http/media-type.ts'
import { bodyEncoding, objectTypes, protobufType } from '../http/media-type.ts'
import { originRules } from '../objects/origin-rules.ts'
import { checkValueCount, keyLimit, tooManyValues } from '../objects/value-limit.ts'
import type { DecodedBody } from '../objects/origin-rules.ts'

/** The body of a request. */
export interface RequestBody {
  /** The bytes, or the object of an in-process client. */
  readonly body: ServerRequest['body']
  /** The Content-Type header, '' when there is none. */
  readonly contentType: string
  /** Bytes that the body may have. */
  readonly bodyLimit: number
}

/**
 * Decodes a protobuf body into JSON; undefined apiVersion and kind are those of the resource. Throws an Error with Go's
 * message.
 */
export type ProtobufDecoder = (body: Uint8Array) => JsonObject

/** A body as JSON, with what parsing found. */
export interface ParsedBody {
  readonly value: JsonValue
  /** An in-process client holds the value as well. */
  readonly isShared: boolean
  /** Strict decoding errors: repeated keys. */
  readonly repeated: readonly string[]
  /** The body was JSON. */
  readonly isJson: boolean
  /** The bytes, for error messages; undefined for in-process clients. */
  readonly bytes: Uint8Array | undefined
}

/** A decoded object; metadata is an object, apiVersion and kind are set. It may be changed. */
export interface DecodedObject {
  readonly object: JsonObject
  /** Warnings. */
  readonly warnings: readonly string[]
}

/** The kind that a body must have: the resource's own, or that of a subresource (Scale, Eviction, TokenRequest …). */
export interface ExpectedKind {
  readonly apiVersion: string
  readonly kind: string
  /** Bodies are unstructured: JSON or YAML, with the `kind` of the object in them. */
  readonly isUnstructured: boolean
  decode(body: JsonObject, decoder?: BodyDecoder): DecodedBody
}

/** Returns the kind of a resource. */
export function kindOfResource({ definition, version, apiVersion }: ServedResource): ExpectedKind {
  const rules = originRules(definition)
  const { isUnstructured } = rules
  return {
    apiVersion,
    kind: definition.kind,
    isUnstructured,
    decode: (body, decoder) => rules.decode(version, body, decoder),
  }
}

/** Returns the bytes of a body. @throws StatusError 413 */
export function bodyBytes({ body, bodyLimit }: RequestBody): Uint8Array | undefined {
  if (body === undefined || !(body instanceof Uint8Array)) return undefined
  if (body.length > bodyLimit) throw requestEntityTooLarge(`limit is ${bodyLimit}`)
  return body
}

/**
 * Parses the body of a POST, PUT or DELETE.
 * @throws StatusError 415, 413, 400
 */
export function parseBody(
  request: RequestBody,
  expected: ExpectedKind,
  decodeProtobuf: ProtobufDecoder | undefined,
): ParsedBody {
  const { body } = request
  if (body !== undefined && !(body instanceof Uint8Array))
    return { value: body.json, isShared: true, repeated: [], isJson: false, bytes: undefined }
  const encoding = inputEncoding(request, expected.isUnstructured || decodeProtobuf === undefined)
  const bytes = bodyBytes(request) ?? new Uint8Array()
  const parsed =
    encoding === 'protobuf'
      ? { value: parseProtobuf(bytes, decodeProtobuf!, expected.kind), repeated: [], isJson: false }
      : parseText(bytes, encoding, expected.kind)
  checkValueCount(parsed.value)
  return { ...parsed, isShared: false, bytes }
}

function parseProtobuf(bytes: Uint8Array, decode: ProtobufDecoder, kind: string): JsonObject {
  try {
    return decode(bytes)
  } catch (error) {
    throw unrecognized(kind, (error as Error).message, bytes)
  }
}

/**
 * Decodes a parsed body as an object of the expected kind.
 * @throws StatusError 400
 */
export function decodeObject(
  parsed: ParsedBody,
  expected: ExpectedKind,
  validation: FieldValidation,
  registry: RegistryReader,
): DecodedObject {
  const body = typedBody(parsed, expected, registry)
  const { kind, apiVersion } = body as { readonly kind: string; readonly apiVersion: string }
  const cannot = (message: string): Error =>
    badRequest(
      `${kind} in version ${goQuote(apiVersion.split('/').at(-1)!)} cannot be handled as a ${expected.kind}: ${message}`,
    )
  let decoded: ReturnType<ExpectedKind['decode']>
  try {
    decoded = expected.decode(body)
  } catch (error) {
    if (error instanceof TypeMismatch) throw cannot(error.message)
    throw error
  }
  const errors = validation === 'Ignore' ? [] : strictErrors(parsed, expected, decoded.unknownFields)
  if (errors.length > 0 && validation === 'Strict') throw cannot(`strict decoding error: ${errors.join(', ')}`)
  return { object: decoded.object, warnings: errors.flatMap(warningsOf) }
}

/** The beginning of the one error for all repeated keys of a YAML document; each key has a line after it. */
const yamlErrorsPrefix = 'yaml: unmarshal errors:\n'

/** Returns the warnings of a strict error: each line of one about YAML (parseYAMLWarnings in endpoints/handlers). */
function warningsOf(error: string): string[] {
  if (!error.startsWith(yamlErrorsPrefix)) return [error]
  return error
    .slice(yamlErrorsPrefix.length)
    .split('\n')
    .map((line) => line.trim())
}

/**
 * Returns the errors of strict decoding. For JSON that is decoded into a Go type they are in the order of the body,
 * without any inside unknown fields; everywhere else repeated keys come first, because the parser finds them.
 */
function strictErrors(parsed: ParsedBody, expected: ExpectedKind, unknownFields: readonly string[]): string[] {
  const unknown = new Set(unknownFields)
  const all = [...parsed.repeated, ...[...unknown].map(unknownFieldMessage)]
  const inOrder = parsed.isJson && !expected.isUnstructured && parsed.repeated.length > 0 && unknown.size > 0
  if (!inOrder) return all
  const known = new Set(all)
  const found = new Set<string>()
  let within: string | undefined
  parseJson(parsed.bytes!, {
    onMember: (path, isRepeated) => {
      if (within !== undefined && (path.startsWith(`${within}.`) || path.startsWith(`${within}[`))) return
      within = unknown.has(path) ? path : undefined
      const text = within === undefined ? duplicateFieldMessage(path) : unknownFieldMessage(path)
      if ((within !== undefined || isRepeated) && known.has(text)) found.add(text)
    },
  })
  return [...found]
}

/**
 * Returns the encoding of the body.
 * @throws StatusError 415
 */
export function inputEncoding({ contentType }: RequestBody, withoutProtobuf: boolean): Encoding {
  const encoding = bodyEncoding(contentType)
  if (encoding === undefined || (encoding === 'protobuf' && withoutProtobuf)) {
    throw unsupportedMediaType(objectTypes.filter((type) => type !== protobufType || !withoutProtobuf))
  }
  return encoding
}

/**
 * Parses JSON or YAML.
 * @throws StatusError 400
 */
export function parseText(
  bytes: Uint8Array,
  encoding: 'json' | 'yaml',
  kind: string,
): Omit<ParsedBody, 'bytes' | 'isShared'> {
  const repeated: string[] = []
  try {
    if (encoding === 'yaml') {
      const value = parseYamlBody(bytes, repeated)
      const lines = repeated.map((text) => `  ${text}`).join('\n')
      return { value, repeated: lines === '' ? [] : [`${yamlErrorsPrefix}${lines}`], isJson: false }
    }
    return {
      value: parseJson(bytes, {
        maxKeys: keyLimit,
        onDuplicate: (path) => void repeated.push(duplicateFieldMessage(path)),
      }),
      repeated,
      isJson: true,
    }
  } catch (error) {
    if (error instanceof JsonSyntaxError && error.code === 'JsonTooManyKeys') throw tooManyValues()
    if (error instanceof JsonSyntaxError)
      throw unrecognized(kind, `couldn't get version/kind; json parse error: ${error.message}`, bytes)
    if (error instanceof YamlSyntaxError) throw unrecognized(kind, error.message, bytes)
    throw error
  }
}

/** Bytes of a YAML body. Reading YAML takes over a microsecond a byte, in one piece; JSON a fiftieth of that. */
const maxYamlBytes = 64 * 1024

/**
 * Parses YAML; messages about repeated keys are added to `repeated`.
 * @throws StatusError 413 for YAML that would hold other requests too long
 * @throws YamlSyntaxError
 */
export function parseYamlBody(bytes: Uint8Array, repeated: string[]): JsonValue {
  const { length } = bytes
  if (length > maxYamlBytes)
    throw requestEntityTooLarge(`limit is ${maxYamlBytes} for YAML, send JSON (as kubectl does) or split the object`)
  return parseYaml(new TextDecoder().decode(bytes), {
    onDuplicate: (path, line) => void repeated.push(repeatedInYaml(path, line)),
    maxRepairs: Math.floor(maxYamlBytes / Math.max(1, length)),
  })
}

/** Returns the message of Go's YAML parser about a repeated key. */
function repeatedInYaml(path: string, line: number | undefined): string {
  return `line ${line ?? 0}: key ${goQuote(path.slice(path.lastIndexOf('.') + 1))} already set in map`
}

function typedBody(parsed: ParsedBody, expected: ExpectedKind, registry: RegistryReader): JsonObject {
  const { value } = parsed
  if (value !== null && !isJsonObject(value)) {
    const what = Array.isArray(value) ? 'array' : typeof value
    const type =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    throw unrecognized(
      expected.kind,
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${what} into Go value of type ${type}`,
      parsed.bytes,
    )
  }
  const body = value ?? {}
  for (const name of ['apiVersion', 'kind'] as const) {
    const given = body[name]
    if (given !== undefined && given !== null && typeof given !== 'string') {
      const what = typeof given === 'object' ? (Array.isArray(given) ? 'array' : 'object') : typeof given
      const message = `json: cannot unmarshal ${what} into Go struct field .${name} of type string`
      throw unrecognized(expected.kind, `couldn't get version/kind; json parse error: ${message}`, parsed.bytes)
    }
  }
  const apiVersion = (body['apiVersion'] as string | undefined) || expected.apiVersion
  const kind = (body['kind'] as string | undefined) || expected.kind
  if (apiVersion.split('/').length > 2)
    throw unrecognized(expected.kind, `unexpected GroupVersion string: ${apiVersion}`, parsed.bytes ?? bytesOf(body))
  if (expected.isUnstructured && (body['kind'] === undefined || body['kind'] === '')) {
    const bytes = parsed.bytes ?? bytesOf(body)
    throw unrecognized(expected.kind, `Object 'Kind' is missing in '${new TextDecoder().decode(bytes)}'`, bytes)
  }
  checkKind(apiVersion, kind, expected, registry)
  return { ...body, apiVersion, kind }
}

function checkKind(apiVersion: string, kind: string, expected: ExpectedKind, registry: RegistryReader): void {
  if (apiVersion === expected.apiVersion && kind === expected.kind) return
  if (expected.isUnstructured) {
    if (apiVersion === expected.apiVersion) return
    throw otherVersion(apiVersion, expected)
  }
  const { group, version } = parseApiVersion(apiVersion)
  const { group: expectedGroup } = parseApiVersion(expected.apiVersion)
  const isKnown = isSchemeKind(apiVersion, kind, expectedGroup, registry)
  if (isKnown && kind === expected.kind && isSameType(kind, group, expectedGroup))
    throw otherVersion(apiVersion, expected)
  const reason = foreignKind(apiVersion, kind, expected, registry) ?? ''
  throw badRequest(`${kind} in version ${goQuote(version)} cannot be handled as a ${expected.kind}: ${reason}`)
}

function otherVersion(apiVersion: string, expected: ExpectedKind): Error {
  return badRequest(
    `the API version in the data (${apiVersion}) does not match the expected API version (${expected.apiVersion})`,
  )
}

/**
 * Returns the reason why an object of that kind cannot be decoded as the expected built-in one; undefined when it can.
 */
export function foreignKind(
  apiVersion: string,
  kind: string,
  expected: ExpectedKind,
  registry: RegistryReader,
): string | undefined {
  if (apiVersion === expected.apiVersion && kind === expected.kind) return undefined
  const { group } = parseApiVersion(expected.apiVersion)
  if (!isSchemeKind(apiVersion, kind, group, registry)) return unregistered(kind, apiVersion)
  const version = goVersion(apiVersion, kind)
  // The Go package of the group's internal types.
  const internal = group.split('.')[0] || 'core'
  return `converting (${version}.${kind}) to (${internal}.${expected.kind}): unknown conversion`
}

/** Returns the message of Go's scheme about an unknown kind. */
function unregistered(kind: string, apiVersion: string): string {
  return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`
}

function unrecognized(kind: string, message: string, bytes: Uint8Array | undefined): Error {
  // The handler of DELETE passes the decoder's error as it is.
  if (kind === 'DeleteOptions') return badRequest(message)
  return failure(
    400,
    'BadRequest',
    `the object provided is unrecognized (must be of type ${kind}): ${message} (${summary(bytes ?? new Uint8Array())})`,
  )
}

function bytesOf(value: JsonValue): Uint8Array {
  return new TextEncoder().encode(stringifyJson(value))
}

/** Returns the first 30 bytes of a body, in hex unless it looks like JSON. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>'
  const head = bytes.subarray(0, 30)
  const shown = bytes[0] === 0x7b ? new TextDecoder().decode(head) : Buffer.from(head).toString('hex')
  return bytes.length > 30 ? `${shown} ...` : shown
}
