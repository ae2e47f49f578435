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
  expect(metadata).toEqual({ $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' })
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
