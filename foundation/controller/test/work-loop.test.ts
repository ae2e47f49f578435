import { ApiServer } from '@fairlead/apiserver'
import { Client, ConfigMap } from '@fairlead/client'
import { Manager, after } from '@fairlead/controller'
import type { WorkLoop } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { turns, until } from '../../../test/support/until.ts'

interface Group {
  readonly parent: string
  readonly key: string
}

test('custom items run round-robin over their groups, and are woken by what they read and not by what they wrote', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const runs: string[] = []
  let loop!: WorkLoop<Group>
  await using manager = await Manager.start({
    client: server.client(),
    setup: (of) => {
      loop = of.loop<Group>({
        name: 'groups',
        id: ({ parent, key }) => `${parent}/${key}`,
        group: ({ parent }) => parent,
        run: async ({ parent, key }, { client, read }) => {
          runs.push(`${parent}/${key}`)
          await read.get(ConfigMap, `default/in-${parent}`)
          await client.apply({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { namespace: 'default', name: `out-${parent}-${key}`, labels: { parent, key } },
            data: { run: String(runs.length) },
          })
        },
      })
      loop.watch(ConfigMap, ({ metadata: { labels = {} } }) =>
        labels.parent === undefined ? [] : [{ parent: labels.parent, key: labels.key! }],
      )
      for (const [parent, keys] of [
        ['a', '1234'],
        ['b', '12'],
        ['c', '1'],
      ] as const)
        for (const key of keys) loop.add({ parent, key })
    },
  })
  await until('all ran', () => runs.length === 7)
  await turns()
  expect(runs).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3', 'a/4'])
  runs.length = 0
  const client = server.client()
  await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'in-b' } })
  await until('its readers ran', () => runs.length === 2)
  await client.patch(ConfigMap, 'default/out-a-3', { merge: { data: { foreign: '1' } } })
  await until('the owner ran', () => runs.length === 3)
  await turns()
  expect(runs).toEqual(['b/1', 'b/2', 'a/3'])
  runs.length = 0
  loop.forget({ parent: 'b', key: '1' })
  await client.patch(ConfigMap, 'default/in-b', { merge: { data: { x: '1' } } })
  await until('the other reader ran', () => runs.length === 1)
  await turns()
  expect(runs).toEqual(['b/2'])
  await loop.stop()
  loop.add({ parent: 'a', key: '1' })
  await turns()
  expect([runs.length, manager.leads]).toEqual([1, true])
})

test('the name of a stopped loop can be used again', async () => {
  await using server = await ApiServer.start({ controllers: false })
  await using manager = await Manager.start({ client: server.client() })
  const options = { name: 'one', id: (item: string) => item, run: () => {} }
  const first = manager.loop(options)
  expect(() => manager.loop(options)).toThrow('There is a controller "one" already')
  await first.stop()
  await manager.loop(options).stop()
})

test('a disposed watch wakes no item; its cache stops a minute after the last user', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const clock = new FakeClock()
  await using manager = await Manager.start({
    client: new Client({ transport: server.client().transport, clock }),
    clock,
  })
  const runs: string[] = []
  const loop = manager.loop<string>({ name: 'one', id: (item) => item, run: (item) => void runs.push(item) })
  const before = manager.informers.size
  const scope = { labelSelector: 'mine=1' }
  const one = loop.watch(ConfigMap, ({ metadata }) => [`one ${metadata.name}`], scope)
  const other = loop.watch(ConfigMap, ({ metadata }) => [`other ${metadata.name}`], scope)
  await one.informer.waitForState()
  const put = async (name: string): Promise<void> => {
    const metadata = { namespace: 'default', name, labels: { mine: '1' } }
    await server.client().create({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
    await until('it is cached', () => other.informer.lastKnown.get(`default/${name}`))
    await turns()
  }
  await put('a')
  one[Symbol.dispose]()
  one[Symbol.dispose]()
  await put('b')
  expect([runs, manager.informers.size - before]).toEqual([['one a', 'other a', 'other b'], 1])
  other[Symbol.dispose]()
  await clock.advance(59_000)
  expect(manager.informers.size - before).toBe(1)
  await clock.advance(1000)
  expect(manager.informers.size - before).toBe(0)
})

test('watching a large cache delivers all its objects and yields to the event loop in between', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const client = server.client()
  const count = 1200
  const made = Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name: `n${index}` },
  }))
  await Promise.all(made.map((object) => client.create(object)))
  await using manager = await Manager.start({ client })
  using use = manager.use(ConfigMap)
  await use.informer.waitForState()
  const runs = new Set<string>()
  const loop = manager.loop<string>({ name: 'one', id: (item) => item, run: (item) => void runs.add(item) })
  let heard = 0
  loop.watch(ConfigMap, ({ metadata }) => {
    heard++
    return [metadata.name!]
  })
  const atOnce = heard
  await until('all ran', () => runs.size === count)
  expect([atOnce, heard]).toEqual([500, count])
})

test('an item is requeued at its time, or after its delay', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const clock = new FakeClock('2026-01-01T00:00:00Z')
  await using manager = await Manager.start({ client: server.client(), clock })
  const runs: string[] = []
  const wishes = [
    after(new Date('2026-01-01T00:01:00Z')),
    after('30s'),
    after(new Date('2025-01-01T00:00:00Z')),
    undefined,
  ]
  const loop = manager.loop<string>({
    name: 'one',
    id: (item) => item,
    run: () => {
      runs.push(new Date(clock.now()).toISOString().slice(11, 19))
      return wishes[runs.length - 1]
    },
  })
  loop.add('x')
  await until('it ran', () => runs.length === 1)
  for (let second = 0; second < 100; second++) {
    await clock.advance(1000)
    await turns()
  }
  expect(runs).toEqual(['00:00:00', '00:01:00', '00:01:30', '00:01:30'])
  expect(() => after(new Date('never'))).toThrow(RangeError)
})

test('changes take precedence over initial objects', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const client = server.client()
  const configMap = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name },
  })
  for (let index = 0; index < 20; index++) await client.create(configMap(`old-${index}`))
  const runs: string[] = []
  let go = (): void => {}
  await using manager = await Manager.start({ client })
  const { informer } = manager
    .controller('one')
    .for(ConfigMap)
    .reconcile(async ({ key }) => {
      runs.push(key.name)
      if (runs.length === 1) await new Promise<void>((resolve) => (go = resolve))
    })
  await until('the first runs', () => runs.length === 1)
  await client.create(configMap('new'))
  await client.patch(ConfigMap, 'default/old-15', { merge: { data: { a: '1' } } })
  await until('the changes are known', () => informer.lastKnown.get('default/old-15')?.data?.a === '1')
  go()
  await until('all ran', () => runs.length === 21)
  expect([runs.slice(1, 3), new Set(runs).size]).toEqual([['new', 'old-15'], 21])
})

test('changes that arrive in one burst while a worker is idle cost one run', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const runs: string[] = []
  let loop!: WorkLoop<string>
  await using _manager = await Manager.start({
    client: server.client(),
    setup: (of) => {
      loop = of.loop<string>({ name: 'bursts', id: (item) => item, run: (item) => void runs.push(item) })
    },
  })
  await turns()
  for (const item of ['a', 'a', 'b', 'a']) loop.add(item)
  await turns()
  expect(runs).toEqual(['a', 'b'])
})
