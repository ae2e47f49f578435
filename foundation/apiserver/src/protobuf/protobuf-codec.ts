// The codec for `application/vnd.kubernetes.protobuf`, for objects of built-in kinds. Custom resources and Tables have
// no protobuf form.
import type { JsonObject } from '@fairlead/kube'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { decodeMessage } from './decode-message.ts'
import { encodeItem, encodeMessage } from './encode-message.ts'
import { openEnvelope, sealChunks, sealEnvelope } from './envelope.ts'
import type { MessageType } from '@fairlead/builtin-kinds'
import { messageOfKind, messageType } from '@fairlead/builtin-kinds'
import type { ProtobufEncoder, ProtobufListEncoder } from './protobuf-encoder.ts'
import { ProtobufError } from './protobuf-error.ts'

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'

/** Kinds that are registered in every group version. */
const metaKinds: ReadonlySet<string> = new Set([
  'APIGroup',
  'APIGroupList',
  'APIResourceList',
  'APIVersions',
  'CreateOptions',
  'DeleteOptions',
  'GetOptions',
  'ListOptions',
  'PartialObjectMetadata',
  'PartialObjectMetadataList',
  'PatchOptions',
  'Status',
  'UpdateOptions',
  'WatchEvent',
])

/**
 * Decodes a body. The result has apiVersion and kind as its envelope says; fields that are absent on the wire are
 * absent in it.
 * @throws ProtobufError for bytes that are none of ours
 */
export function decodeProtobuf(bytes: Uint8Array): JsonObject {
  try {
    const { apiVersion, kind, raw } = openEnvelope(bytes)
    const type = messageOf(apiVersion, kind)
    if (type === undefined)
      throw new ProtobufError(
        `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`,
      )
    return { kind, apiVersion, ...decodeMessage(type, raw) }
  } catch (error) {
    if (error instanceof ProtobufError) throw error
    throw new ProtobufError(error instanceof Error ? error.message : String(error))
  }
}

/** Encodes an object as protobuf in its envelope; returns undefined when its kind has no protobuf form. */
export function encodeProtobuf(object: JsonObject): Uint8Array | undefined {
  const { apiVersion = '', kind } = object
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined
  const type = messageOf(apiVersion, kind)
  return type === undefined ? undefined : sealEnvelope({ apiVersion, kind, raw: encodeMessage(type, object) })
}

/**
 * Returns the encoder of a list, of which `head` is all but the items; undefined when its kind has no protobuf form.
 */
function encodeProtobufList(head: JsonObject): ProtobufListEncoder | undefined {
  const { apiVersion = '', kind } = head
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined
  const type = messageOf(apiVersion, kind)
  // Lists are metadata and items, in this order.
  return (
    type && {
      item: (object) => encodeItem(type, 'items', object),
      whole: (items) => sealChunks(apiVersion, kind, [encodeMessage(type, head), ...items]),
    }
  )
}

/** Encodes one frame of a watch: its length in four bytes, then a bare WatchEvent with the object in its envelope. */
export function encodeProtobufEvent(type: string, object: JsonObject): Uint8Array {
  const enveloped = encodeProtobuf(object) ?? new Uint8Array()
  const extension = new BinaryWriter().tag(1, 2).bytes(enveloped).finish()
  const event = new BinaryWriter().tag(1, 2).string(type).tag(2, 2).bytes(extension).finish()
  const frame = new Uint8Array(4 + event.length)
  new DataView(frame.buffer).setUint32(0, event.length)
  frame.set(event, 4)
  return frame
}

/** The codec that the server passes to its handlers. */
export const protobufCodec: {
  decode(body: Uint8Array): JsonObject
  encode: ProtobufEncoder
  encodeEvent(type: string, object: JsonObject): Uint8Array
} = {
  decode: decodeProtobuf,
  encode: Object.assign(encodeProtobuf.bind(undefined), { list: encodeProtobufList }),
  encodeEvent: encodeProtobufEvent,
}

function messageOf(apiVersion: string, kind: string): MessageType | undefined {
  return messageOfKind(apiVersion, kind) ?? (metaKinds.has(kind) ? messageType(`${meta}.${kind}`) : undefined)
}
