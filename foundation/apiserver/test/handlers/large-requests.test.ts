// Requests with as many items as a body or a URL has room for. Code that compares each item with all others takes minutes
// for one of them, and holds all other requests meanwhile: such a test does not end in time.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { eventually } from '../../../../test/support/until.ts'

let server: ApiServer
const user = { name: 'admin', groups: ['system:masters'] }
const many = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i))
const named = <T>(count: number, value: (index: number) => T): Record<string, T> =>
  Object.fromEntries(many(count, (i) => [`k${i}`, value(i)]))

beforeAll(async () => {
  server = await ApiServer.start({ controllers: false })
})
afterAll(() => server[Symbol.asyncDispose]())

async function send(
  method: string,
  path: string,
  body?: object | string,
  type = 'application/json',
): Promise<{ status: number; length: number; warnings: readonly string[]; text: string }> {
  const response = await server.inject({
    method,
    path,
    user,
    headers: { 'content-type': type },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const { warning = [] } = response.headers
  const warnings = typeof warning === 'string' ? [warning] : warning
  return { status: response.status, length: response.bytes.length, warnings, text: response.body }
}

const pods = '/api/v1/namespaces/default/pods'
const configMaps = '/api/v1/namespaces/default/configmaps'
const pod = (spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { generateName: 'p-' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
})
const container = (fields: object): object => pod({ containers: [{ name: 'c', image: 'i', ...fields }] })
const volume = (source: object): object => pod({ volumes: [{ name: 'v', ...source }] })
const configMap = (fields: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { generateName: 'c-', ...metadata },
  ...fields,
})
const owner = (i: number): object => ({ apiVersion: 'v1', kind: 'Pod', name: `o${i}`, uid: `uid-${i}` })
const item = (i: number): object => ({ key: `k${i}`, path: `p${i}` })

test.each<[what: string, path: string, body: object]>([
  ['5,500 owner references', configMaps, configMap({}, { ownerReferences: many(5_500, owner) })],
  ['5,500 equal owner references', configMaps, configMap({}, { ownerReferences: many(5_500, () => owner(1)) })],
  ['29,000 labels', configMaps, configMap({}, { labels: named(29_000, () => 'v') })],
  ['29,000 finalizers', configMaps, configMap({}, { finalizers: many(29_000, (i) => `a.b/f${i}`) })],
  ['29,000 unknown fields', configMaps, configMap(named(29_000, () => 1))],
  ['9,500 items of a volume', pods, volume({ configMap: { name: 'c', items: many(9_500, item) } })],
  ['9,500 equal items', pods, volume({ configMap: { name: 'c', items: many(9_500, () => item(1)) } })],
  [
    '9,500 nested items',
    pods,
    volume({ secret: { secretName: 's', items: many(9_500, (i) => ({ key: 'k', path: `a/b/c/${i}` })) } }),
  ],
  [
    '4,000 projected sources',
    pods,
    volume({ projected: { sources: many(4_000, (i) => ({ configMap: { name: 'c', items: [item(i)] } })) } }),
  ],
  [
    '7,000 topology constraints',
    pods,
    pod({
      topologySpreadConstraints: many(7_000, (i) => ({
        maxSkew: 1,
        topologyKey: `k${i}`,
        whenUnsatisfiable: 'DoNotSchedule',
      })),
    }),
  ],
  ['9,500 containers', pods, pod({ containers: many(9_500, (i) => ({ name: `c${i}`, image: 'i' })) })],
  ['9,500 volumes', pods, pod({ volumes: many(9_500, (i) => ({ name: `v${i}`, emptyDir: {} })) })],
  ['9,500 variables', pods, container({ env: many(9_500, (i) => ({ name: `E${i}`, value: 'v' })) })],
  ['9,500 equal variables', pods, container({ env: many(9_500, () => ({ name: 'E', value: 'v' })) })],
  ['9,500 ports', pods, container({ ports: many(9_500, (i) => ({ containerPort: 80, hostPort: 1 + i })) })],
  ['9,500 equal ports', pods, container({ ports: many(9_500, () => ({ containerPort: 80 })) })],
  [
    '4,800 mounts and devices',
    pods,
    container({
      volumeMounts: many(4_800, (i) => ({ name: `m${i}`, mountPath: `/m${i}` })),
      volumeDevices: many(4_800, (i) => ({ name: `d${i}`, devicePath: `/d${i}` })),
    }),
  ],
  ['9,500 tolerations', pods, pod({ tolerations: many(9_500, (i) => ({ key: `k${i}`, operator: 'Exists' })) })],
])('responds to an object with %s', async (_, path, body) => {
  const { status, length, warnings } = await send('POST', path, body)
  expect([201, 413, 422, 500]).toContain(status)
  if (status === 500) throw new Error('an internal error')
  expect(length).toBeLessThan(4_000_000)
  // The recorder of the real server stops at 4,096 code points, and the last warning may have 256.
  expect(warnings.join('').length).toBeLessThan(10_000)
})

test('patches 6,000 variables into 6,000 by their names', async () => {
  const env = (from: number): object[] => many(6_000, (i) => ({ name: `E${from + i}`, value: 'v' }))
  await send('POST', pods, { ...container({ env: env(0) }), metadata: { name: 'patched' } })
  const patch = { spec: { containers: [{ name: 'c', env: env(3_000) }] } }
  const { status } = await send('PATCH', `${pods}/patched`, patch, 'application/strategic-merge-patch+json')
  // The environment of a pod cannot be changed.
  expect(status).toBe(422)
  const deletions = {
    spec: { containers: [{ name: 'c', env: many(6_000, (i) => ({ name: `E${i}`, $patch: 'delete' })) }] },
  }
  expect((await send('PATCH', `${pods}/patched`, deletions, 'application/strategic-merge-patch+json')).status).toBe(422)
})

const manyConfigMaps = (): Promise<unknown> =>
  Promise.all(many(100, (i) => send('POST', configMaps, configMap({}, { name: `s${i}`, labels: { app: 'a' } }))))

test.each([
  ['that no object may have', (i: number) => `!k${i}`],
  ['of which each excludes a value', (i: number) => `app!=v${i}`],
  ['that no object has all', (i: number) => `k${i}`],
])('lists 100 objects by a selector of 60,000 requirements %s', async (_, requirement) => {
  await manyConfigMaps()
  const selector = encodeURIComponent(many(60_000, requirement).join(','))
  expect((await send('GET', `${configMaps}?labelSelector=${selector}`)).status).toBe(200)
})

test('lists 100 objects by a field selector of 60,000 requirements', async () => {
  await manyConfigMaps()
  const fields = encodeURIComponent(many(60_000, (i) => `metadata.name!=x${i}`).join(','))
  expect((await send('GET', `${configMaps}?fieldSelector=${fields}`)).status).toBe(200)
})

test.each([
  ['a flat map', many(20_000, (i) => `k${i}: v${i}`).join('\n')],
  ['merge keys', `b: &b {x: 1}\n${'<<: *b\n'.repeat(40_000)}`],
  ['anchors', many(20_000, (i) => `k${i}: &a${i} v`).join('\n')],
  ['nested lists', `a: ${'['.repeat(300_000)}`],
])('refuses 64 KiB of YAML, %s, before reading it', async (_, text) => {
  const body = `${text}\n${'# '.repeat(Math.max(0, 131_073 - text.length / 2))}`
  const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const created = await send('POST', reviews, body, 'application/yaml')
  const applied = await send('PATCH', `${configMaps}/a?fieldManager=m`, body, 'application/apply-patch+yaml')
  expect([created.status, applied.status]).toEqual([413, 413])
  expect(created.text).toContain('limit is 65536 for YAML')
})

test('applies a megabyte of JSON that is sent as YAML', async () => {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'json' }, data: { text: 'x'.repeat(900_000) } }
  const { status } = await send('PATCH', `${configMaps}/json?fieldManager=m`, body, 'application/apply-patch+yaml')
  expect(status).toBe(201)
})

test('responds to a custom resource with 29,000 values outside an enum of 2,000 with a part of the errors', async () => {
  const schema = (fields: object): object => ({
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: fields } } },
  })
  const list = { type: 'array', items: { type: 'string', enum: many(2_000, (i) => `choice-${i}`) } }
  const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } }
  await using custom = await ApiServer.start({ controllers: ['crd'] })
  const request = async (path: string, body: object): Promise<number | [number, number]> => {
    const response = await custom.inject({ method: 'POST', path, user, body: body as never })
    return [response.status, response.bytes.length]
  }
  await request('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: schema({ list, set }) }],
    },
  })
  const thing = (spec: object): object => ({
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'thing' },
    spec,
  })
  const things = '/apis/example.com/v1/things'
  await eventually(async () => expect((await custom.inject({ method: 'GET', path: things, user })).status).toBe(200))
  const bad = (await request(things, thing({ list: many(29_000, (i) => `bad${i}`) }))) as [number, number]
  expect(bad[0]).toBe(422)
  expect(bad[1]).toBeLessThan(1_000_000)
  const twice = (await request(things, thing({ set: many(29_000, (i) => `v${i % 14_500}`) }))) as [number, number]
  expect(twice[0]).toBe(422)
  expect(twice[1]).toBeLessThan(1_000_000)
  const fine = (await request(things, thing({ set: many(20_000, (i) => `v${i}`) }))) as [number, number]
  expect(fine[0]).toBe(201)
})

const limit = 'an object may have 30000 fields and list items'

test.each<[what: string, method: string, type: string, body: object]>([
  ['a creation', 'POST', 'application/json', configMap({ data: named(30_000, () => 'v') })],
  ['an update', 'PUT', 'application/json', configMap({ data: named(30_000, () => 'v') }, { name: 'few' })],
  ['a merge patch', 'PATCH', 'application/merge-patch+json', { data: named(30_000, () => 'v') }],
  ['a strategic merge patch', 'PATCH', 'application/strategic-merge-patch+json', { data: named(30_000, () => 'v') }],
  [
    'a JSON patch',
    'PATCH',
    'application/json-patch+json',
    [{ op: 'add', path: '/data', value: named(30_000, () => 'v') }],
  ],
  ['an apply', 'PATCH', 'application/apply-patch+yaml', configMap({ data: named(30_000, () => 'v') }, { name: 'few' })],
  ['a body of 90,001 keys', 'POST', 'application/json', configMap(named(90_001, () => 1))],
])('refuses %s with more than 30,000 values', async (_, method, type, body) => {
  await send('POST', configMaps, configMap({}, { name: 'few' }))
  const path = method === 'POST' ? configMaps : `${configMaps}/few?fieldManager=m`
  const { status, text } = await send(method, path, body, type)
  expect({ status, text }).toEqual({ status: 413, text: expect.stringContaining(limit) as string })
})

test('refuses patches that together make an object of more than 30,000 values, and takes one that makes it smaller', async () => {
  const path = `${configMaps}/grown`
  const type = 'application/merge-patch+json'
  await send('POST', configMaps, configMap({ data: named(29_000, () => 'v') }, { name: 'grown' }))
  expect((await send('PATCH', path, { data: { one: 'v' } }, type)).status).toBe(200)
  const more = Object.fromEntries(many(2_000, (i) => [`m${i}`, 'v']))
  expect((await send('PATCH', path, { data: more }, type)).status).toBe(413)
  expect((await send('PATCH', path, { data: { k0: null } }, type)).status).toBe(200)
})

test('takes back a read object of 25,000 keys, managedFields included', async () => {
  await send('POST', configMaps, configMap({ data: named(25_000, () => 'v') }, { name: 'read' }))
  const { text } = await send('GET', `${configMaps}/read`)
  expect((await send('PUT', `${configMaps}/read`, text)).status).toBe(200)
})

test.each<[what: string, method: string, type: string, body: object]>([
  ['a creation', 'POST', 'application/json', configMap({ data: named(25_000, () => 'v') })],
  [
    'an apply',
    'PATCH',
    'application/apply-patch+yaml',
    configMap({ data: named(25_000, () => 'v') }, { name: 'turns' }),
  ],
])('serves other requests while it handles %s of 25,000 keys', async (_, method, type, body) => {
  let isWriting = true
  const path = method === 'POST' ? configMaps : `${configMaps}/turns?fieldManager=m`
  const write = send(method, path, body, type).finally(() => (isWriting = false))
  let served = 0
  while (isWriting) {
    await send('GET', '/version')
    served++
  }
  expect((await write).status).toBe(201)
  // In one piece, the write ends before the second of the others.
  expect(served).toBeGreaterThan(3)
})

test('reads YAML with 2,000 unindented lines in quotes no more often than its size allows', async () => {
  const body = `data:\n${many(2_000, (i) => `  k${i}: "a\nb"`).join('\n')}\n`
  const { status } = await send('POST', configMaps, body, 'application/yaml')
  expect(status).toBe(400)
})
