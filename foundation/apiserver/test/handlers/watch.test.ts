import { FakeClock } from '@fairlead/kube'
import type { WatchEvent } from '@fairlead/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TestApi } from '../support/api.ts'
import { OpenWatch } from '../support/open-watch.ts'

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start()
})
afterAll(() => api[Symbol.asyncDispose]())

const revision = (of: TestApi = api): string => String(of.server.store.revision)

test('a watch begins with the current objects and continues with changes', async () => {
  const maps = await api.namespace('watch-all')
  await api.post(maps, { metadata: { name: 'before' } })
  using watch = await OpenWatch.open(api, maps)
  await api.post(maps, { metadata: { name: 'after' } })
  await api.merge(`${maps}/after`, { data: { k: 'v' } })
  await api.delete(`${maps}/before`)
  expect(await watch.take(4)).toEqual(['ADDED before', 'ADDED after', 'MODIFIED after', 'DELETED before'])
})

test('a watch from a revision sends every later change once', async () => {
  const maps = await api.namespace('watch-resume')
  await api.post(maps, { metadata: { name: 'a' } })
  const since = revision()
  await api.post(maps, { metadata: { name: 'b' } })
  using watch = await OpenWatch.open(api, maps, { resourceVersion: since })
  await api.post(maps, { metadata: { name: 'c' } })
  expect(await watch.take(2)).toEqual(['ADDED b', 'ADDED c'])
})

test('a DELETED event has the last object with the revision of the deletion', async () => {
  const maps = await api.namespace('watch-delete')
  const made = await api.post(maps, { metadata: { name: 'a' }, data: { k: 'v' } })
  using watch = await OpenWatch.open(api, maps, { resourceVersion: revision() })
  await api.delete(`${maps}/a`)
  const event = await watch.next()
  expect({ type: event!.type, data: event!.object['data'] }).toEqual({ type: 'DELETED', data: { k: 'v' } })
  expect(Number(event!.object.metadata.resourceVersion)).toBeGreaterThan(Number(made.body.metadata['resourceVersion']))
})

test('entering a selection is ADDED, leaving it is DELETED with the object as last selected', async () => {
  const maps = await api.namespace('watch-selector')
  using watch = await OpenWatch.open(api, maps, { labelSelector: 'in=1', resourceVersion: revision() })
  await api.post(maps, { metadata: { name: 'a' } })
  await api.merge(`${maps}/a`, { metadata: { labels: { in: '1' } } })
  await api.merge(`${maps}/a`, { data: { k: 'v' } })
  await api.merge(`${maps}/a`, { metadata: { labels: { in: '2' } } })
  await api.delete(`${maps}/a`)
  await api.post(maps, { metadata: { name: 'last', labels: { in: '1' } } })
  const events = [await watch.next(), await watch.next(), await watch.next(), await watch.next()]
  expect(events.map((event) => [event!.type, event!.object.metadata.name, event!.object.metadata.labels])).toEqual([
    ['ADDED', 'a', { in: '1' }],
    ['MODIFIED', 'a', { in: '1' }],
    ['DELETED', 'a', { in: '1' }],
    ['ADDED', 'last', { in: '1' }],
  ])
})

test('a streaming list ends with the initial-events-end bookmark', async () => {
  const maps = await api.namespace('watch-list')
  await api.post(maps, { metadata: { name: 'a' } })
  using watch = await OpenWatch.open(api, maps, {
    sendInitialEvents: true,
    allowWatchBookmarks: true,
    resourceVersionMatch: 'NotOlderThan',
  })
  expect((await watch.next())!.type).toBe('ADDED')
  expect(await watch.next()).toEqual({
    type: 'BOOKMARK',
    object: {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { resourceVersion: revision(), annotations: { 'k8s.io/initial-events-end': 'true' } },
    },
  })
})

test('all watchers in process get the same frozen object', async () => {
  const maps = await api.namespace('watch-shared')
  using one = await OpenWatch.open(api, maps)
  using other = await OpenWatch.open(api, maps)
  await api.post(maps, { metadata: { name: 'a' } })
  const [first, second] = [await one.next(), await other.next()]
  expect(first!.object).toBe(second!.object)
  expect(Object.isFrozen(first!.object)).toBe(true)
})

test('the deprecated /watch/ path watches one name', async () => {
  const maps = await api.namespace('watch-old-path')
  using watch = await OpenWatch.open(api, '/api/v1/watch/namespaces/watch-old-path/configmaps/a', {
    resourceVersion: revision(),
  })
  await api.post(maps, { metadata: { name: 'b' } })
  await api.post(maps, { metadata: { name: 'a' } })
  expect(await watch.take(1)).toEqual(['ADDED a'])
})

describe('refusals and ends', () => {
  test('a watch from a compacted revision gets one 410 event and ends', async () => {
    const maps = await api.namespace('watch-expired')
    const since = revision()
    await api.post(maps, { metadata: { name: 'a' } })
    await api.server.store.compact(api.server.store.revision)
    const events = await api.events(`${maps}?watch=true&resourceVersion=${since}`)
    expect(events).toEqual([
      {
        type: 'ERROR',
        object: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `too old resource version: ${since} (${revision()})`,
          reason: 'Expired',
          code: 410,
        },
      },
    ])
  })

  test.each([
    ['resourceVersion=x', 500],
    ['fieldSelector=data.x%3D1', 400],
    ['resourceVersionMatch=NotOlderThan', 422],
    ['sendInitialEvents=true', 422],
  ])('%s is %i before anything is sent', async (query, status) => {
    expect((await api.get(`/api/v1/configmaps?watch=true&${query}`)).status).toBe(status)
  })

  test('a watch that accepts only YAML is not acceptable', async () => {
    expect((await api.get('/api/v1/configmaps?watch=true', { accept: 'application/yaml' })).status).toBe(406)
  })

  test('a watch sends bookmarks and ends at its timeout', async () => {
    const clock = new FakeClock()
    await using own = await TestApi.start({ clock, controllers: false })
    using watch = await OpenWatch.open(own, '/api/v1/configmaps', {
      timeoutSeconds: 200,
      allowWatchBookmarks: true,
      resourceVersion: revision(own),
    })
    const types: (string | undefined)[] = []
    for (let i = 0; i < 4; i++) {
      const next = watch.next()
      await clock.advance(65_000)
      types.push((await next)?.type)
    }
    expect(types).toEqual(['BOOKMARK', 'BOOKMARK', 'BOOKMARK', undefined])
  })

  test('a watcher that never reads gets 410 and the end', async () => {
    const maps = await api.namespace('watch-slow')
    using watch = await OpenWatch.open(api, maps, { resourceVersion: revision() })
    const first = watch.next()
    await api.post(maps, { metadata: { name: 'a' } })
    await first
    for (let batch = 0; batch < 21; batch++) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => api.merge(`${maps}/a`, { data: { k: `${batch}-${i}` } })))
    }
    let last: WatchEvent | undefined
    for (let event = await watch.next(); event !== undefined; event = await watch.next()) last = event
    expect({ type: last!.type, code: last!.object['code'] }).toEqual({ type: 'ERROR', code: 410 })
  })
})

test('a watch of Tables sends column definitions once', async () => {
  const maps = await api.namespace('watch-table')
  await api.post(maps, { metadata: { name: 'a' } })
  await api.post(maps, { metadata: { name: 'b' } })
  const events = await api.events(`${maps}?watch=true&timeoutSeconds=1`, {
    accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
  })
  expect(events.map(({ object }) => object['columnDefinitions'] === null)).toEqual([false, true])
})
