// Discovery documents compared with recorded ones, and their routes.
import type { JsonObject } from '@fairlead/kube'
import {
  apiGroup,
  apiGroupDiscoveryList,
  apiGroupList,
  apiGroups,
  apiResourceList,
  ApiServer,
  apiVersions,
  decodeProtobuf,
} from '@fairlead/apiserver'
import { builtinResources } from '@fairlead/builtin-kinds'
import { describe, expect, test } from 'vitest'
import { describeData, readDataJson, recordings } from '../../../../test/support/conformance-data.ts'

const groups = apiGroups({ definitions: builtinResources() })
const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

function recorded(name: string): JsonObject {
  const body = recordings('discovery').find((scenario) => scenario.name === name)?.steps[0]?.response?.body
  if (body === undefined) throw new Error(`${name} is not recorded`)
  return body
}

function groupNamed(name: string): (typeof groups)[number] {
  const found = groups.find((group) => group.name === name)
  if (found === undefined) throw new Error(`no group ${name}`)
  return found
}

const discoveryDocuments = () => recordings('discovery')

describeData(
  'discovery of built-in groups equals that of a real server',
  { minimum: 6, read: discoveryDocuments },
  () => {
    test('the APIGroupList matches the recording', () => {
      expect(apiGroupList(groups)).toEqual(recorded('discovery/groups'))
    })

    test('the aggregated document of /api matches the recording', () => {
      expect(apiGroupDiscoveryList([groupNamed('')])).toEqual(recorded('discovery/aggregated-api'))
    })

    test('the aggregated document of /apis matches the recording', () => {
      expect(apiGroupDiscoveryList(groups.filter(({ name }) => name !== ''))).toEqual(
        recorded('discovery/aggregated-apis'),
      )
    })

    test('APIGroup and APIResourceList match the recordings', () => {
      const goldens = readDataJson('kubernetes', 'protobuf-goldens.json') as unknown as readonly {
        kind: string
        json: JsonObject
      }[]
      const golden = (kind: string): JsonObject | undefined => goldens.find((entry) => entry.kind === kind)?.json
      const apps = groupNamed('apps')
      expect(apiGroup(apps)).toEqual(golden('meta/v1/APIGroup'))
      expect(apps.versions.map((version) => apiResourceList('apps', version))).toEqual([
        golden('meta/v1/APIResourceList'),
      ])
    })
  },
)

test('the core group has no apiVersion in its own documents, as clients of the first release expect', () => {
  expect(apiVersions(groupNamed(''), 'host:6443')).toEqual({
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'host:6443' }],
  })
  expect(Object.keys(apiResourceList('', groupNamed('').versions[0]!))).toEqual(['kind', 'groupVersion', 'resources'])
})

const definition = (name: string, versions: readonly string[]): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${name}s.example.com` },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {
      plural: `${name}s`,
      singular: name,
      kind: name.charAt(0).toUpperCase() + name.slice(1),
      categories: ['gear'],
    },
    versions: versions.map((version, index) => ({
      name: version,
      served: true,
      storage: index === 0,
      subresources: {
        status: {},
        scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
      },
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: { spec: { type: 'object', properties: { replicas: { type: 'integer' } } } },
        },
      },
    })),
  },
})

const user = { name: 'admin', groups: ['system:masters'] }

async function get(
  server: ApiServer,
  path: string,
  accept: string,
  headers: Record<string, string> = {},
): Promise<Awaited<ReturnType<ApiServer['inject']>>> {
  return server.inject({ method: 'GET', path, headers: { accept, ...headers }, user })
}

async function established(server: ApiServer, body: JsonObject): Promise<void> {
  await server.inject({
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    headers: { 'content-type': 'application/json' },
    body,
    user,
  })
  const { name } = body['metadata'] as { name: string }
  await expect
    .poll(
      async () =>
        (await get(server, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`, 'application/json')).body,
    )
    .toContain('"InitialNamesAccepted"')
}

describe('served discovery', () => {
  test('has custom resources after the built-in groups, preferred version first', async () => {
    await using server = await ApiServer.start()
    await established(server, definition('widget', ['v1beta1', 'v1', 'v2alpha1']))
    const { groups: listed } = (await get(server, '/apis', 'application/json')).json() as {
      groups: { name: string; versions: { version: string }[] }[]
    }
    expect(listed.at(-1)).toEqual({
      name: 'example.com',
      versions: ['v1', 'v1beta1', 'v2alpha1'].map((version) => ({ groupVersion: `example.com/${version}`, version })),
      preferredVersion: { groupVersion: 'example.com/v1', version: 'v1' },
    })
    const { resources } = (await get(server, '/apis/example.com/v1', 'application/json')).json() as {
      resources: JsonObject[]
    }
    expect(resources.map(({ name, group, kind }) => [name, group, kind])).toEqual([
      ['widgets', undefined, 'Widget'],
      ['widgets/status', undefined, 'Widget'],
      ['widgets/scale', 'autoscaling', 'Scale'],
    ])
  })

  test('has an ETag of the aggregated document that changes with its content only', async () => {
    await using server = await ApiServer.start()
    const first = await get(server, '/apis', aggregatedType)
    const etag = String(first.headers['etag'])
    const again = await get(server, '/apis', aggregatedType, { 'if-none-match': etag })
    await established(server, definition('widget', ['v1']))
    const later = await get(server, '/apis', aggregatedType, { 'if-none-match': etag })
    expect([first.status, again.status, again.body, later.status]).toEqual([200, 304, '', 200])
    expect(first.headers).toMatchObject({ 'content-type': aggregatedType, 'cache-control': 'public', vary: 'Accept' })
  })

  test.each<[path: string, accept: string, status: number, contentType: string]>([
    ['/api', `${aggregatedType},application/json`, 200, aggregatedType],
    ['/api', `${aggregatedType.replace('v=v2', 'v=v2beta1')},application/json`, 200, 'application/json'],
    ['/api', aggregatedType.replace('v=v2', 'v=v2beta1'), 406, 'application/json'],
    ['/apis/apps/v1', aggregatedType, 406, 'application/json'],
    ['/apis/apps/v1', 'application/vnd.kubernetes.protobuf', 200, 'application/vnd.kubernetes.protobuf'],
    ['/apis/apps', 'application/yaml', 200, 'application/yaml'],
    ['/api/v1', 'text/plain', 406, 'application/json'],
    ['/apis/example.com', 'application/json', 404, 'text/plain; charset=utf-8'],
    ['/apis/apps/v9', 'application/json', 404, 'application/json'],
  ])('GET %s for %s answers %d', async (path, accept, status, contentType) => {
    await using server = await ApiServer.start()
    const answer = await get(server, path, accept)
    expect([answer.status, answer.headers['content-type']]).toEqual([status, contentType])
  })

  test('has the same content in protobuf and JSON', async () => {
    await using server = await ApiServer.start()
    const json = await get(server, '/apis', aggregatedType)
    const protobuf = await get(
      server,
      '/apis',
      'application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    )
    const { items } = decodeProtobuf(protobuf.bytes) as {
      items: { metadata: JsonObject; versions: { resources: JsonObject[] }[] }[]
    }
    const expected = (json.json() as { items: { metadata: JsonObject; versions: { resources: JsonObject[] }[] }[] })
      .items
    const names = (list: typeof items): unknown =>
      list.map((item) => [
        item.metadata['name'],
        item.versions.map((version) => version.resources.map((entry) => [entry['resource'], entry['verbs']])),
      ])
    expect(names(items)).toEqual(names(expected))
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s is not for discovery', async (method) => {
    await using server = await ApiServer.start()
    expect((await server.inject({ method, path: '/apis/apps/v1', user })).status).toBe(405)
  })
})

describe('GET /', () => {
  const user = { name: 'admin', groups: ['system:masters'] }
  const rootPaths = async (server: ApiServer, path = '/'): Promise<readonly string[]> => {
    const { status, headers, body } = await server.inject({ method: 'GET', path, user })
    expect([status, headers['content-type']]).toEqual([200, 'application/json'])
    return (JSON.parse(body) as { paths: string[] }).paths
  }

  test('lists the paths of the server, sorted, those of custom resources included', async () => {
    await using server = await ApiServer.start({ controllers: ['crd'] })
    const paths = await rootPaths(server)
    expect(paths).toEqual(paths.toSorted())
    expect(paths).toEqual(
      expect.arrayContaining([
        '/.well-known/openid-configuration',
        '/api',
        '/api/v1',
        '/apis',
        '/apis/',
        '/apis/apps',
        '/apis/apps/v1',
        '/healthz',
        '/livez/ping',
        '/metrics',
        '/openapi/v2',
        '/openapi/v3',
        '/openid/v1/jwks',
        '/readyz/etcd',
        '/version',
      ]),
    )
    expect(await rootPaths(server, '/index.html')).toEqual(paths)
    await server.client().create(definition('late', ['v1']) as never)
    await expect.poll(() => rootPaths(server)).toContain('/apis/example.com/v1')
  })

  test('every listed path is served', async () => {
    await using server = await ApiServer.start({ controllers: ['crd'] })
    const unserved: string[] = []
    for (const path of await rootPaths(server))
      if ((await server.inject({ method: 'GET', path, user })).status === 404) unserved.push(path)
    expect(unserved).toEqual([])
  })

  test('is forbidden without rights, and // is another path', async () => {
    await using server = await ApiServer.start({ controllers: false, authorization: 'RBAC' })
    const forbidden = await server.inject({ method: 'GET', path: '/', user: { name: 'eve', groups: [] } })
    const other = await server.inject({ method: 'GET', path: '//', user })
    expect([forbidden.status, other.status]).toEqual([403, 404])
  })
})
