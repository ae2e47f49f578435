import { BinaryReader } from '@bufbuild/protobuf/wire'
import { expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'

import type { JsonObject, KubeObject } from '@fairlead/kube'

const user = { name: 'admin', groups: ['system:masters'] }

interface Swagger {
  readonly paths: Readonly<Record<string, JsonObject>>
  readonly definitions: Readonly<Record<string, JsonObject>>
}

async function read(server: ApiServer): Promise<Swagger> {
  const answer = await server.inject({ user, method: 'GET', path: '/openapi/v2' })
  expect(answer.status).toBe(200)
  return answer.json() as unknown as Swagger
}

function widgets(schema: JsonObject): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  }
}

async function definitionOf(schema: JsonObject): Promise<JsonObject | undefined> {
  await using server = await ApiServer.start({ controllers: ['crd'] })
  await server.client().create(widgets(schema))
  const definition = async (): Promise<JsonObject | undefined> =>
    (await read(server)).definitions['com.example.v1.Widget']
  await expect.poll(definition).toBeDefined()
  return definition()
}

test('OpenAPI v2 has built-in kinds with v2 references, without defaults, and unions as strings', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const { definitions, paths } = await read(server)
  expect(definitions['io.k8s.api.core.v1.ServicePort']).toEqual({
    type: 'object',
    required: ['port'],
    properties: {
      appProtocol: { type: 'string' },
      name: { type: 'string' },
      nodePort: { type: 'integer', format: 'int32' },
      port: { type: 'integer', format: 'int32' },
      protocol: { type: 'string', enum: ['SCTP', 'TCP', 'UDP'] },
      targetPort: { $ref: '#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString' },
    },
  })
  expect(definitions['io.k8s.apimachinery.pkg.util.intstr.IntOrString']).toEqual({
    type: 'string',
    format: 'int-or-string',
  })
  expect(paths['/api/v1/namespaces/{namespace}/configmaps']?.['post']).toMatchObject({
    operationId: 'createCoreV1NamespacedConfigMap',
    consumes: ['*/*'],
    produces: ['application/json', 'application/vnd.kubernetes.protobuf', 'application/yaml'],
    responses: { 201: { description: 'Created', schema: { $ref: '#/definitions/io.k8s.api.core.v1.ConfigMap' } } },
  })
})

test('every reference in OpenAPI v2 resolves', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const document = await read(server)
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)].map(
    ([, name]) => name,
  )
  expect(references.length).toBeGreaterThan(1000)
  expect([...new Set(references)].filter((name) => document.definitions[name!] === undefined)).toEqual([])
})

test('OpenAPI v2 relaxes the schema of a custom resource where v2 would be stricter', async () => {
  const definition = await definitionOf({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['a', 'b'],
        properties: {
          a: { type: 'string', nullable: true },
          b: { type: 'string', oneOf: [{ pattern: 'x' }, { pattern: 'y' }], default: 'x' },
          open: {
            type: 'object',
            'x-kubernetes-preserve-unknown-fields': true,
            properties: { known: { type: 'string' } },
          },
          either: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          things: { type: 'array', items: { type: 'object', nullable: true, properties: { c: { type: 'integer' } } } },
        },
      },
    },
  })
  const { spec, metadata } = definition?.['properties'] as Record<string, JsonObject>
  expect(metadata).toEqual({
    description: expect.stringMatching(/^Standard object's metadata\./),
    $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  })
  expect(spec).toEqual({
    type: 'object',
    required: ['b'],
    properties: {
      a: {},
      b: { type: 'string', default: 'x' },
      open: { 'x-kubernetes-preserve-unknown-fields': true },
      either: { 'x-kubernetes-int-or-string': true },
      things: { type: 'array', items: {} },
    },
  })
})

test('OpenAPI v2 declares no fields of a custom resource that preserves unknown ones', async () => {
  expect(
    await definitionOf({
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { spec: { type: 'object' } },
    }),
  ).toEqual({
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Widget' }],
  })
})

test('OpenAPI v2 responds 304 to a known ETag until the document changes', async () => {
  await using server = await ApiServer.start({ controllers: ['crd'] })
  const get = (etag: string): ReturnType<ApiServer['inject']> =>
    server.inject({ user, method: 'GET', path: '/openapi/v2', headers: { 'if-none-match': etag } })
  const first = await get('')
  const etag = String(first.headers['etag'])
  expect({ status: first.status, again: (await get(etag)).status }).toEqual({ status: 200, again: 304 })
  await server.client().create(widgets({ type: 'object' }))
  await expect.poll(async () => (await get(etag)).status).toBe(200)
})

/** The fields of a message: numbers, and the bytes of strings and messages. */
class Fields {
  readonly #fields = new Map<number, (number | Uint8Array)[]>()

  constructor(bytes: Uint8Array) {
    const reader = new BinaryReader(bytes)
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag()
      const value = type === 2 ? reader.bytes() : type === 1 ? reader.double() : reader.uint32()
      this.#fields.set(number, [...(this.#fields.get(number) ?? []), value])
    }
  }

  messages(number: number): Fields[] {
    return (this.#fields.get(number) ?? []).map((value) => new Fields(value as Uint8Array))
  }

  /** The message at the end of a path of fields that occur once. */
  at(...path: readonly number[]): Fields {
    return path.reduce((message: Fields, number) => message.messages(number)[0]!, this)
  }

  strings(number: number): string[] {
    return (this.#fields.get(number) ?? []).map((value) => Buffer.from(value as Uint8Array).toString())
  }

  values(number: number): (number | Uint8Array)[] | undefined {
    return this.#fields.get(number)
  }

  /** The value of the entry with a name, of a map in a field. */
  entry(number: number, name: string): Fields {
    return this.messages(number)
      .find((entry) => entry.strings(1)[0] === name)!
      .at(2)
  }
}

test('OpenAPI v2 in protobuf has the schemas with their kinds, as gnostic writes them', async () => {
  await using server = await ApiServer.start({ controllers: ['crd'] })
  await server.client().create(
    widgets({
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          required: ['size'],
          properties: {
            size: { type: 'integer', format: 'int64', maximum: 10, exclusiveMaximum: true },
            mode: { type: 'string', enum: ['a', 'b'], maxLength: 5 },
            labels: { type: 'object', additionalProperties: { type: 'string' } },
            list: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
          },
        },
      },
    }),
  )
  const schemaOf = async (name: string): Promise<Fields | undefined> =>
    (await readProtobuf(server))
      .at(9)
      .messages(1)
      .find((entry) => entry.strings(1)[0] === name)
      ?.at(2)
  await expect.poll(() => schemaOf('com.example.v1.Widget')).toBeDefined()
  const widget = (await schemaOf('com.example.v1.Widget'))!
  const spec = widget.at(25).entry(1, 'spec')
  const [size, mode, labels, list] = ['size', 'mode', 'labels', 'list'].map((name) => spec.at(25).entry(1, name))
  expect(widget.entry(31, 'x-kubernetes-group-version-kind').strings(2)).toEqual([
    '[{"group":"example.com","version":"v1","kind":"Widget"}]\n',
  ])
  expect([spec.strings(19), spec.at(22).strings(1)]).toEqual([['size'], ['object']])
  expect([size?.strings(2), size?.values(7), size?.values(8)]).toEqual([['int64'], [10], [1]])
  expect([mode?.messages(20).map((value) => value.strings(2)), mode?.values(11)]).toEqual([[['"a"\n'], ['"b"\n']], [5]])
  expect(labels?.at(21).at(1).at(22).strings(1)).toEqual(['string'])
  expect([list?.at(23).at(1).at(22).strings(1), list?.entry(31, 'x-kubernetes-list-type').strings(2)]).toEqual([
    ['string'],
    ['"set"\n'],
  ])
  const pod = (await schemaOf('io.k8s.api.core.v1.Pod'))!
  expect(pod.at(25).entry(1, 'spec').strings(1)).toEqual(['#/definitions/io.k8s.api.core.v1.PodSpec'])
})

test('OpenAPI v2 in protobuf has the operations with their kinds and parameters', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const item = (await readProtobuf(server)).at(8).entry(2, '/api/v1/namespaces/{namespace}/configmaps/{name}')
  const patch = item.at(8)
  expect(patch.strings(5)).toEqual(['patchCoreV1NamespacedConfigMap'])
  expect(patch.entry(13, 'x-kubernetes-group-version-kind').strings(2)).toEqual([
    '{"group":"","version":"v1","kind":"ConfigMap"}\n',
  ])
  const [body, ...others] = patch.messages(8)
  expect(body?.at(1).at(1).at(5).strings(1)).toEqual(['#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch'])
  const query = others.map((one) => one.at(1).at(2).at(3))
  expect(query.map((one) => [one.strings(4)[0], one.strings(6)[0]])).toContainEqual(['dryRun', 'string'])
  expect(
    item
      .messages(9)
      .flatMap((one) => one.at(1).at(2).messages(4))
      .map((one) => one.strings(4)[0]),
  ).toEqual(expect.arrayContaining(['name', 'namespace']))
  expect(patch.at(9).entry(1, '200').at(1).at(2).at(1).strings(1)).toEqual([
    '#/definitions/io.k8s.api.core.v1.ConfigMap',
  ])
})

async function readProtobuf(server: ApiServer): Promise<Fields> {
  const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
  const answer = await server.inject({ user, method: 'GET', path: '/openapi/v2', headers: { accept } })
  expect([answer.status, answer.headers['content-type']]).toEqual([
    200,
    'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  ])
  return new Fields(answer.bytes)
}
