// Answers in the representation that was negotiated: objects, lists and Statuses as JSON, YAML or protobuf, with the
// headers that go along.
import { StatusError, asJson, internalError, stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject, Status } from '@fairlead/kube'
import type { ServerBody, ServerResponse } from '../http/message.ts'
import type { View } from '../views/views.ts'
import type { Encoding } from '../http/media-type.ts'
import { jsonType, protobufType, yamlType } from '../http/media-type.ts'
import { originRules } from '../objects/origin-rules.ts'

/** Headers of every answer that names no others. */
export const uncached: Readonly<Record<string, string>> = { 'cache-control': 'no-cache, private' }

/** Turns an object with apiVersion and kind into protobuf bytes; undefined when the kind has no such form. */
export type ProtobufEncoder = (object: JsonObject) => Uint8Array | undefined

/** How answers of one request are written. */
export interface ResponseForm {
  readonly encoding: Encoding
  readonly pretty: boolean
  readonly encodeProtobuf: ProtobufEncoder | undefined
}

const encoder = new TextEncoder()
const contentTypes: Readonly<Record<Encoding, string>> = { json: jsonType, yaml: yamlType, protobuf: protobufType }

/** An answer that carries one JSON value. `bytes` is its compact JSON where it exists already. */
export function valueResponse(
  status: number,
  value: JsonObject | KubeObject,
  form: ResponseForm,
  bytes?: Uint8Array,
): ServerResponse {
  if (form.encoding === 'protobuf') {
    const encoded = form.encodeProtobuf?.(value as JsonObject)
    // Kinds without a protobuf form go out as JSON and say so; clients read the content type.
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

/** An answer that carries a stored object. */
export function viewResponse(status: number, view: View, form: ResponseForm): ServerResponse {
  return valueResponse(status, view.object, form, view.knownBytes)
}

/** How a list is written. */
export interface ListForm extends ResponseForm {
  /** Nobody will read the bytes. */
  readonly takesValue: boolean
  /** Milliseconds that never go back, to let others run in between. */
  readonly monotonic: () => number
}

/**
 * An answer that carries a list. Over HTTP, built-in kinds leave kind and apiVersion out of the items; in process the
 * shared objects stay whole.
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
  const pieces = await listPieces({ ...listType, metadata }, views, form.monotonic)
  return {
    status: 200,
    headers: { ...uncached, 'content-type': jsonType },
    body: {
      kind: 'bytes',
      pieces,
      get bytes() {
        return Buffer.concat(pieces)
      },
    },
  }
}

/** An answer that says what went wrong. Protobuf and YAML clients get it in their form. */
export function errorResponse(error: unknown, form: ResponseForm): ServerResponse {
  const { status, code } = statusOf(error)
  const answer = valueResponse(code, status as unknown as JsonObject, form)
  const retryAfter = status.details?.retryAfterSeconds
  return retryAfter === undefined
    ? answer
    : { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } }
}

/** Plain text, as health endpoints and unknown paths give it. */
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

/** 404 for paths that nobody serves. */
export function pathNotFound(): ServerResponse {
  return textResponse(404, '404 page not found\n')
}

/** An answer with its warnings as `Warning` headers. */
export function withWarnings(answer: ServerResponse, warnings: readonly string[]): ServerResponse {
  if (warnings.length === 0) return answer
  const values = [...new Set(warnings)].map((text) => `299 - ${quoted(text)}`)
  return { ...answer, headers: { ...answer.headers, warning: values } }
}

/** The Status behind an error; errors of ours that no client caused become 500. */
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

async function listPieces(
  head: JsonObject,
  views: readonly View[],
  monotonic: () => number,
): Promise<readonly Uint8Array[]> {
  const parts: Uint8Array[] = [encoder.encode(`${stringifyJson(head).slice(0, -1)},"items":[`)]
  const prefix = views.length === 0 ? undefined : typePrefix(views[0]!)
  let since = monotonic()
  for (const [index, view] of views.entries()) {
    // Free-form objects can have numbers for names, which stand before the type.
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

/** What stands before an item: a comma, and the brace that goes with a type that was cut off. */
const separators = {
  first: { whole: encoder.encode(''), opened: encoder.encode('{') },
  next: { whole: encoder.encode(','), opened: encoder.encode(',{') },
}

/**
 * `{"kind":…,"apiVersion":…,`, which built-in kinds are written with and their items in lists are not; undefined for
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

/** JSON with two spaces of indentation. */
function prettyJson(value: JsonObject): string {
  return JSON.stringify(
    value,
    (_key, member: unknown) => (typeof member === 'bigint' ? rawJson(member.toString()) : member),
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
