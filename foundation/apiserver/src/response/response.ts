// Responses in the negotiated representation: objects, lists and Statuses as JSON, YAML or protobuf, with their
// headers.
import { StatusError, asJson, internalError, stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject, Status } from '@fairlead/kube'
import type { ServerBody, ServerResponse } from '../http/message.ts'
import type { View } from '../views/views.ts'
import type { Encoding } from '../http/media-type.ts'
import { jsonType, protobufType, yamlType } from '../http/media-type.ts'
import { originRules } from '../objects/origin-rules.ts'

/** Headers of responses that set no others. */
export const uncached: Readonly<Record<string, string>> = { 'cache-control': 'no-cache, private' }

/** Encodes an object with apiVersion and kind as protobuf; undefined when the kind has no such form. */
export type ProtobufEncoder = (object: JsonObject) => Uint8Array | undefined

/** The form of the responses to one request. */
export interface ResponseForm {
  readonly encoding: Encoding
  readonly pretty: boolean
  readonly encodeProtobuf: ProtobufEncoder | undefined
}

const encoder = new TextEncoder()
const contentTypes: Readonly<Record<Encoding, string>> = { json: jsonType, yaml: yamlType, protobuf: protobufType }

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

/** The form of a list. */
export interface ListForm extends ResponseForm {
  /** The client takes the value without its bytes. */
  readonly takesValue: boolean
  /** Returns monotonic milliseconds; long lists yield to other requests. */
  readonly monotonic: () => number
}

/**
 * Returns a response with a list. Over HTTP, items of built-in kinds have no kind and apiVersion; in process the shared
 * objects stay whole.
 */
export async function listResponse(
  listType: { readonly kind: string; readonly apiVersion: string },
  metadata: JsonObject,
  views: readonly View[],
  form: ListForm,
): Promise<ServerResponse> {
  if (form.takesValue)
    return valueResponse(200, { ...listType, metadata, items: views.map(({ object }) => asJson(object)) }, form)
  if (form.encoding !== 'json' || form.pretty) {
    return valueResponse(200, { ...listType, metadata, items: views.map((view) => itemOf(view)) }, form)
  }
  const chunks = await listChunks({ ...listType, metadata }, views, form.monotonic)
  return {
    status: 200,
    headers: { ...uncached, 'content-type': jsonType },
    body: {
      kind: 'bytes',
      chunks,
      get bytes() {
        return Buffer.concat(chunks)
      },
    },
  }
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
  const known =
    error instanceof StatusError ? error : internalError(error instanceof Error ? error.message : String(error))
  return { status: known.status, code: known.code }
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

/** Long lists are encoded in slices of this many milliseconds. */
const sliceMs = 8

async function listChunks(
  head: JsonObject,
  views: readonly View[],
  monotonic: () => number,
): Promise<readonly Uint8Array[]> {
  const parts: Uint8Array[] = [encoder.encode(`${stringifyJson(head).slice(0, -1)},"items":[`)]
  const prefix = views.length === 0 ? undefined : typePrefix(views[0]!)
  let since = monotonic()
  for (const [index, view] of views.entries()) {
    // Free-form objects may have numbers for names; those come before the type.
    const { bytes } = view
    const isCut = prefix !== undefined && startsWith(bytes, prefix)
    parts.push(separators[index === 0 ? 'first' : 'next'][isCut ? 'opened' : 'whole'])
    parts.push(isCut ? bytes.subarray(prefix.length) : bytes)
    if (index % 64 === 63 && monotonic() - since > sliceMs) {
      await new Promise((resolve) => setImmediate(resolve))
      since = monotonic()
    }
  }
  parts.push(encoder.encode(']}\n'))
  return parts
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  for (let index = 0; index < prefix.length; index++) if (bytes[index] !== prefix[index]) return false
  return true
}

/** Separators before an item: a comma, and the brace that was cut off together with a type. */
const separators = {
  first: { whole: encoder.encode(''), opened: encoder.encode('{') },
  next: { whole: encoder.encode(','), opened: encoder.encode(',{') },
}

/**
 * Returns `{"kind":…,"apiVersion":…,`, with which built-in kinds begin and their items in lists do not; undefined for
 * custom resources.
 */
function typePrefix({ object, resource }: View): Buffer | undefined {
  if (originRules(resource.definition).isUnstructured) return undefined
  return Buffer.from(`${stringifyJson({ kind: object.kind, apiVersion: object.apiVersion }).slice(0, -1)},`)
}

function itemOf(view: View): JsonObject {
  const object = asJson(view.object)
  if (originRules(view.resource.definition).isUnstructured) return object
  const { kind: _kind, apiVersion: _version, ...item } = object
  return item
}

/** Returns JSON with two spaces of indentation. */
function prettyJson(value: JsonObject): string {
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
