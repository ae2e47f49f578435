import { ApiServer } from '@fairlead/apiserver'
import type { InjectedResponse } from '@fairlead/apiserver'
import { FakeClock } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../support/api.ts'
import { failureOf, TestApi } from '../support/api.ts'

let api: TestApi
let maps: string
beforeAll(async () => {
  api = await TestApi.start()
  maps = await api.namespace('lists')
  for (const [name, labels] of [
    ['a', { app: 'x' }],
    ['b', { app: 'x', tier: 'b' }],
    ['c', { app: 'y' }],
    ['d', {}],
  ] as const) {
    await api.post(maps, { metadata: { name, labels }, data: { k: name } })
  }
})
afterAll(() => api[Symbol.asyncDispose]())

const names = ({ body }: Answer): unknown[] =>
  ((body['items'] ?? []) as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
const continueOf = ({ body }: Answer): string => body.metadata['continue'] as string

test('items of built-in kinds have no kind and apiVersion in JSON', async () => {
  const { body } = await api.get(`${maps}?fieldSelector=metadata.name%3Da`)
  const [item] = body['items'] as JsonObject[]
  expect(Object.keys(item!)).toEqual(['metadata', 'data'])
  expect({ kind: body['kind'], apiVersion: body['apiVersion'] }).toEqual({ kind: 'ConfigMapList', apiVersion: 'v1' })
})

test('in process the items of a list are the shared objects themselves', async () => {
  const transport = api.server.transport()
  const { body } = await transport.request({ method: 'GET', path: maps })
  const one = await transport.request({ method: 'GET', path: `${maps}/a` })
  expect((body as { items: unknown[] }).items[0]).toBe(one.body)
})

test('a list at resourceVersion 0 has no limit; it begins where a continue token says', async () => {
  const first = await api.get(`${maps}?limit=1`)
  const whole = await api.get(`${maps}?resourceVersion=0&limit=1`)
  expect([names(whole), whole.body.metadata['continue']]).toEqual([['a', 'b', 'c', 'd'], undefined])
  const rest = await api.get(`${maps}?resourceVersion=0&limit=1&continue=${continueOf(first)}`)
  expect([names(rest), rest.body.metadata['continue']]).toEqual([['b', 'c', 'd'], undefined])
})

test('a list is given up when its client leaves', async () => {
  const stop = new AbortController()
  const user = { name: 'admin', groups: ['system:masters'] }
  const headers = { accept: 'application/yaml' }
  const list = api.server.inject({ method: 'GET', path: maps, user, headers, signal: stop.signal })
  stop.abort(new Error('the client has left'))
  expect((await list).status).toBe(500)
})

test('a continue token of more than five minutes ago gets 410 on a server without writes', async () => {
  const clock = new FakeClock()
  await using idle = await ApiServer.start({ clock, controllers: false })
  const user = { name: 'admin', groups: ['system:masters'] }
  const send = (path: string, body?: JsonObject): Promise<InjectedResponse> =>
    idle.inject({ method: body === undefined ? 'GET' : 'POST', path, user, ...(body === undefined ? {} : { body }) })
  const path = '/api/v1/namespaces/default/configmaps'
  for (const name of ['a', 'b', 'c']) await send(path, { metadata: { name } })
  const first = (await send(`${path}?limit=1`)).json() as { metadata: { continue: string } }
  await clock.advance(60_000)
  await send('/api/v1/namespaces', { metadata: { name: 'other' } })
  const next = `${path}?limit=1&continue=${first.metadata.continue}`
  expect((await send(next)).status).toBe(200)
  await clock.advance(5 * 60_000 + 1)
  expect((await send(next)).status).toBe(410)
})

test.each([
  ['app=x', ['a', 'b']],
  ['app in (x,y),!tier', ['a', 'c']],
  ['app notin (x)', ['c', 'd']],
  ['app', ['a', 'b', 'c']],
  ['app!=x', ['c', 'd']],
])('label selector %s', async (selector, expected) => {
  expect(names(await api.get(`${maps}?labelSelector=${encodeURIComponent(selector)}`))).toEqual(expected)
})

test.each([
  ['metadata.name=b', ['b']],
  ['metadata.name!=b', ['a', 'c', 'd']],
  ['metadata.name=b,metadata.namespace=other', []],
  ['metadata.namespace=lists', ['a', 'b', 'c', 'd']],
])('field selector %s', async (selector, expected) => {
  expect(names(await api.get(`${maps}?fieldSelector=${encodeURIComponent(selector)}`))).toEqual(expected)
})

test('a field selector that is not supported is refused with the supported ones', async () => {
  expect(failureOf(await api.get(`${maps}?fieldSelector=data.k%3D1`))).toEqual({
    status: 400,
    reason: 'BadRequest',
    message: '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
  })
  expect((await api.get('/api/v1/pods?fieldSelector=spec.bogus%3D1')).body['message']).toBe(
    'field label not supported: spec.bogus',
  )
})

describe('pages', () => {
  test('all pages of a list have the revision of the first', async () => {
    const own = await api.namespace('pages')
    for (const name of ['a', 'b', 'c']) await api.post(own, { metadata: { name } })
    const first = await api.get(`${own}?limit=1`)
    expect({ names: names(first), left: first.body.metadata['remainingItemCount'] }).toEqual({ names: ['a'], left: 2 })
    await api.delete(`${own}/b`)
    await api.post(own, { metadata: { name: 'bb' } })
    const second = await api.get(`${own}?limit=5&continue=${continueOf(first)}`)
    expect(names(second)).toEqual(['b', 'c'])
    expect(second.body.metadata).toEqual({ resourceVersion: first.body.metadata['resourceVersion'] })
  })

  test('pages of a selection have no remainingItemCount', async () => {
    const first = await api.get(`${maps}?limit=1&labelSelector=app%3Dx`)
    expect({ names: names(first), left: first.body.metadata['remainingItemCount'] }).toEqual({
      names: ['a'],
      left: undefined,
    })
    expect(names(await api.get(`${maps}?limit=1&labelSelector=app%3Dx&continue=${continueOf(first)}`))).toEqual(['b'])
  })

  test('pages of every size add up to the whole list', async () => {
    const all = names(await api.get(maps))
    for (const limit of [1, 2, 3, 4, 5]) {
      const seen: unknown[] = []
      let query = `?limit=${limit}`
      for (;;) {
        const page = await api.get(`${maps}${query}`)
        seen.push(...names(page))
        if (page.body.metadata['continue'] === undefined) break
        query = `?limit=${limit}&continue=${continueOf(page)}`
      }
      expect(seen).toEqual(all)
    }
  })

  test('pages continue over all namespaces', async () => {
    const first = await api.get('/api/v1/configmaps?limit=2')
    const second = await api.get(`/api/v1/configmaps?limit=500&continue=${continueOf(first)}`)
    expect([...names(first), ...names(second)]).toEqual(names(await api.get('/api/v1/configmaps')))
  })

  test('an expired page is refused with a token for an inconsistent continuation', async () => {
    const first = await api.get(`${maps}?limit=1`)
    await api.post(maps, { metadata: { name: 'later' } })
    await api.server.store.compact(api.server.store.revision)
    const expired = await api.get(`${maps}?limit=1&continue=${continueOf(first)}`)
    expect({ status: expired.status, reason: expired.body['reason'] }).toEqual({ status: 410, reason: 'Expired' })
    expect(names(await api.get(`${maps}?limit=1&continue=${continueOf(expired)}`))).toEqual(['b'])
    await api.delete(`${maps}/later`)
  })

  test.each([
    '!!!',
    'bm90IGpzb24',
    Buffer.from('{"v":"meta.k8s.io/v9","rv":1,"start":"a"}').toString('base64url'),
    Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"../x"}').toString('base64url'),
  ])('with the token %s are refused', async (token) => {
    const { status, body } = await api.get(`${maps}?limit=1&continue=${encodeURIComponent(token)}`)
    expect(status).toBe(400)
    expect(body['message']).toMatch(/^invalid continue token: continue key is not valid: /)
  })
})

describe('resourceVersion', () => {
  test('resourceVersionMatch=Exact lists an old revision', async () => {
    const own = await api.namespace('versions')
    const made = await api.post(own, { metadata: { name: 'a' } })
    await api.post(own, { metadata: { name: 'b' } })
    const revision = made.body.metadata['resourceVersion'] as string
    expect(names(await api.get(`${own}?resourceVersion=${revision}&resourceVersionMatch=Exact`))).toEqual(['a'])
    expect(names(await api.get(`${own}?resourceVersion=${revision}`))).toEqual(['a', 'b'])
    expect(names(await api.get(`${own}?resourceVersion=0`))).toEqual(['a', 'b'])
  })

  test.each([
    [
      'resourceVersion=x',
      400,
      'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
    ],
    [
      'resourceVersionMatch=Exact',
      422,
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      'resourceVersion=0&resourceVersionMatch=Exact',
      422,
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      'sendInitialEvents=true',
      422,
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
    ],
    ['limit=x', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
  ])('%s is %i', async (query, status, message) => {
    const answer = await api.get(`${maps}?${query}`)
    expect({ status: answer.status, message: answer.body['message'] }).toEqual({ status, message })
  })

  test('a list waits for a future resourceVersion', async () => {
    const next = api.server.store.revision + 1
    const waiting = api.get(`${maps}?resourceVersion=${next}`)
    const { body } = await api.post(maps, { metadata: { name: 'awaited' } })
    expect(names(await waiting)).toContain('awaited')
    await api.delete(`${maps}/${body.metadata['name'] as string}`)
  })
})

describe('transformations', () => {
  const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'
  test('a Table of a list has columns, cells and metadata', async () => {
    const { body } = await api.get(`${maps}?limit=1`, { accept: table })
    expect((body['columnDefinitions'] as JsonObject[]).map(({ name }) => name)).toEqual(['Name', 'Data', 'Age'])
    const [row] = body['rows'] as { cells: unknown[]; object: JsonObject }[]
    expect(row!.cells.slice(0, 2)).toEqual(['a', 1])
    expect(Object.keys(row!.object)).toEqual(['kind', 'apiVersion', 'metadata'])
  })

  test.each([
    ['None', null],
    ['Object', 'ConfigMap'],
    ['Metadata', 'PartialObjectMetadata'],
  ])('includeObject=%s', async (include, kind) => {
    const { body } = await api.get(`${maps}/a?includeObject=${include}`, { accept: table })
    const [row] = body['rows'] as { object: JsonObject | null }[]
    expect(row!.object?.['kind'] ?? null).toBe(kind)
  })

  test('PartialObjectMetadata of an object and of a list has only metadata', async () => {
    const one = await api.get(`${maps}/a`, { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' })
    expect(Object.keys(one.body)).toEqual(['kind', 'apiVersion', 'metadata'])
    const many = await api.get(maps, { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' })
    expect(names(many)).toEqual(['a', 'b', 'c', 'd'])
    const mixedUp = await api.get(maps, { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' })
    expect(mixedUp.status).toBe(406)
  })
})

test.each([
  ['/api/v1/namespaces/default/events', '/apis/events.k8s.io/v1/namespaces/default/events'],
  [
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers',
  ],
])('%s is listed as %s too', async (path, other) => {
  const name = 'listed-twice'
  const body: JsonObject = path.endsWith('events')
    ? { metadata: { name }, involvedObject: { namespace: 'default' }, type: 'Normal' }
    : {
        metadata: { name },
        spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
      }
  expect((await api.post(path, body)).status).toBe(201)
  for (const at of [path, other]) {
    const { body: list } = await api.get(at)
    const items = list['items'] as JsonObject[]
    expect(items.map((item) => [Object.hasOwn(item, 'kind'), (item['metadata'] as JsonObject)['name']])).toEqual([
      [false, name],
    ])
  }
})
