// The envelope of Kubernetes' protobuf bodies: four magic bytes and a runtime.Unknown with the kind and the object's
// message.
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { ProtobufError } from './protobuf-error.ts'

/** An object in its envelope. `raw` is the object's own message. */
export interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
}

const magic = new Uint8Array([0x6b, 0x38, 0x73, 0x00])

/** Returns true when bytes begin like a protobuf body of Kubernetes. */
export function hasEnvelope(bytes: Uint8Array): boolean {
  return bytes.length >= magic.length && magic.every((byte, index) => bytes[index] === byte)
}

/** Reads an envelope. @throws ProtobufError */
export function openEnvelope(bytes: Uint8Array): Envelope {
  if (!hasEnvelope(bytes))
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]')
  let apiVersion = ''
  let kind = ''
  let raw = new Uint8Array()
  const reader = new BinaryReader(bytes.subarray(magic.length))
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag()
    if (field === 1 && wireType === 2) [apiVersion, kind] = typeMeta(reader.bytes())
    else if (field === 2 && wireType === 2) raw = reader.bytes() as Uint8Array<ArrayBuffer>
    else reader.skip(wireType, field)
  }
  return { apiVersion, kind, raw }
}

/** Writes an envelope; content encoding and type are empty strings, like the server's. */
export function sealEnvelope({ apiVersion, kind, raw }: Envelope): Uint8Array {
  return Buffer.concat(sealChunks(apiVersion, kind, [raw]))
}

/** Writes an envelope around a message in chunks. */
export function sealChunks(apiVersion: string, kind: string, raw: readonly Uint8Array[]): readonly Uint8Array[] {
  const type = new BinaryWriter().tag(1, 2).string(apiVersion).tag(2, 2).string(kind).finish()
  const length = raw.reduce((sum, chunk) => sum + chunk.length, 0)
  const start = new BinaryWriter().tag(1, 2).bytes(type).tag(2, 2).uint32(length).finish()
  const end = new BinaryWriter().tag(3, 2).string('').tag(4, 2).string('').finish()
  return [magic, start, ...raw, end]
}

function typeMeta(bytes: Uint8Array): [apiVersion: string, kind: string] {
  let apiVersion = ''
  let kind = ''
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag()
    if (field === 1 && wireType === 2) apiVersion = reader.string()
    else if (field === 2 && wireType === 2) kind = reader.string()
    else reader.skip(wireType, field)
  }
  return [apiVersion, kind]
}
