// The protobuf codec compared with a real server: every golden decodes to its JSON and encodes to its bytes.
import type { JsonObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { decodeProtobuf, encodeProtobuf, encodeProtobufEvent, ProtobufError } from '@fairlead/apiserver'
import { typedForm, messageOfKind } from '@fairlead/builtin-kinds'
import { describeData, readData } from '../../../test/support/conformance-data.ts'

interface Golden {
  readonly kind: string
  readonly json: JsonObject & { apiVersion: string; kind: string }
  readonly protobufBase64: string
}

const goldens = (): readonly Golden[] => JSON.parse(readData('kubernetes', 'protobuf-goldens.json')) as Golden[]

describeData('protobuf bodies of a real server', { minimum: 40, read: goldens }, (all) => {
  const objects = all.filter(({ json }) => !Array.isArray(json))

  test.each(objects.map((golden) => [golden.kind, golden] as const))(
    '%s decodes to its JSON',
    (_kind, { json, protobufBase64 }) => {
      const decoded = decodeProtobuf(Buffer.from(protobufBase64, 'base64'))
      const type = messageOfKind(json.apiVersion, json.kind)
      expect(type === undefined ? decoded : typedForm(type, decoded).object).toEqual(withoutNestedTypes(json))
    },
  )

  // A ControllerRevision contains the client's own JSON, spaces included.
  const canonical = objects.filter(({ kind }) => kind !== 'apps/v1/ControllerRevision')
  test.each(canonical.map((golden) => [golden.kind, golden] as const))(
    '%s encodes to its bytes',
    (_kind, { json, protobufBase64 }) => {
      expect(Buffer.from(encodeProtobuf(json) ?? []).toString('base64')).toBe(protobufBase64)
    },
  )

  test('a watch is encoded as a stream of frames', () => {
    const stream = all.find(({ json }) => Array.isArray(json))
    const events = stream?.json as unknown as { type: string; object: JsonObject }[]
    const frames = events.map(({ type, object }) => encodeProtobufEvent(type, object))
    expect(Buffer.concat(frames).toString('base64')).toBe(stream?.protobufBase64)
  })
})

/** On the wire only the envelope has apiVersion and kind. */
function withoutNestedTypes(json: JsonObject): JsonObject {
  const text = JSON.stringify(json, (key, value: JsonObject) => {
    if (key === 'volumeClaimTemplates' || key === 'items') {
      return Array.isArray(value)
        ? value.map((item: JsonObject) => (item['metadata'] === undefined ? item : without(item)))
        : value
    }
    return value
  })
  return JSON.parse(text) as JsonObject
}

function without({ apiVersion: _apiVersion, kind: _kind, ...rest }: JsonObject): JsonObject {
  return rest
}

describe('invalid protobuf', () => {
  test.each([
    ['nothing', ''],
    ['JSON', Buffer.from('{"kind":"ConfigMap"}').toString('hex')],
    ['only the magic bytes', '6b387300'],
    ['a cut-off envelope', '6b3873000aff'],
    ['a field of the wrong wire type', '6b3873000a0f0a0276311209436f6e6669674d61701202' + '0801'],
  ])('%s is refused', (_what, hex) => {
    expect(() => decodeProtobuf(Buffer.from(hex, 'hex'))).toThrow(ProtobufError)
  })

  test('is rejected for a schema nested a thousand levels deep', () => {
    let schema: JsonObject = { type: 'object' }
    for (let depth = 0; depth < 1001; depth++) schema = { not: schema }
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }]
    const bytes = encodeProtobuf({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      spec: { versions },
    })
    expect(() => decodeProtobuf(bytes ?? new Uint8Array())).toThrow(ProtobufError)
  })
})

test('a custom resource has no protobuf form', () => {
  expect(encodeProtobuf({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' } })).toBeUndefined()
})
