import { ConfigMap, KubeEvent, Secret } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import {
  Manager,
  RemoteError,
  after,
  generationChanged,
  hasFinalizer,
  labelsChanged,
  terminal,
} from '@fairlead/controller'
import type { ReconcileContext, Result } from '@fairlead/controller'
import { formatKey, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { describeClusters } from '../../../test/support/clusters.ts'
import { recorded } from '../../../test/support/recorded-client.ts'
import type { RecordingTransport } from '../../../test/support/recorded-client.ts'
import { turns, until } from '../../../test/support/until.ts'

/**
 * Of the cluster at hand, and the value of a label that only its objects have: a real cluster keeps what earlier tests
 * left.
 */
let namespace = ''
let mine = { matchLabels: { mine: '' } }
let labels = { labels: mine.matchLabels }

function configMap(name: string, data: Record<string, string> = {}, metadata: KubeObject['metadata'] = {}): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name, ...metadata }, data }
}

/** The key of a name in the namespace. */
function at(name: string): string {
  return `${namespace}/${name}`
}

function secret(name: string, stringData: Record<string, string> = {}, labels: Record<string, string> = {}): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name, labels }, stringData }
}

interface Setup extends AsyncDisposable {
  /** Someone else. */
  readonly client: Client
  readonly transport: RecordingTransport
  readonly manager: Manager
  /** Resolves when the events of all that was written before have arrived. */
  arrived(): Promise<void>
  /** Resolves when nothing is under way: no request, and no event that was caused before. */
  settled(): Promise<void>
}

type Run = (context: ReconcileContext<ConfigMap>) => Promise<Result> | Result

describeClusters(({ open }) => {
  async function start(
    setup: (manager: Manager) => unknown,
    prepare: (client: Client) => Promise<unknown> = async () => {},
  ): Promise<Setup> {
    const cluster = await open({ controllers: false })
    const { outside } = cluster
    namespace = cluster.namespace
    mine = { matchLabels: { mine: namespace } }
    labels = { labels: mine.matchLabels }
    await prepare(outside)
    const { client, transport } = recorded(cluster.client)
    const manager = await Manager.start({ client, setup })
    const close = async (): Promise<void> => {
      await manager.stop()
      await cluster[Symbol.asyncDispose]()
    }
    const caches = [manager.use(ConfigMap).informer, manager.use(Secret).informer]
    await Promise.all(caches.map((informer) => informer.waitForState()))
    let rounds = 0
    const arrived = async (): Promise<void> => {
      const name = `marker-${++rounds}`
      await outside.create(configMap(name))
      await outside.create(secret(name))
      await until('the markers arrived', () =>
        caches.every((informer) => informer.lastKnown.get(at(name)) !== undefined),
      )
      await turns()
    }
    const settled = async (): Promise<void> => {
      for (let round = 0; round < 3; round++) {
        await arrived()
        await until('no request was under way', () => transport.inFlight === 0)
      }
    }
    return { client: outside, transport, manager, arrived, settled, [Symbol.asyncDispose]: close }
  }

  describe('a controller', () => {
    test('reconciles every object once at start, then changed objects', async () => {
      const runs: string[] = []
      await using run = await start(
        (manager) =>
          manager
            .controller('test')
            .for(ConfigMap, { labelSelector: mine })
            .reconcile(({ object, key }) => void runs.push(`${formatKey(key)}=${object.data?.a}`)),
        async (client) => {
          for (const name of ['x', 'y']) await client.create(configMap(name, { a: '1' }, labels))
          await client.create(configMap('other'))
        },
      )
      await until('both ran', () => runs.length === 2)
      await run.client.patch(ConfigMap, at('x'), { merge: { data: { a: '2' } } })
      await until('the change ran', () => runs.length === 3)
      await run.settled()
      expect(runs.toSorted()).toEqual(['x=1', 'x=2', 'y=1'].map((line) => at(line)))
    })

    test('a change of an owned object enqueues its owner only', async () => {
      const runs: string[] = []
      const make: Run = async ({ object, client }) => {
        runs.push(object.metadata.name!)
        await client.apply(secret(`${object.metadata.name}-child`, { a: object.data?.a ?? '' }), { owner: object })
      }
      await using run = await start(
        (manager) => manager.controller('test').for(ConfigMap, { labelSelector: mine }).owns(Secret).reconcile(make),
        async (client) => {
          for (const name of ['x', 'y']) await client.create(configMap(name, { a: '1' }, labels))
        },
      )
      await until('both ran', () => runs.length === 2)
      await run.settled()
      expect(runs.toSorted()).toEqual(['x', 'y'])
      await run.client.patch(Secret, at('x-child'), { merge: { data: { a: null } } })
      await run.client.waitFor(Secret, at('x-child'), (child) => child.data?.a === Buffer.from('1').toString('base64'))
      await run.settled()
      expect(runs.toSorted()).toEqual(['x', 'x', 'y'])
    })

    test('own writes do not wake the object, whether response or event arrives first; foreign changes during a write do', async () => {
      const runs: string[] = []
      let meddle = false
      const write: Run = async ({ object, client }) => {
        runs.push(object.data?.foreign ?? '-')
        await client.patch(ConfigMap, at('x'), { merge: { data: { own: String(runs.length) } } })
      }
      await using run = await start((manager) =>
        manager.controller('test').for(ConfigMap, { labelSelector: mine }).reconcile(write),
      )
      run.transport.after = async (request) => {
        if (request.method !== 'PATCH') return
        if (meddle) await run.client.patch(ConfigMap, at('x'), { merge: { data: { foreign: 'yes' } } })
        meddle = false
        // The events of our write, and of the foreign one, are delivered before our answer.
        await run.arrived()
      }
      await run.client.create(configMap('x', {}, labels))
      await until('it ran', () => runs.length === 1)
      await run.settled()
      expect(runs).toEqual(['-'])
      meddle = true
      await run.client.patch(ConfigMap, at('x'), { merge: { data: { more: '1' } } })
      await until('the foreign change ran', () => runs.length === 3)
      await run.settled()
      await run.settled()
      expect(runs).toEqual(['-', '-', 'yes'])
    })

    test('own writes do not wake an object that also reads what it writes', async () => {
      const runs: string[] = []
      const write: Run = async ({ object, client, read }) => {
        runs.push(object.metadata.name!)
        await read.get(Secret, at('x-child'))
        await read.list(Secret, { labelSelector: 'app=x' })
        await client.apply(secret('x-child', { a: object.data?.a ?? '' }, { app: 'x' }), { owner: object })
      }
      await using run = await start((manager) =>
        manager.controller('test').for(ConfigMap, { labelSelector: mine }).owns(Secret).reconcile(write),
      )
      await run.client.create(configMap('x', { a: '1' }, labels))
      await until('it ran', () => runs.length === 1)
      await run.settled()
      await run.client.patch(ConfigMap, at('x'), { merge: { data: { a: '2' } } })
      await until('it ran again', () => runs.length === 2)
      await run.settled()
      await run.client.patch(Secret, at('x-child'), { merge: { metadata: { labels: { app: 'y' } } } })
      await until('the foreign change ran', () => runs.length === 3)
      await run.settled()
      expect(runs.length).toBe(3)
    })

    test('a changed mapping enqueues the old and the new key', async () => {
      const runs: string[] = []
      const users = (of: Secret): string[] => [at(of.metadata.labels?.user ?? '')]
      await using run = await start(
        (manager) =>
          manager
            .controller('test')
            .for(ConfigMap, { labelSelector: mine })
            .watches(Secret, users)
            .reconcile(({ key }) => void runs.push(key.name)),
        async (client) => {
          for (const name of ['x', 'y', 'z']) await client.create(configMap(name, {}, labels))
          await client.create(secret('s', {}, { user: 'x' }))
        },
      )
      await until('all ran', () => runs.length >= 3)
      await run.settled()
      runs.length = 0
      await run.client.patch(Secret, at('s'), { merge: { metadata: { labels: { user: 'y' } } } })
      await until('both ran', () => runs.length === 2)
      expect(runs.toSorted()).toEqual(['x', 'y'])
    })

    test('a change of a read object wakes the reader, existing or not, by key or selector, until a run no longer reads it', async () => {
      const runs: string[] = []
      const look: Run = async ({ object, read }) => {
        const one = await read.get(Secret, at(object.data?.use ?? ''))
        const several = await read.list(Secret, { labelSelector: `group=${object.data?.use}`, namespace })
        runs.push(`${one?.metadata.name ?? 'none'}+${several.length}`)
      }
      await using run = await start((manager) =>
        manager.controller('test').for(ConfigMap, { labelSelector: mine }).reconcile(look),
      )
      await run.client.create(configMap('x', { use: 'a' }, labels))
      const ran = (count: number): Promise<unknown> => until(`run ${count}`, () => runs.length === count)
      await ran(1)
      await run.client.create(secret('a'))
      await ran(2)
      await run.client.create(secret('k', {}, { group: 'a' }))
      await ran(3)
      await run.client.patch(Secret, at('k'), { merge: { metadata: { labels: { group: 'other' } } } })
      await ran(4)
      await run.client.create(secret('unread', {}, { group: 'other' }))
      await run.client.patch(ConfigMap, at('x'), { merge: { data: { use: 'b' } } })
      await ran(5)
      await run.client.delete(Secret, at('a'))
      await run.client.create(secret('b'))
      await ran(6)
      await run.settled()
      expect(runs).toEqual(['none+0', 'a+0', 'a+1', 'a+0', 'none+0', 'b+0'])
    })

    test('a change between a read and the end of its run wakes the reader', async () => {
      const runs: string[] = []
      let go: () => void = () => {}
      const look: Run = async ({ read }) => {
        const value = (await read.get(Secret, at('a')))?.metadata.name ?? 'none'
        if (runs.length === 0) await new Promise<void>((resolve) => (go = resolve))
        runs.push(value)
      }
      await using run = await start((manager) =>
        manager.controller('test').for(ConfigMap, { labelSelector: mine }).reconcile(look),
      )
      const first = go
      await run.client.create(configMap('x', {}, labels))
      await until('it read', () => go !== first)
      await run.client.create(secret('a'))
      await run.settled()
      go()
      await until('it ran again', () => runs.length === 2)
      expect(runs).toEqual(['none', 'a'])
    })

    test('a failure is retried with backoff, recorded as an event, and reset by success', async () => {
      let failures = 3
      const fail: Run = () => {
        if (failures-- > 0) throw new Error('no luck')
      }
      await using run = await start((manager) =>
        manager.controller('test').for(ConfigMap, { labelSelector: mine }).reconcile(fail),
      )
      await run.client.create(configMap('x', {}, labels))
      await until('it succeeded', () => failures === -1)
      await run.manager.recorder('test').flush()
      const { items } = await run.client.list(KubeEvent, { namespace })
      expect(
        items.map(({ type, reason, note, reportingController, action, regarding, series }) => ({
          type,
          reason,
          note,
          reportingController,
          action,
          name: regarding?.name,
          series: series?.count,
        })),
      ).toEqual([
        {
          type: 'Warning',
          reason: 'ReconcileFailed',
          note: 'no luck',
          reportingController: 'test',
          action: 'Reconcile',
          name: 'x',
          series: 3,
        },
      ])
      expect(await run.manager.metrics.text()).toMatch(
        /controller_runtime_reconcile_total\{controller="test",result="error"\} 3\n[^]*workqueue_retries_total\{name="test",controller="test"\} 3\n/,
      )
    })

    test('a terminal failure is not retried until something changes', async () => {
      const runs: string[] = []
      const fail: Run = ({ object }) => {
        runs.push(object.data?.a ?? '')
        throw terminal('a must be 2', { reason: 'InvalidA' })
      }
      await using run = await start((manager) =>
        manager.controller('test').for(ConfigMap, { labelSelector: mine }).reconcile(fail),
      )
      await run.client.create(configMap('x', { a: '1' }, labels))
      await until('it ran', () => runs.length === 1)
      await run.settled()
      await run.client.patch(ConfigMap, at('x'), { merge: { data: { a: '2' } } })
      await until('it ran again', () => runs.length === 2)
      await run.settled()
      expect(runs).toEqual(['1', '2'])
      await run.manager.recorder('test').flush()
      expect(
        (await run.client.list(KubeEvent, { namespace })).items.map((event) => [event.reason, event.note]),
      ).toEqual([['InvalidA', 'a must be 2']])
    })

    test('after() requeues later', async () => {
      let runs = 0
      await using run = await start((manager) =>
        manager
          .controller('test')
          .for(ConfigMap, { labelSelector: mine })
          .reconcile(() => (++runs < 3 ? after('1ms') : undefined)),
      )
      await run.client.create(configMap('x', {}, labels))
      await until('it came back twice', () => runs === 3)
    })

    test('a success at an endpoint retries work that failed there', async () => {
      const runs: string[] = []
      const endpoint = 'https://hooks.test/a'
      let up = false
      const call: Run = ({ key }) => {
        runs.push(key.name)
        if (!up) throw new RemoteError('HookFailed', 'down', { endpoint, retryAfter: 1_000_000 })
      }
      await using run = await start((manager) =>
        manager.controller('test').for(ConfigMap, { labelSelector: mine }).reconcile(call),
      )
      for (const name of ['x', 'y']) await run.client.create(configMap(name, {}, labels))
      await until('both failed', () => runs.length === 2)
      await run.settled()
      up = true
      run.manager.endpoints.succeeded('https://hooks.test/other')
      await run.settled()
      expect(runs.length).toBe(2)
      run.manager.endpoints.succeeded(endpoint)
      await until('both ran again', () => runs.length === 4)
    })

    test('a key without an object is skipped, or passed to onDeleted', async () => {
      const seen: string[] = []
      await using run = await start((manager) => {
        manager
          .controller('skips')
          .for(ConfigMap, { labelSelector: mine })
          .reconcile(({ key }) => void seen.push(`skips ${key.name}`))
        manager
          .controller('asks')
          .for(ConfigMap, { labelSelector: mine })
          .onDeleted(({ key }) => void seen.push(`gone ${key.name}`))
          .reconcile(() => {})
      })
      await run.client.create(configMap('x', {}, labels))
      await until('it was seen', () => seen.length === 1)
      await run.client.delete(ConfigMap, at('x'))
      await until('it was gone', () => seen.length === 2)
      await run.settled()
      expect(seen).toEqual(['skips x', 'gone x'])
    })

    test('a finalizer is added before the first run and removed after the cleanup has succeeded', async () => {
      const seen: string[] = []
      let refusals = 2
      await using run = await start((manager) =>
        manager
          .controller('test')
          .for(ConfigMap, { labelSelector: mine })
          .finalizer('example.com/cleanup', ({ key }) => {
            seen.push(`cleanup ${key.name}`)
            if (refusals-- > 0) throw new Error('not yet')
          })
          .reconcile(({ object }) => void seen.push(`run ${hasFinalizer(object, 'example.com/cleanup')}`)),
      )
      await run.client.create(configMap('x', {}, { ...labels, finalizers: ['example.com/other'] }))
      await until('it ran', () => seen.length === 1)
      await run.client.delete(ConfigMap, at('x'))
      await run.client.waitFor(ConfigMap, at('x'), (object) => object.metadata.finalizers?.length === 1)
      await run.settled()
      expect(seen).toEqual(['run true', 'cleanup x', 'cleanup x', 'cleanup x'])
      await run.client.patch(ConfigMap, at('x'), { merge: { metadata: { finalizers: null } } })
      await run.client.waitForDeletion(ConfigMap, at('x'))
    })

    test('changes that predicates filter out do not enqueue the object', async () => {
      const runs: string[] = []
      await using run = await start((manager) => {
        manager
          .controller('labels')
          .for(ConfigMap, { labelSelector: mine })
          .withOptions({ predicates: [labelsChanged] })
          .reconcile(() => void runs.push('labels'))
        manager
          .controller('generation')
          .for(ConfigMap, { labelSelector: mine, when: generationChanged })
          .reconcile(() => void runs.push('generation'))
      })
      await run.client.create(configMap('x', {}, labels))
      await until('both ran', () => runs.length === 2)
      await run.client.patch(ConfigMap, at('x'), { merge: { data: { a: '2' } } })
      await run.client.patch(ConfigMap, at('x'), { merge: { metadata: { labels: { more: '1' } } } })
      await until('labels ran', () => runs.length === 3)
      await run.settled()
      expect(runs.slice(2)).toEqual(['labels'])
    })

    test('runs at most `concurrency` objects at a time', async () => {
      let [active, most, runs] = [0, 0, 0]
      await using run = await start(
        (manager) =>
          manager
            .controller('test')
            .for(ConfigMap, { labelSelector: mine })
            .withOptions({ concurrency: 3 })
            .reconcile(async () => {
              most = Math.max(most, ++active)
              await turns()
              active--
              runs++
            }),
        async (client) => {
          for (let i = 0; i < 10; i++) await client.create(configMap(`x${i}`, {}, labels))
        },
      )
      await until('all ran', () => runs === 10)
      expect([most, run.manager.leads]).toEqual([3, true])
    })

    test('stopping waits for the run in progress', async () => {
      const seen: string[] = []
      let go: () => void = () => {}
      await using run = await start((manager) =>
        manager
          .controller('test')
          .for(ConfigMap, { labelSelector: mine })
          .reconcile(async () => {
            seen.push('begins')
            await new Promise<void>((resolve) => (go = resolve))
            seen.push('ends')
          }),
      )
      for (const name of ['x', 'y']) await run.client.create(configMap(name, {}, labels))
      await until('it began', () => seen.length === 1)
      const stopping = run.manager.stop().then(() => seen.push('stopped'))
      await turns()
      go()
      await stopping
      expect(seen).toEqual(['begins', 'ends', 'stopped'])
    })

    test('a second controller of a name is refused', async () => {
      await expect(
        start((manager) => {
          manager
            .controller('test')
            .for(ConfigMap)
            .reconcile(() => {})
          manager
            .controller('test')
            .for(Secret)
            .reconcile(() => {})
        }),
      ).rejects.toThrow('There is a controller "test" already')
    })
  })

  describe('applying what a controller owns', () => {
    const child = (of: ConfigMap): ConfigMap => configMap(`${of.metadata.name}-child`, { a: of.data?.a ?? '' })
    const make: Run = async ({ object, client }) => void (await client.apply(child(object), { owner: object }))
    const setup = (manager: Manager): unknown =>
      manager.controller('test').for(ConfigMap, { labelSelector: mine }).owns(ConfigMap).reconcile(make)

    test('sends one GET and one apply to create, one apply to change, and nothing when nothing changed', async () => {
      await using run = await start(setup)
      await run.client.create(configMap('x', { a: '1' }, labels))
      const made = await run.client.waitFor(ConfigMap, at('x-child'), (object) => object.data?.a === '1')
      expect([
        made.metadata.ownerReferences?.[0]?.name,
        made.metadata.managedFields?.map((entry) => [entry.manager, entry.operation]),
      ]).toEqual(['x', [['fairlead-test', 'Apply']]])
      await run.settled()
      const object = `/api/v1/namespaces/${namespace}/configmaps/x-child`
      expect(run.transport.take().filter((request) => request.endsWith('/x-child'))).toEqual([
        `GET ${object}`,
        `PATCH ${object}`,
      ])
      await run.client.patch(ConfigMap, at('x'), { merge: { data: { a: '2' } } })
      await run.client.waitFor(ConfigMap, at('x-child'), (one) => one.data?.a === '2')
      await run.settled()
      expect(run.transport.take()).toEqual([`PATCH ${object}`])
      await run.client.patch(ConfigMap, at('x'), { merge: { data: { unrelated: '1' } } })
      await run.settled()
      expect(run.transport.take()).toEqual([])
    })

    test('a foreign object of the same name is left unchanged and reported', async () => {
      await using run = await start(setup, (client) => client.create(configMap('x-child', { theirs: '1' })))
      await run.client.create(configMap('x', { a: '1' }, labels))
      const event = await until(
        'it was reported',
        () =>
          run.manager.informers.peek(KubeEvent)?.lastKnown.list({ namespace })[0] ??
          (run.manager.use(KubeEvent), undefined),
      )
      expect([event.reason, event.note]).toEqual([
        'Collision',
        `ConfigMap ${at('x-child')} exists already and is not owned by this controller; it was left as it is. Rename one of the two, or delete it`,
      ])
      expect((await run.client.get(ConfigMap, at('x-child'))).data).toEqual({ theirs: '1' })
      // As soon as the stranger's object is gone the name is ours.
      await run.client.delete(ConfigMap, at('x-child'))
      await run.client.waitFor(ConfigMap, at('x-child'), (object) => object.data?.a === '1')
    })

    test('fields of an object that appears between GET and apply are released', async () => {
      await using run = await start(setup)
      let raced = false
      run.transport.before = async (request) => {
        if (request.method === 'PATCH' && !raced) {
          raced = true
          await run.client.create(configMap('x-child', { theirs: '1' }))
        }
      }
      await run.client.create(configMap('x', { a: '1' }, labels))
      const theirs = await run.client.waitFor(
        ConfigMap,
        at('x-child'),
        (object) =>
          raced && object.metadata.ownerReferences === undefined && object.metadata.resourceVersion !== undefined,
      )
      await run.settled()
      const now = await run.client.get(ConfigMap, at('x-child'))
      expect([
        now.data,
        now.metadata.ownerReferences,
        now.metadata.managedFields?.map((entry) => entry.manager),
        now.metadata.uid,
      ]).toEqual([{ theirs: '1' }, undefined, ['fairlead'], theirs.metadata.uid])
    })

    test('an object that was deleted while the cache lags is not recreated', async () => {
      await using run = await start(setup)
      await run.client.create(configMap('x', { a: '1' }, labels))
      const cached = await run.client.waitFor(ConfigMap, at('x-child'), () => true)
      await run.manager.stop()
      await run.client.delete(ConfigMap, at('x-child'))
      const owner = await run.client.get(ConfigMap, at('x'))
      const applied = run.client.apply(child({ ...owner, data: { a: '9' } }), {
        owner,
        cached,
        manager: 'fairlead-test',
        force: true,
      })
      await expect(applied).rejects.toMatchObject({ code: 409 })
      expect(await run.client.find(ConfigMap, formatKey(keyOf(cached)))).toBe(undefined)
    })
  })
})
