// Responses with lists, encoded item by item: a long list yields to other requests between two of its items.
import { yieldIfLong } from '@fairlead/client'
import { asJson, stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import { originRules } from '../objects/origin-rules.ts'
import type { TransformedList } from '../views/transforms.ts'
import type { View } from '../views/views.ts'
import { contentTypes, prettyJson, uncached, valueResponse } from './response.ts'
import type { ResponseForm } from './response.ts'

/** The form of a list. */
export interface ListForm extends ResponseForm {
  /** The client takes the value without its bytes. */
  readonly takesValue: boolean
  /** Aborts when the client has left; nothing more is encoded then. */
  readonly signal: AbortSignal
}

const encoder = new TextEncoder()

/** A list whose items are encoded one at a time. */
interface ItemList {
  /** The list without its items. */
  readonly head: JsonObject
  /** The field of the items, the last one in JSON. */
  readonly field: 'items' | 'rows'
  readonly views: readonly View[]
  /** Returns the item of a view as it is sent. */
  readonly itemOf: (view: View) => JsonObject
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
  const head = { ...listType, metadata }
  if (form.takesValue) return valueResponse(200, { ...head, items: views.map(({ object }) => asJson(object)) }, form)
  if (form.encoding === 'json' && !form.pretty) return chunkResponse(form, await sharedChunks(head, views, form.signal))
  return itemListResponse({ head, field: 'items', views, itemOf: servedItem }, form)
}

/** Returns a response with a list that the client requested in another form. */
export async function transformedListResponse(
  { head, field, itemOf, whenEmpty }: TransformedList,
  views: readonly View[],
  form: ListForm,
): Promise<ServerResponse> {
  const list = { head, field, views, itemOf: (view: View) => itemOf(view.object) }
  if (views.length === 0) return valueResponse(200, { ...head, [field]: whenEmpty }, form)
  if (form.takesValue) return valueResponse(200, await valueOf(list, form.signal), form)
  return itemListResponse(list, form)
}

async function itemListResponse(list: ItemList, form: ListForm): Promise<ServerResponse> {
  if (form.encoding === 'protobuf') {
    const chunks = await protobufChunks(list, form)
    // Kinds without a protobuf form are sent as JSON; clients read the content type.
    return chunks === undefined ? itemListResponse(list, { ...form, encoding: 'json' }) : chunkResponse(form, chunks)
  }
  return chunkResponse(form, await (form.encoding === 'yaml' ? yamlChunks(list, form.signal) : jsonChunks(list, form)))
}

function chunkResponse({ encoding }: ListForm, chunks: readonly Uint8Array[]): ServerResponse {
  return {
    status: 200,
    headers: { ...uncached, 'content-type': contentTypes[encoding] },
    body: {
      kind: 'bytes',
      chunks,
      get bytes() {
        return Buffer.concat(chunks)
      },
    },
  }
}

async function valueOf({ head, field, views, itemOf }: ItemList, signal: AbortSignal): Promise<JsonObject> {
  return { ...head, [field]: await eachItem(views, signal, itemOf) }
}

/** Returns what `encode` makes of each view, and yields to the event loop on the way. */
async function eachItem<T>(
  views: readonly View[],
  signal: AbortSignal,
  encode: (view: View, index: number) => T,
): Promise<T[]> {
  const out: T[] = []
  for (const [index, view] of views.entries()) {
    await yieldIfLong()
    signal.throwIfAborted()
    out.push(encode(view, index))
  }
  return out
}

/** Compact JSON, of the bytes that the views share. */
async function sharedChunks(
  head: JsonObject,
  views: readonly View[],
  signal: AbortSignal,
): Promise<readonly Uint8Array[]> {
  const parts: Uint8Array[] = [encoder.encode(`${stringifyJson(head).slice(0, -1)},"items":[`)]
  const prefix = views.length === 0 ? undefined : typePrefix(views[0]!)
  for (const [index, view] of views.entries()) {
    // Bytes that are known already cost next to nothing.
    if (index % 64 === 63 || view.knownBytes === undefined) {
      await yieldIfLong()
      signal.throwIfAborted()
    }
    // Free-form objects may have numbers for names; those come before the type.
    const { bytes } = view
    const isCut = prefix !== undefined && startsWith(bytes, prefix)
    parts.push(separators[index === 0 ? 'first' : 'next'][isCut ? 'opened' : 'whole'])
    parts.push(isCut ? bytes.subarray(prefix.length) : bytes)
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

function servedItem(view: View): JsonObject {
  const object = asJson(view.object)
  if (originRules(view.resource.definition).isUnstructured) return object
  const { kind: _kind, apiVersion: _version, ...item } = object
  return item
}

/** JSON, compact or with two spaces of indentation. */
async function jsonChunks(
  { head, field, views, itemOf }: ItemList,
  { pretty, signal }: ListForm,
): Promise<readonly Uint8Array[]> {
  const start = pretty ? prettyJson(head).slice(0, -2) : stringifyJson(head).slice(0, -1)
  if (views.length === 0)
    return [encoder.encode(pretty ? `${start},\n  "${field}": []\n}\n` : `${start},"${field}":[]}\n`)]
  const items = await eachItem(views, signal, (view, index) => {
    const item = itemOf(view)
    // Strings have no line ends in JSON, so that every one is of the indentation.
    if (pretty) return encoder.encode(`${index === 0 ? '' : ','}\n    ${prettyJson(item).replaceAll('\n', '\n    ')}`)
    return encoder.encode(`${index === 0 ? '' : ','}${stringifyJson(item)}`)
  })
  const [opening, end] = pretty ? [`,\n  "${field}": [`, '\n  ]\n}\n'] : [`,"${field}":[`, ']}\n']
  return [encoder.encode(`${start}${opening}`), ...items, encoder.encode(end)]
}

/** YAML with sorted keys, as of the whole value. */
async function yamlChunks(
  { head, field, views, itemOf }: ItemList,
  signal: AbortSignal,
): Promise<readonly Uint8Array[]> {
  const part = (names: readonly string[]): string =>
    names.length === 0
      ? ''
      : stringifyYaml(Object.fromEntries(names.map((name): [string, JsonValue] => [name, head[name]!])))
  const names = Object.keys(head)
  const before = part(names.filter((name) => name < field))
  const after = part(names.filter((name) => name > field))
  if (views.length === 0) return [encoder.encode(`${before}${field}: []\n${after}`)]
  // Lists are not indented, so that an item reads the same alone and below its field.
  const items = await eachItem(views, signal, (view) => encoder.encode(stringifyYaml([itemOf(view)])))
  return [encoder.encode(`${before}${field}:\n`), ...items, encoder.encode(after)]
}

async function protobufChunks(
  { head, views, itemOf }: ItemList,
  { encodeProtobuf, signal }: ListForm,
): Promise<readonly Uint8Array[] | undefined> {
  const list = encodeProtobuf?.list?.(head)
  return list?.whole(await eachItem(views, signal, (view) => list.item(itemOf(view))))
}
