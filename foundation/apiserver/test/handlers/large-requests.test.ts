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
  ['22,000 owner references', configMaps, configMap({}, { ownerReferences: many(22_000, owner) })],
  ['22,000 equal owner references', configMaps, configMap({}, { ownerReferences: many(22_000, () => owner(1)) })],
  ['60,000 labels', configMaps, configMap({}, { labels: named(60_000, () => 'v') })],
  ['100,000 finalizers', configMaps, configMap({}, { finalizers: many(100_000, (i) => `a.b/f${i}`) })],
  ['250,000 unknown fields', configMaps, configMap(named(250_000, () => 1))],
  ['50,000 items of a volume', pods, volume({ configMap: { name: 'c', items: many(50_000, item) } })],
  ['50,000 equal items', pods, volume({ configMap: { name: 'c', items: many(50_000, () => item(1)) } })],
  [
    '40,000 nested items',
    pods,
    volume({ secret: { secretName: 's', items: many(40_000, (i) => ({ key: 'k', path: `a/b/c/${i}` })) } }),
  ],
  [
    '20,000 projected sources',
    pods,
    volume({ projected: { sources: many(20_000, (i) => ({ configMap: { name: 'c', items: [item(i)] } })) } }),
  ],
  [
    '25,000 topology constraints',
    pods,
    pod({
      topologySpreadConstraints: many(25_000, (i) => ({
        maxSkew: 1,
        topologyKey: `k${i}`,
        whenUnsatisfiable: 'DoNotSchedule',
      })),
    }),
  ],
  ['20,000 containers', pods, pod({ containers: many(20_000, (i) => ({ name: `c${i}`, image: 'i' })) })],
  ['30,000 volumes', pods, pod({ volumes: many(30_000, (i) => ({ name: `v${i}`, emptyDir: {} })) })],
  ['40,000 variables', pods, container({ env: many(40_000, (i) => ({ name: `E${i}`, value: 'v' })) })],
  ['40,000 equal variables', pods, container({ env: many(40_000, () => ({ name: 'E', value: 'v' })) })],
  ['30,000 ports', pods, container({ ports: many(30_000, (i) => ({ containerPort: 80, hostPort: 1 + i })) })],
  ['30,000 equal ports', pods, container({ ports: many(30_000, () => ({ containerPort: 80 })) })],
  [
    '15,000 mounts and devices',
    pods,
    container({
      volumeMounts: many(15_000, (i) => ({ name: `m${i}`, mountPath: `/m${i}` })),
      volumeDevices: many(15_000, (i) => ({ name: `d${i}`, devicePath: `/d${i}` })),
    }),
  ],
  ['30,000 tolerations', pods, pod({ tolerations: many(30_000, (i) => ({ key: `k${i}`, operator: 'Exists' })) })],
])('responds to an object with %s', async (_, path, body) => {
  const { status, length, warnings } = await send('POST', path, body)
  expect([201, 413, 422, 500]).toContain(status)
  if (status === 500) throw new Error('an internal error')
  expect(length).toBeLessThan(4_000_000)
  // The recorder of the real server stops at 4,096 code points, and the last warning may have 256.
  expect(warnings.join('').length).toBeLessThan(10_000)
})

test('patches 15,000 variables into 15,000 by their names', async () => {
  const env = (from: number): object[] => many(15_000, (i) => ({ name: `E${from + i}`, value: 'v' }))
  await send('POST', pods, { ...container({ env: env(0) }), metadata: { name: 'patched' } })
  const patch = { spec: { containers: [{ name: 'c', env: env(7_500) }] } }
  const { status } = await send('PATCH', `${pods}/patched`, patch, 'application/strategic-merge-patch+json')
  // The environment of a pod cannot be changed.
  expect(status).toBe(422)
  const deletions = {
    spec: { containers: [{ name: 'c', env: many(15_000, (i) => ({ name: `E${i}`, $patch: 'delete' })) }] },
  }
  expect((await send('PATCH', `${pods}/patched`, deletions, 'application/strategic-merge-patch+json')).status).toBe(422)
})

test.each([
  ['that no object may have', (i: number) => `!k${i}`],
  ['of which each excludes a value', (i: number) => `app!=v${i}`],
  ['that no object has all', (i: number) => `k${i}`],
])('lists 500 objects by a selector of 60,000 requirements %s', async (_, requirement) => {
  await Promise.all(many(500, (i) => send('POST', configMaps, configMap({}, { name: `s${i}`, labels: { app: 'a' } }))))
  const selector = encodeURIComponent(many(60_000, requirement).join(','))
  expect((await send('GET', `${configMaps}?labelSelector=${selector}`)).status).toBe(200)
  const fields = encodeURIComponent(many(60_000, (i) => `metadata.name!=x${i}`).join(','))
  expect((await send('GET', `${configMaps}?fieldSelector=${fields}`)).status).toBe(200)
})

test.each([
  ['a flat map', many(20_000, (i) => `k${i}: v${i}`).join('\n')],
  ['merge keys', `b: &b {x: 1}\n${'<<: *b\n'.repeat(40_000)}`],
  ['anchors', many(20_000, (i) => `k${i}: &a${i} v`).join('\n')],
  ['nested lists', `a: ${'['.repeat(300_000)}`],
])('refuses 256 KiB of YAML, %s, before reading it', async (_, text) => {
  const body = `${text}\n${'# '.repeat(Math.max(0, 131_073 - text.length / 2))}`
  const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const created = await send('POST', reviews, body, 'application/yaml')
  const applied = await send('PATCH', `${configMaps}/a?fieldManager=m`, body, 'application/apply-patch+yaml')
  expect([created.status, applied.status]).toEqual([413, 413])
  expect(created.text).toContain('limit is 262144 for YAML')
})

test('applies a megabyte of JSON that is sent as YAML', async () => {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'json' }, data: { text: 'x'.repeat(900_000) } }
  const { status } = await send('PATCH', `${configMaps}/json?fieldManager=m`, body, 'application/apply-patch+yaml')
  expect(status).toBe(201)
})

test('responds to a custom resource with 50,000 values outside an enum of 2,000 with a part of the errors', async () => {
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
  const bad = (await request(things, thing({ list: many(50_000, (i) => `bad${i}`) }))) as [number, number]
  expect(bad[0]).toBe(422)
  expect(bad[1]).toBeLessThan(1_000_000)
  const twice = (await request(things, thing({ set: many(60_000, (i) => `v${i % 30_000}`) }))) as [number, number]
  expect(twice[0]).toBe(422)
  expect(twice[1]).toBeLessThan(1_000_000)
  const fine = (await request(things, thing({ set: many(20_000, (i) => `v${i}`) }))) as [number, number]
  expect(fine[0]).toBe(201)
})
