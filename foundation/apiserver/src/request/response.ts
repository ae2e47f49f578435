// Answers in the representation that was negotiated: objects, lists and Statuses as JSON, YAML or protobuf, with the headers that go along.
import { StatusError, asJson, internalError, stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject, Status } from '@fairlead/kube'
import type { ServerBody, ServerResponse } from '../http/message.ts'
import type { View } from '../views/views.ts'
import type { Encoding } from './media-type.ts'
import { jsonType, protobufType, yamlType } from './media-type.ts'

/** Headers of every answer that names no others. */
export const uncached: Readonly<Record<string, string>> = { 'cache-control': 'no-cache, private' }

/** Turns an object with apiVersion and kind into protobuf bytes; undefined when the kind has no such form. */
export type ProtobufEncoder = (object: JsonObject) => Uint8Array | undefined

/** How answers of one request are written. */
export interface AnswerForm {
  readonly encoding: Encoding
  readonly pretty: boolean
  readonly encodeProtobuf: ProtobufEncoder | undefined
}

const encoder = new TextEncoder()
const contentTypes: Readonly<Record<Encoding, string>> = { json: jsonType, yaml: yamlType, protobuf: protobufType }

/** An answer that carries one JSON value. `bytes` is its compact JSON where it exists already. */
export function answerValue(
  status: number,
  value: JsonObject | KubeObject,
  form: AnswerForm,
  bytes?: () => Uint8Array,
): ServerResponse {
  const encoding = form.encoding
  return { status, headers: { ...uncached, 'content-type': contentTypes[encoding] }, body: bodyOf(value, form, bytes) }
}

/** An answer that carries a stored object. */
export function answerView(status: number, view: View, form: AnswerForm): ServerResponse {
  return answerValue(status, view.object, form, () => view.bytes)
}

/** An answer that carries a list. Over HTTP, built-in kinds leave kind and apiVersion out of the items; in process the shared objects stay whole. */
export function answerList(
  listType: { readonly kind: string; readonly apiVersion: string },
  metadata: JsonObject,
  views: readonly View[],
  form: AnswerForm,
): ServerResponse {
  const value = { ...listType, metadata, items: views.map((view) => asJson(view.object)) }
  if (form.encoding !== 'json' || form.pretty) {
    const items = views.map((view) => itemOf(view))
    return answerValue(200, { ...listType, metadata, items }, form)
  }
  return answerValue(200, value, form, () => listBytes({ ...listType, metadata }, views))
}

/** An answer that says what went wrong. Protobuf and YAML clients get it in their form. */
export function answerError(error: unknown, form: AnswerForm): ServerResponse {
  const { status, code } = statusOf(error)
  const answer = answerValue(code, status as unknown as JsonObject, form)
  const retryAfter = status.details?.retryAfterSeconds
  return retryAfter === undefined
    ? answer
    : { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } }
}

/** Plain text, as health endpoints and unknown paths give it. */
export function answerText(
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
  return answerText(404, '404 page not found\n')
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
  { encoding, pretty, encodeProtobuf }: AnswerForm,
  bytes: (() => Uint8Array) | undefined,
): ServerBody {
  if (encoding === 'yaml') return { kind: 'bytes', bytes: encoder.encode(stringifyYaml(value as JsonObject)) }
  if (encoding === 'protobuf') {
    const encoded = encodeProtobuf?.(value as JsonObject)
    if (encoded !== undefined) return { kind: 'bytes', bytes: encoded }
  }
  if (pretty) return { kind: 'bytes', bytes: encoder.encode(`${prettyJson(value as JsonObject)}\n`) }
  if (bytes === undefined) return { kind: 'json', value }
  return {
    kind: 'json',
    value,
    get bytes() {
      return bytes()
    },
  }
}

function listBytes(head: JsonObject, views: readonly View[]): Uint8Array {
  const start = encoder.encode(`${stringifyJson(head).slice(0, -1)},"items":[`)
  const items = views.map((view) => view.itemBytes)
  const size = items.reduce((sum, item) => sum + item.length + 1, start.length + 2)
  const out = new Uint8Array(size)
  out.set(start)
  let at = start.length
  for (const [index, item] of items.entries()) {
    if (index > 0) out[at++] = 0x2c
    out.set(item, at)
    at += item.length
  }
  out[at++] = 0x5d
  out[at++] = 0x7d
  return out.subarray(0, at)
}

function itemOf(view: View): JsonObject {
  const object = asJson(view.object)
  if (view.resource.definition.crd !== undefined) return object
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
