// The limit on the bytes of live objects: what is refused at it, what goes on, and what counts.
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, memory, sqlite } from '@fairlead/apiserver'
import type { InjectedRequest } from '@fairlead/apiserver'
import type { JsonObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'

const user = { name: 'admin', groups: ['system:masters'] }
const path = '/api/v1/namespaces/default/configmaps'
const configMap = (name: string, bytes: number, metadata: JsonObject = {}): JsonObject => ({
  metadata: { name, ...metadata },
  data: { text: 'x'.repeat(bytes) },
})

async function send(server: ApiServer, request: Omit<InjectedRequest, 'user'>): Promise<[number, JsonObject]> {
  const response = await server.inject({ ...request, user })
  return [response.status, response.json() as JsonObject]
}

/** Starts a server whose store has room for the objects of the start and `room` bytes. */
async function startWith(room: number, makeStorage = memory): Promise<ApiServer> {
  const store = await makeStorage().open()
  await using probe = await ApiServer.start({ storage: store, controllers: false })
  await probe.inject({ method: 'GET', path, user })
  return ApiServer.start({ storage: makeStorage({ maxStoredBytes: store.bytes!.live + room }), controllers: false })
}

describe('a store at its limit of bytes', () => {
  test('refuses writes that add bytes with 507, and serves reads, deletes and writes that do not', async () => {
    await using server = await startWith(10_000)
    const update = (name: string, bytes: number) =>
      send(server, { method: 'PUT', path: `${path}/${name}`, body: configMap(name, bytes) })
    expect((await send(server, { method: 'POST', path, body: configMap('a', 8000) }))[0]).toBe(201)
    const [status, refused] = await send(server, { method: 'POST', path, body: configMap('b', 8000) })
    expect([status, refused['reason']]).toEqual([507, 'InsufficientStorage'])
    expect(refused['message']).toMatch(
      /^The change of configmaps\. default\/b could not be stored: database space exceeded: live objects take \d+ of \d+ bytes$/,
    )
    expect((await update('a', 20_000))[0]).toBe(507)
    expect((await send(server, { method: 'GET', path: `${path}/a` }))[0]).toBe(200)
    expect((await update('a', 8000))[0]).toBe(200)
    expect((await update('a', 4000))[0]).toBe(200)
    expect((await update('a', 8000))[0]).toBe(200)
    expect((await send(server, { method: 'DELETE', path: `${path}/a` }))[0]).toBe(200)
    expect((await send(server, { method: 'POST', path, body: configMap('b', 8000) }))[0]).toBe(201)
  })

  test('lets an object with finalizers be deleted', async () => {
    await using server = await startWith(1000)
    const body = configMap('a', 300, { finalizers: ['test.dev/keep'] })
    expect((await send(server, { method: 'POST', path, body }))[0]).toBe(201)
    let filler = 0
    while ((await send(server, { method: 'POST', path, body: configMap(`filler-${filler}`, 0) }))[0] === 201) filler++
    const deleted = await send(server, { method: 'DELETE', path: `${path}/a` })
    expect([deleted[0], (deleted[1]['metadata'] as JsonObject)['deletionTimestamp']]).toEqual([200, expect.any(String)])
    const released = { metadata: { name: 'a', finalizers: [] } }
    expect((await send(server, { method: 'PUT', path: `${path}/a`, body: released }))[0]).toBe(200)
    expect((await send(server, { method: 'GET', path: `${path}/a` }))[0]).toBe(404)
  })

  test('counts writes that are pending together, and not those that failed', async () => {
    await using server = await startWith(11_000)
    const creations = await Promise.all(
      Array.from({ length: 20 }, (_, n) => send(server, { method: 'POST', path, body: configMap(`c${n}`, 3000) })),
    )
    expect(creations.filter(([status]) => status === 201)).toHaveLength(3)
    expect(creations.filter(([status]) => status === 507)).toHaveLength(17)
  })
})

test('the bytes of a store are those of its live objects, also after it was opened again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-bytes-'))
  let live = 0
  for (const step of ['write', 'read']) {
    const store = await sqlite(folder).open()
    await using server = await ApiServer.start({ storage: store, controllers: false })
    if (step === 'write') {
      for (const name of ['a', 'b']) await send(server, { method: 'POST', path, body: configMap(name, 5000) })
      await send(server, { method: 'PUT', path: `${path}/a`, body: configMap('a', 1000) })
      await send(server, { method: 'DELETE', path: `${path}/b` })
      live = store.bytes!.live
    } else expect(store.bytes!.live).toBe(live)
    const entries = await Array.fromAsync(store.snapshot())
    const bytes = entries.reduce((sum, { object }) => sum + Buffer.byteLength(JSON.stringify(object)), 0)
    expect(store.bytes!.live).toBe(bytes)
    const metrics = await server.inject({ method: 'GET', path: '/metrics', user })
    expect(metrics.body).toContain(`apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} ${bytes}`)
  }
})

test('history is compacted by bytes, so that one object updated often does not fill the memory', async () => {
  const store = await memory({ window: { bytes: 100_000 } }).open()
  await using server = await ApiServer.start({ storage: store, controllers: false })
  const [, created] = await send(server, { method: 'POST', path, body: configMap('a', 10_000) })
  for (let n = 0; n < 30; n++)
    await send(server, {
      method: 'PUT',
      path: `${path}/a`,
      body: { ...configMap('a', 10_000), data: { n: `${n}`, text: 'x'.repeat(10_000) } },
    })
  const since = String((created['metadata'] as JsonObject)['resourceVersion'])
  expect(
    (await send(server, { method: 'GET', path: `${path}?resourceVersion=${since}&resourceVersionMatch=Exact` }))[0],
  ).toBe(410)
})
