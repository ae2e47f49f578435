// Responses in the negotiated representation: objects and Statuses as JSON, YAML or protobuf, with their headers. Lists
// are in list-response.ts.
import { StatusError, failure, internalError, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject, Status } from '@fairlead/kube'
import type { ServerBody, ServerResponse } from '../http/message.ts'
import type { ProtobufEncoder } from '../protobuf/protobuf-encoder.ts'
import { StoreError } from '../storage/store.ts'
import type { View } from '../views/views.ts'
import type { Encoding } from '../http/media-type.ts'
import { jsonType, protobufType, yamlType } from '../http/media-type.ts'

/** Headers of responses that set no others. */
export const uncached: Readonly<Record<string, string>> = { 'cache-control': 'no-cache, private' }

/** The form of the responses to one request. */
export interface ResponseForm {
  readonly encoding: Encoding
  readonly pretty: boolean
  readonly encodeProtobuf: ProtobufEncoder | undefined
}

const encoder = new TextEncoder()
/** The media types of responses. */
export const contentTypes: Readonly<Record<Encoding, string>> = {
  json: jsonType,
  yaml: yamlType,
  protobuf: protobufType,
}

/** Returns a response with one JSON value. `bytes` is its compact JSON where that exists already. */
export function valueResponse(
  status: number,
  value: JsonObject | KubeObject,
  form: ResponseForm,
  bytes?: Uint8Array,
): ServerResponse {
  if (form.encoding === 'protobuf') {
    const encoded = form.encodeProtobuf?.(value as JsonObject)
    // Kinds without a protobuf form are sent as JSON; clients read the content type.
    if (encoded === undefined) return valueResponse(status, value, { ...form, encoding: 'json' }, bytes)
    return {
      status,
      headers: { ...uncached, 'content-type': protobufType },
      body: { kind: 'bytes', bytes: encoded },
    }
  }
  return {
    status,
    headers: { ...uncached, 'content-type': contentTypes[form.encoding] },
    body: bodyOf(value, form, bytes),
  }
}

/** Returns a response with a stored object. */
export function viewResponse(status: number, view: View, form: ResponseForm): ServerResponse {
  return valueResponse(status, view.object, form, view.knownBytes)
}

/** Returns the response of an error. Protobuf and YAML clients receive it in their form. */
export function errorResponse(error: unknown, form: ResponseForm): ServerResponse {
  const { status, code } = statusOf(error)
  const response = valueResponse(code, status as unknown as JsonObject, form)
  const retryAfter = status.details?.retryAfterSeconds
  return retryAfter === undefined
    ? response
    : { ...response, headers: { ...response.headers, 'retry-after': String(retryAfter) } }
}

/** Returns a plain-text response, as of health checks and unknown paths. */
export function textResponse(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ServerResponse {
  return {
    status,
    headers: {
      ...uncached,
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body: { kind: 'bytes', bytes: encoder.encode(text) },
  }
}

/** Returns the 404 of a path that is not served. */
export function pathNotFound(): ServerResponse {
  return textResponse(404, '404 page not found\n')
}

/** Returns the response with `Warning` headers added. */
export function withWarnings(response: ServerResponse, warnings: readonly string[]): ServerResponse {
  if (warnings.length === 0) return response
  const values = withinBounds(new Set(warnings)).map((text) => `299 - ${quoted(text)}`)
  return { ...response, headers: { ...response.headers, warning: values } }
}

/** Code points of all warnings after which each is cut, and those of one that was cut: the real server's. */
const warningsLimit = 4 * 1024
const cutWarning = 256

/** Returns the warnings that a response carries, as the recorder of the real server decides. */
function withinBounds(warnings: Iterable<string>): readonly string[] {
  const recorded: string[] = []
  let written = 0
  let isCutting = false
  for (const text of warnings) {
    if (text === '') continue
    if (isCutting && written >= warningsLimit) break
    recorded.push(isCutting ? firstCodePoints(text, cutWarning) : text)
    written += lengthInCodePoints(recorded.at(-1)!)
    if (isCutting || written <= warningsLimit) continue
    isCutting = true
    written = 0
    for (const [index, whole] of recorded.entries()) {
      recorded[index] = firstCodePoints(whole, cutWarning)
      written += lengthInCodePoints(recorded[index])
    }
  }
  return recorded
}

function firstCodePoints(text: string, count: number): string {
  return text.length <= count
    ? text
    : Array.from(text.slice(0, 2 * count))
        .slice(0, count)
        .join('')
}

function lengthInCodePoints(text: string): number {
  return [...text].length
}

/** Returns the Status of an error; errors that no client caused become 500. */
export function statusOf(error: unknown): { readonly status: Status; readonly code: number } {
  const known = error instanceof StatusError ? error : serverError(error)
  return { status: known.status, code: known.code }
}

function serverError(error: unknown): StatusError {
  const message = error instanceof Error ? error.message : String(error)
  // Without Retry-After: clients would wait for minutes, and nothing is emptied by that.
  const isFull = error instanceof StoreError && (error.code === 'StorageFull' || error.code === 'LimitReached')
  if (isFull) return failure(507, 'InsufficientStorage', message)
  return internalError(message)
}

function bodyOf(
  value: JsonObject | KubeObject,
  { encoding, pretty }: ResponseForm,
  bytes: Uint8Array | undefined,
): ServerBody {
  if (encoding === 'yaml') return { kind: 'bytes', bytes: encoder.encode(stringifyYaml(value as JsonObject)) }
  if (pretty) return { kind: 'bytes', bytes: encoder.encode(`${prettyJson(value as JsonObject)}\n`) }
  return bytes === undefined ? { kind: 'json', value } : { kind: 'json', value, bytes }
}

/** Returns JSON with two spaces of indentation. */
export function prettyJson(value: JsonObject): string {
  return JSON.stringify(
    value,
    (_key, value: unknown) => (typeof value === 'bigint' ? rawJson(value.toString()) : value),
    2,
  )
}

const rawJson = (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON

function quoted(text: string): string {
  return `"${text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll(/[\r\n]+/g, ' ')}"`
}
