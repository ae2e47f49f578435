import { ApiServer } from '@fairlead/apiserver'
import { ClientError, ConfigMap } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { InformerPool, Manager } from '@fairlead/controller'
import type { InformerState, KindUnavailable, ObjectChange } from '@fairlead/controller'
import { FakeClock, forbidden } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { Memcached, memcached, memcachedDefinition } from './support/memcached.ts'
import { recorded } from '../../../test/support/recorded-client.ts'
import type { RecordingTransport } from '../../../test/support/recorded-client.ts'
import { turns, until } from '../../../test/support/until.ts'

function configMap(name: string, labels: Record<string, string> = {}, namespace = 'default'): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name, labels } }
}

interface Setup extends AsyncDisposable {
  readonly outside: Client
  readonly client: Client
  readonly transport: RecordingTransport
  readonly clock: FakeClock
  readonly pool: InformerPool
}

async function start(): Promise<Setup> {
  const server = await ApiServer.start({ controllers: ['crd'] })
  const clock = new FakeClock()
  const { client, transport } = recorded(server.client(), clock)
  const pool = new InformerPool(client, clock)
  return {
    outside: server.client(),
    client,
    transport,
    clock,
    pool,
    [Symbol.asyncDispose]: async () => {
      await pool.stop()
      await server[Symbol.asyncDispose]()
    },
  }
}

const names = (objects: Iterable<KubeObject>): string[] =>
  [...objects].map((object) => object.metadata.name!).toSorted()
const watches = (transport: RecordingTransport): string[] =>
  transport.requests.filter((request) => request.startsWith('WATCH'))

describe('shared caches', () => {
  test('hold all objects, follow changes, and return the same object instances as the server', async () => {
    await using run = await start()
    await run.outside.create(configMap('a'))
    using use = run.pool.use(ConfigMap)
    expect([use.informer.state, await use.informer.waitForState(), names(use.informer.lastKnown.values())]).toEqual([
      'Syncing',
      'Synced',
      ['a'],
    ])
    const changes: string[] = []
    using _listening = use.informer.subscribe({
      changed: (change: ObjectChange) =>
        void changes.push(`${change.type} ${change.object.metadata.name} ${change.initial}`),
    })
    const written = await run.outside.create(configMap('b'))
    await until('b is cached', () => use.informer.lastKnown.get('default/b') !== undefined)
    await run.outside.delete(ConfigMap, 'default/a')
    await until('a is gone', () => use.informer.lastKnown.get({ namespace: 'default', name: 'a' }) === undefined)
    expect(changes).toEqual(['added a true', 'added b false', 'removed a false'])
    expect(use.informer.lastKnown.get('default/b')).toBe(written)
  })

  test('share one watch per kind and scope until a minute after the last user', async () => {
    await using run = await start()
    const uses = [
      run.pool.use(ConfigMap),
      run.pool.use({ apiVersion: 'v1', kind: 'ConfigMap' }),
      run.pool.use(ConfigMap, { labelSelector: { matchLabels: { a: '1' } } }),
      run.pool.use(ConfigMap, { labelSelector: 'a=1' }),
    ]
    await Promise.all(uses.map((use) => use.informer.waitForState()))
    await turns()
    expect([
      run.pool.size,
      watches(run.transport).length,
      uses[0]!.informer === uses[1]!.informer,
      uses[2]!.informer === uses[3]!.informer,
    ]).toEqual([2, 2, true, true])
    uses[0]![Symbol.dispose]()
    uses[0]![Symbol.dispose]()
    uses[2]![Symbol.dispose]()
    uses[3]![Symbol.dispose]()
    await run.clock.advance(59_000)
    expect(run.pool.size).toBe(2)
    await run.clock.advance(1_000)
    expect([run.pool.size, run.pool.peek(ConfigMap)?.state]).toEqual([1, 'Synced'])
    uses[1]![Symbol.dispose]()
    await run.clock.advance(30_000)
    using again = run.pool.use(ConfigMap)
    await run.clock.advance(90_000)
    expect([run.pool.size, again.informer === uses[1]!.informer]).toEqual([1, true])
  })

  test('read by namespace, selector and index, and update indexes as objects change', async () => {
    await using run = await start()
    await run.outside.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
    for (const [name, labels, namespace] of [
      ['a', { app: 'x' }, 'default'],
      ['b', { app: 'y' }, 'default'],
      ['c', { app: 'x' }, 'other'],
    ] as const)
      await run.outside.create(configMap(name, labels, namespace))
    using use = run.pool.use(ConfigMap)
    const { informer } = use
    await informer.waitForState()
    const byApp = (object: KubeObject): string[] => (object.metadata.labels?.app ? [object.metadata.labels.app] : [])
    informer.addIndex('app', byApp)
    informer.addIndex('app', byApp)
    expect(() => informer.addIndex('app', () => [])).toThrow('another index "app"')
    expect(() => informer.lastKnown.byIndex('none', 'x')).toThrow('no index "none"')
    expect([
      names(informer.lastKnown.list({ namespace: 'default' })),
      names(informer.lastKnown.list({ labelSelector: 'app=x' })),
      names(informer.lastKnown.list({ namespace: 'other', labelSelector: { matchLabels: { app: 'y' } } })),
      names(informer.lastKnown.byIndex('app', 'x')),
      informer.lastKnown.index('app').count('y'),
    ]).toEqual([['a', 'b'], ['a', 'c'], [], ['a', 'c'], 1])
    await run.outside.patch(ConfigMap, 'default/a', { merge: { metadata: { labels: { app: 'y' } } } })
    await run.outside.delete(ConfigMap, 'other/c')
    await until('c is gone', () => informer.lastKnown.get('other/c') === undefined)
    expect([
      names(informer.lastKnown.byIndex('app', 'x')),
      names(informer.lastKnown.byIndex('app', 'y')),
      names(informer.lastKnown.list({ namespace: 'other' })),
      [...informer.lastKnown.index('app').values()],
    ]).toEqual([[], ['a', 'b'], [], ['y']])
    expect(() => informer.lastKnown.list({ labelSelector: '!!' })).toThrow()
  })

  test('can be limited to a namespace or a field selector', async () => {
    await using run = await start()
    await run.outside.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
    for (const [name, namespace] of [
      ['a', 'default'],
      ['b', 'default'],
      ['a', 'other'],
    ] as const)
      await run.outside.create(configMap(name, {}, namespace))
    using one = run.pool.use(ConfigMap, { namespace: 'default' })
    using named = run.pool.use(ConfigMap, { fieldSelector: 'metadata.name=a' })
    await Promise.all([one.informer.waitForState(), named.informer.waitForState()])
    await run.outside.create(configMap('c', {}, 'other'))
    await run.outside.create(configMap('c'))
    await until('c is cached', () => one.informer.lastKnown.get('default/c') !== undefined)
    expect([
      [...one.informer.lastKnown.keys()],
      [...named.informer.lastKnown.keys()],
      names(one.informer.lastKnown.list({ namespace: 'default' })),
      one.informer.lastKnown.list({ namespace: 'other' }),
    ]).toEqual([['default/a', 'default/b', 'default/c'], ['default/a', 'other/a'], ['a', 'b', 'c'], []])
    expect(watches(run.transport)).toContain('WATCH /api/v1/namespaces/default/configmaps')
  })

  test('can be limited to metadata', async () => {
    await using run = await start()
    await run.outside.create({ ...configMap('a', { app: 'x' }), data: { secret: '1' } })
    using use = run.pool.use(ConfigMap, { metadataOnly: true })
    await use.informer.waitForState()
    const { data, metadata } = use.informer.lastKnown.get('default/a')!
    expect([data, metadata.labels]).toEqual([undefined, { app: 'x' }])
  })

  test('report a kind as Absent until its definition is created, then list it at once', async () => {
    await using run = await start()
    run.pool.watchDefinitions()
    using use = run.pool.use(Memcached)
    const states: InformerState[] = []
    using _listening = use.informer.subscribe({ state: (state) => void states.push(state) })
    expect(await use.informer.waitForState()).toBe('Absent')
    await run.outside.create(memcachedDefinition)
    await until('it is listed', () => use.informer.state === 'Synced')
    await run.outside.apply(memcached('a', { size: 1 }))
    await until('a is cached', () => use.informer.lastKnown.get('default/a') !== undefined)
    expect(states).toEqual(['Absent', 'Synced'])
  })

  test('report a kind as Forbidden, keep their objects, and continue when access is granted', async () => {
    await using run = await start()
    const { status } = forbidden(
      { group: '', plural: 'configmaps' },
      '',
      'User "x" cannot list resource "configmaps" in API group "" at the cluster scope',
    )
    run.transport.instead = (request) =>
      request.path.endsWith('/configmaps')
        ? { status: 403, headers: {}, body: status as never, warnings: [] }
        : undefined
    using use = run.pool.use(ConfigMap)
    expect(await use.informer.waitForState()).toBe('Forbidden')
    run.transport.instead = () => undefined
    await run.clock.advance(5000)
    await until('it is listed', () => use.informer.state === 'Synced')
    expect(use.informer.error).toBe(undefined)
  })
})

describe('a kind whose watch fails after it was synced', () => {
  const failing = { status: 500, headers: {}, body: null, warnings: [] }

  test('is Stale two seconds later, and stays so until a watch is open, though lists succeed', async () => {
    await using run = await start()
    await run.outside.create(configMap('a'))
    using use = run.pool.use(ConfigMap)
    const states: InformerState[] = []
    using _listening = use.informer.subscribe({ state: (state) => void states.push(state) })
    await use.informer.waitForState()
    run.transport.instead = (request) => (request.query?.['watch'] === true ? failing : undefined)
    await run.outside.create(memcachedDefinition)
    run.transport.closeWatches()
    await until('the watch was sent again', () => use.informer.error !== undefined)
    await run.clock.advance(1900)
    expect([use.informer.state, use.informer.staleSince]).toEqual(['Synced', undefined])
    const failedAt = run.clock.now() - 1900
    for (let second = 0; second < 20; second++) await run.clock.advance(1000)
    const read = use.informer.read()
    expect([
      use.informer.staleSince,
      read.known ? '' : read.reason.code,
      read.known ? '' : read.reason.message,
    ]).toEqual([failedAt, 'KindStale', expect.stringContaining('ConfigMap cannot be watched since 2026-01-01T00:00:0')])
    run.transport.instead = () => undefined
    await run.clock.advance(60_000)
    await until('it is watched again', () => use.informer.state === 'Synced')
    expect(states).toEqual(['Synced', 'Stale', 'Synced'])
  })

  test('does not wake readers while the server cannot be reached', async () => {
    await using run = await start()
    using use = run.pool.use(ConfigMap)
    const states: InformerState[] = []
    using _listening = use.informer.subscribe({ state: (state) => void states.push(state) })
    await use.informer.waitForState()
    run.transport.instead = () => {
      throw new ClientError('ConnectionFailed', 'connect ECONNREFUSED')
    }
    run.transport.closeWatches()
    for (let second = 0; second < 20; second++) await run.clock.advance(1000)
    expect([use.informer.state, use.informer.read().known, states]).toEqual(['Stale', false, ['Synced']])
    run.transport.instead = () => undefined
    for (let second = 0; second < 60; second++) await run.clock.advance(1000)
    await until('it is watched again', () => use.informer.state === 'Synced')
    expect(states).toEqual(['Synced', 'Synced'])
  })
})

describe('reading a kind that is not synced', () => {
  test('throws with the reason, and wakes when the kind is synced', async () => {
    await using run = await start()
    const seen: string[] = []
    const setup = (manager: Manager): unknown =>
      manager
        .controller('test')
        .for(ConfigMap, { labelSelector: 'mine=1' })
        .reconcile(async ({ read }) => {
          try {
            seen.push(`found ${(await read.list(Memcached)).length}`)
          } catch (error) {
            seen.push(`${(error as KindUnavailable).code}: ${(error as Error).message}`)
          }
        })
    await using _manager = await Manager.start({ client: run.client, clock: run.clock, setup })
    await run.outside.create(configMap('x', { mine: '1' }))
    await until('it ran', () => seen.length === 1)
    await run.outside.create(memcachedDefinition)
    await until('it ran again', () => seen.length === 2)
    await turns()
    expect(seen).toEqual([
      'KindAbsent: The server serves no Memcached.cache.example.com in cache.example.com/v1alpha1; install its CustomResourceDefinition or check the spelling',
      'found 0',
    ])
  })
})
