// Long lists in every encoding: the same as the list in one piece, and other requests are served meanwhile.
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { ApiServer, decodeProtobuf } from '@fairlead/apiserver'
import type { InjectedResponse } from '@fairlead/apiserver'
import { parseYaml } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'

let server: ApiServer
const user = { name: 'admin', groups: ['system:masters'] }
const configMaps = '/api/v1/namespaces/default/configmaps'
const count = 30

beforeAll(async () => {
  server = await ApiServer.start({ controllers: false })
  const data = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`k${i}`, 'x\n'.repeat(100)]))
  for (let i = 0; i < count; i++)
    await server.inject({ method: 'POST', path: configMaps, user, body: { metadata: { name: `c${i}` }, data } })
})
afterAll(() => server[Symbol.asyncDispose]())
afterEach(() => void vi.restoreAllMocks())

function get(accept: string, query = ''): Promise<InjectedResponse> {
  return server.inject({ method: 'GET', path: `${configMaps}${query}`, user, headers: { accept } })
}

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const forms: readonly (readonly [what: string, accept: string, query: string])[] = [
  ['pretty JSON', 'application/json', '?pretty=true'],
  ['YAML', 'application/yaml', ''],
  ['protobuf', 'application/vnd.kubernetes.protobuf', ''],
  ['a Table with objects', table, '?includeObject=Object'],
  ['a Table as YAML', 'application/yaml;as=Table;v=v1;g=meta.k8s.io', ''],
]

test.each(forms)('serves other requests while it encodes a long list as %s', async (_, accept, query) => {
  // Each item takes long, however fast the machine is.
  let now = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 20))
  let isListing = true
  const list = get(accept, query).finally(() => (isListing = false))
  let served = 0
  while (isListing) {
    await server.inject({ method: 'GET', path: '/version', user })
    served++
  }
  expect((await list).status).toBe(200)
  // In one piece, the list ends before the second of the others.
  expect(served).toBeGreaterThan(4)
})

test('serves other requests while a watch sends the objects that exist', async () => {
  // Each object takes long, however fast the machine is.
  let now = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 20))
  const stop = new AbortController()
  const watch = server.inject({ method: 'GET', path: `${configMaps}?watch=true`, user, signal: stop.signal })
  for (let served = 0; served < 2; served++) await server.inject({ method: 'GET', path: '/version', user })
  stop.abort()
  // In one piece, all of them are sent before the second of the others is served.
  const events = (await watch).body.split('\n').length - 1
  expect(events).toBeLessThan(count)
})

function valueOf({ bytes, body }: InjectedResponse, accept: string): JsonObject {
  if (accept.includes('protobuf')) return decodeProtobuf(bytes)
  return (accept.includes('yaml') ? parseYaml(body) : JSON.parse(body)) as JsonObject
}

test.each(forms.slice(0, 3))('lists the same objects as %s and as compact JSON', async (_, accept, query) => {
  const whole = (await get('application/json', '?limit=2')).json() as { metadata: object; items: JsonObject[] }
  const { metadata, items } = valueOf(
    await get(accept, `${query === '' ? '?' : `${query}&`}limit=2`),
    accept,
  ) as unknown as typeof whole
  expect({ metadata, items: items.map((item) => item['data']) }).toEqual({
    metadata: expect.objectContaining(whole.metadata),
    items: whole.items.map((item) => item['data']),
  })
})

test('writes a list in YAML and pretty JSON as one value', async () => {
  const path = '/api/v1/namespaces'
  const send = async (accept: string, query = ''): Promise<string> =>
    (await server.inject({ method: 'GET', path: `${path}${query}`, user, headers: { accept } })).body
  const list = JSON.parse(await send('application/json')) as JsonObject
  expect(await send('application/json', '?pretty=true')).toBe(`${JSON.stringify(list, undefined, 2)}\n`)
  expect((await send('application/yaml')).split('\n').filter((line) => !line.startsWith(' '))).toEqual([
    'apiVersion: v1',
    'items:',
    ...(list['items'] as object[]).map(() => '- metadata:'),
    'kind: NamespaceList',
    'metadata:',
    '',
  ])
})

test.each(['application/json', 'application/yaml'])('writes an empty list as %s', async (accept) => {
  for (const query of ['', '&pretty=true']) {
    const response = await get(accept, `?labelSelector=none${query}`)
    const { items } = valueOf(response, accept)
    expect(items).toEqual([])
  }
})
