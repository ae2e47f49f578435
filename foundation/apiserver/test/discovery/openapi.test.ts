// OpenAPI v3 documents: complete, consistent, and cached as clients expect.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { apiGroups, ApiServer, openApiDocument } from '@fairlead/apiserver'
import { builtinResources } from '@fairlead/builtin-kinds'
import { describe, expect, test } from 'vitest'

const groups = apiGroups({ definitions: builtinResources() })
const all = groups.flatMap(({ name, versions }) =>
  versions.map((version) => [`${name}/${version.version}`, name, version] as const),
)

type Document = JsonObject & {
  paths: Record<string, Record<string, JsonObject>>
  components: { schemas: Record<string, JsonObject> }
}

function documentOf(group: string, version = 'v1'): Document {
  const found = all.find(([, name, served]) => name === group && served.version === version)
  if (found === undefined) throw new Error(`no ${group}/${version}`)
  return openApiDocument(group, found[2], groups) as Document
}

function* referencesIn(value: JsonValue): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    if (key === '$ref' && typeof member === 'string') yield member
    else yield* referencesIn(member as JsonValue)
  }
}

describe('OpenAPI v3 of the built-in groups', () => {
  test.each(all)('%s resolves all of its references', (_title, group, version) => {
    const document = openApiDocument(group, version, groups) as Document
    const held = new Set(Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`))
    expect([...referencesIn(document)].filter((reference) => !held.has(reference))).toEqual([])
  })

  test('has unique operation ids', () => {
    const ids = all.flatMap(([, group, version]) =>
      Object.values((openApiDocument(group, version, groups) as Document).paths).flatMap((item) =>
        Object.values(item).flatMap(({ operationId }) => (operationId === undefined ? [] : [operationId])),
      ),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('has the operations of a namespaced resource', () => {
    const { paths } = documentOf('apps')
    const ids = Object.entries(paths)
      .filter(([path]) => path.includes('/deployments'))
      .map(([path, item]) => [
        path,
        Object.fromEntries(
          Object.entries(item).flatMap(([method, operation]) =>
            Array.isArray(operation) ? [] : [[method, operation['operationId']]],
          ),
        ),
      ])
    expect(Object.fromEntries(ids)).toEqual({
      '/apis/apps/v1/deployments': { get: 'listAppsV1DeploymentForAllNamespaces' },
      '/apis/apps/v1/namespaces/{namespace}/deployments': {
        get: 'listAppsV1NamespacedDeployment',
        post: 'createAppsV1NamespacedDeployment',
        delete: 'deleteAppsV1CollectionNamespacedDeployment',
      },
      '/apis/apps/v1/namespaces/{namespace}/deployments/{name}': {
        get: 'readAppsV1NamespacedDeployment',
        put: 'replaceAppsV1NamespacedDeployment',
        delete: 'deleteAppsV1NamespacedDeployment',
        patch: 'patchAppsV1NamespacedDeployment',
      },
      '/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale': {
        get: 'readAppsV1NamespacedDeploymentScale',
        put: 'replaceAppsV1NamespacedDeploymentScale',
        patch: 'patchAppsV1NamespacedDeploymentScale',
      },
      '/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status': {
        get: 'readAppsV1NamespacedDeploymentStatus',
        put: 'replaceAppsV1NamespacedDeploymentStatus',
        patch: 'patchAppsV1NamespacedDeploymentStatus',
      },
    })
  })

  test('declares the media types of PATCH and fieldValidation', () => {
    const patch =
      documentOf('rbac.authorization.k8s.io').paths['/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}']?.['patch']
    expect({ ...patch, responses: Object.keys(patch?.['responses'] as JsonObject) }).toEqual({
      tags: ['rbacAuthorization_v1'],
      description: 'partially update the specified ClusterRole',
      operationId: 'patchRbacAuthorizationV1ClusterRole',
      parameters: ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map((name) => ({
        name,
        in: 'query',
        schema: { type: name === 'force' ? 'boolean' : 'string', uniqueItems: true },
      })),
      requestBody: {
        content: Object.fromEntries(
          [
            'application/apply-patch+yaml',
            'application/json-patch+json',
            'application/merge-patch+json',
            'application/strategic-merge-patch+json',
          ].map((type) => [
            type,
            { schema: { $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Patch' } },
          ]),
        ),
        required: true,
      },
      responses: ['200', '201', '401'],
      'x-kubernetes-action': 'patch',
      'x-kubernetes-group-version-kind': { group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'ClusterRole' },
    })
  })

  test.each<readonly [operation: string, description: string, kind: string, answer: string]>([
    ['get componentstatuses', 'list objects of kind ComponentStatus', 'v1/ComponentStatus', 'ComponentStatusList'],
    ['get configmaps', 'list or watch objects of kind ConfigMap', 'v1/ConfigMap', 'ConfigMapList'],
    ['post namespaces/{namespace}/endpoints', 'create Endpoints', 'v1/Endpoints', 'Endpoints'],
    ['post namespaces/{namespace}/events', 'create an Event', 'v1/Event', 'Event'],
    ['get nodes/{name}', 'read the specified Node', 'v1/Node', 'Node'],
    ['put nodes/{name}/status', 'replace status of the specified Node', 'v1/Node', 'Node'],
    ['delete namespaces/{namespace}/pods/{name}', 'delete a Pod', 'v1/Pod', 'Pod'],
    ['delete namespaces/{namespace}/configmaps/{name}', 'delete a ConfigMap', 'v1/ConfigMap', 'Status'],
    ['post namespaces/{namespace}/pods/{name}/binding', 'create binding of a Pod', 'v1/Binding', 'Binding'],
    ['post namespaces/{namespace}/pods/{name}/eviction', 'create eviction of a Pod', 'policy/v1/Eviction', 'Eviction'],
  ])('describes %s with the kinds of its bodies', (operation, description, kind, answer) => {
    const [method = '', path = ''] = operation.split(' ')
    const found = documentOf('').paths[`/api/v1/${path}`]![method]!
    const { group, version, kind: name } = found['x-kubernetes-group-version-kind'] as Record<string, string>
    const content = (found['responses'] as Record<string, JsonObject>)['200']!['content'] as Record<string, JsonObject>
    const { $ref } = content['application/json']!['schema'] as { $ref: string }
    expect([found['description'], [group, version, name].filter(Boolean).join('/'), $ref.split('.').at(-1)]).toEqual([
      description,
      kind,
      answer,
    ])
  })

  test('wraps a reference with a default in allOf', () => {
    expect((documentOf('').components.schemas['io.k8s.api.core.v1.Pod']?.['properties'] as JsonObject)['spec']).toEqual(
      {
        allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec' }],
        default: {},
      },
    )
  })
})

const widgets = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A widget.',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer', description: 'How big.' } } },
            },
          },
        },
      },
    ],
  },
}

const user = { name: 'admin', groups: ['system:masters'] }

async function withWidgets(): Promise<ApiServer> {
  const server = await ApiServer.start()
  await server.inject({
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    headers: { 'content-type': 'application/json' },
    body: widgets,
    user,
  })
  await expect
    .poll(async () => (await server.inject({ method: 'GET', path: '/openapi/v3/apis/example.com/v1', user })).status)
    .toBe(200)
  return server
}

describe('served OpenAPI v3', () => {
  test('has the schema of a custom resource and those that it refers to', async () => {
    await using server = await withWidgets()
    const document = (
      await server.inject({ method: 'GET', path: '/openapi/v3/apis/example.com/v1', user })
    ).json() as Document
    const { schemas } = document.components
    expect(Object.keys(schemas)).toEqual([
      'com.example.v1.Widget',
      'com.example.v1.WidgetList',
      ...[
        'DeleteOptions',
        'FieldsV1',
        'ListMeta',
        'ManagedFieldsEntry',
        'ObjectMeta',
        'OwnerReference',
        'Patch',
        'Preconditions',
        'Status',
        'StatusCause',
        'StatusDetails',
        'Time',
      ].map((name) => `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`),
    ])
    expect(schemas['com.example.v1.Widget']).toMatchObject({
      type: 'object',
      description: 'A widget.',
      properties: {
        metadata: { allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }] },
        spec: { properties: { size: { description: 'How big.' } } },
      },
      'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Widget' }],
    })
    expect(
      Object.keys(document.paths['/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status'] ?? {}),
    ).toEqual(['get', 'put', 'patch', 'parameters'])
  })

  test('has an index of documents that may be cached for ever', async () => {
    await using server = await withWidgets()
    const { paths } = (await server.inject({ method: 'GET', path: '/openapi/v3', user })).json() as {
      paths: Record<string, { serverRelativeURL: string }>
    }
    expect(Object.keys(paths)).toEqual([
      ...groups.flatMap(({ name, versions }) =>
        versions.map(({ version }) => (name === '' ? `api/${version}` : `apis/${name}/${version}`)),
      ),
      'apis/example.com/v1',
    ])
    const url = paths['apis/apps/v1']?.serverRelativeURL ?? ''
    const kept = await server.inject({ method: 'GET', path: url, user })
    const unchanged = await server.inject({
      method: 'GET',
      path: url,
      headers: { 'if-none-match': String(kept.headers['etag']) },
      user,
    })
    const old = await server.inject({ method: 'GET', path: '/openapi/v3/apis/apps/v1?hash=OLD', user })
    expect([kept.headers['cache-control'], unchanged.status, old.status, old.headers['location']]).toEqual([
      'public, immutable',
      304,
      301,
      url,
    ])
  })

  test('changes the hash of the group of a new kind only', async () => {
    await using server = await ApiServer.start()
    const hashes = async (): Promise<Record<string, string>> => {
      const { paths } = (await server.inject({ method: 'GET', path: '/openapi/v3', user })).json() as {
        paths: Record<string, { serverRelativeURL: string }>
      }
      return Object.fromEntries(Object.entries(paths).map(([path, { serverRelativeURL }]) => [path, serverRelativeURL]))
    }
    const before = await hashes()
    await server.inject({
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      headers: { 'content-type': 'application/json' },
      body: widgets,
      user,
    })
    await expect
      .poll(async () => (await server.inject({ method: 'GET', path: '/openapi/v3/apis/example.com/v1', user })).status)
      .toBe(200)
    const { 'apis/example.com/v1': added, ...rest } = await hashes()
    expect([rest, typeof added]).toEqual([before, 'string'])
  })

  test.each(['/openapi/v3/apis/nope/v1', '/openapi/v2/nope', '/openapi/v4'])('responds 404 to GET %s', async (path) => {
    await using server = await ApiServer.start()
    expect((await server.inject({ method: 'GET', path, user })).status).toBe(404)
  })
})

test.each(['/openapi/v3/nothing', '/openapi/v3/apis/nothing.example.com/v1', '/openapi/v3/apis'])(
  'the document of an unknown group at %s is a 404 without a body',
  async (path) => {
    await using server = await ApiServer.start({ controllers: false })
    const { status, headers, body } = await server.inject({
      method: 'GET',
      path,
      user: { name: 'admin', groups: ['system:masters'] },
    })
    expect([status, headers, body]).toEqual([404, { 'cache-control': 'no-cache, private' }, ''])
  },
)
