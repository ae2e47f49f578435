import { Client, CustomResourceDefinition, KubeEvent, Namespace } from '@fairlead/client'
import { Manager, generationChanged, installDefinitions, terminal } from '@fairlead/controller'
import type { Controller, ReconcileContext, Result } from '@fairlead/controller'
import { FakeClock, condition } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { describeClusters } from '../../../test/support/clusters.ts'
import type { Cluster, ClusterKind } from '../../../test/support/clusters.ts'
import { Memcached, memcached, memcachedDefinition } from './support/memcached.ts'
import { Disturbance, DisturbedTransport } from '../../../test/support/disturbed-transport.ts'
import { recorded } from '../../../test/support/recorded-client.ts'
import type { RecordingTransport } from '../../../test/support/recorded-client.ts'
import { eventually, until } from '../../../test/support/until.ts'

interface Setup extends AsyncDisposable {
  readonly client: Client
  readonly transport: RecordingTransport
  readonly clock: FakeClock
}

async function start(
  open: ClusterKind['open'],
  run: (context: ReconcileContext<Memcached>) => Promise<Result> | Result,
): Promise<Setup> {
  const cluster: Cluster = await open({ controllers: ['crd'] })
  const clock = new FakeClock('2026-03-01T10:00:00Z')
  const { client, transport } = recorded(cluster.client, clock)
  const setup = (manager: Manager): unknown => manager.controller('memcached').for(Memcached).reconcile(run)
  await installDefinitions(cluster.outside, [memcachedDefinition])
  const manager = await Manager.start({ client, clock, setup })
  return {
    client: cluster.outside,
    transport,
    clock,
    [Symbol.asyncDispose]: async () => {
      await manager.stop()
      await cluster.outside.delete(CustomResourceDefinition, memcachedDefinition.metadata.name!)
      await cluster.outside.waitForDeletion(CustomResourceDefinition, memcachedDefinition.metadata.name!)
      await cluster[Symbol.asyncDispose]()
    },
  }
}

const later =
  (previous: string | undefined): ((object: Memcached) => boolean) =>
  (object) =>
    object.metadata.resourceVersion !== previous

describeClusters(({ open }) => {
  test('fills in observedGeneration and Ready, and sends nothing when the status is unchanged', async () => {
    let runs = 0
    await using run = await start(open, async ({ status, object }) => {
      await status.apply({ ready: object.spec.size })
      runs++
    })
    await run.client.apply(memcached('a', { size: 3 }))
    const first = await run.client.waitFor(Memcached, 'a', (object) => object.status?.ready === 3)
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Reconciled',
      message: '',
      observedGeneration: 1,
      lastTransitionTime: '2026-03-01T10:00:00Z',
    }
    expect(first.status).toEqual({ ready: 3, observedGeneration: 1, conditions: [ready] })
    run.transport.take()
    await run.client.patch(Memcached, 'a', { merge: { metadata: { labels: { a: '1' } } } })
    await until('it ran again', () => runs === 2)
    expect(run.transport.take()).toEqual([])
    await run.clock.advance(60_000)
    await run.client.patch(Memcached, 'a', { merge: { spec: { size: 4 } } })
    const second = await run.client.waitFor(Memcached, 'a', (object) => object.status?.ready === 4)
    expect(second.status).toEqual({
      ready: 4,
      observedGeneration: 2,
      conditions: [{ ...ready, observedGeneration: 2 }],
    })
  })

  test('a status that the definition has no subresource for is reported with what to add to it', async () => {
    await using cluster = await open({ controllers: ['crd'] })
    const [version] = memcachedDefinition.spec.versions
    const { subresources: _none, ...versionWithout } = version as typeof version & { readonly subresources?: unknown }
    const definition = { ...memcachedDefinition, spec: { ...memcachedDefinition.spec, versions: [versionWithout] } }
    await installDefinitions(cluster.outside, [definition])
    await using _manager = await Manager.start({
      client: cluster.client,
      setup: (manager) =>
        manager
          .controller('memcached')
          .for(Memcached)
          .reconcile(({ status }) => status.apply({ ready: 1 })),
    })
    await cluster.outside.apply(memcached('a', { size: 3 }))
    const event = await eventually(async () => {
      const { items } = await cluster.outside.list(KubeEvent, { namespace: cluster.namespace })
      const [found] = items.filter(({ regarding }) => regarding?.kind === 'Memcached' && regarding.name === 'a')
      expect(found).toBeDefined()
      return found!
    })
    expect([event.reason, event.note]).toEqual([
      'InvalidRequest',
      'Memcached has no status subresource, so its status cannot be written: add "subresources: {status: {}}" to the version in its CustomResourceDefinition',
    ])
    await cluster.outside.delete(CustomResourceDefinition, definition.metadata.name!)
    await cluster.outside.waitForDeletion(CustomResourceDefinition, definition.metadata.name!)
  })

  test('applies all its fields and leaves those of others unchanged; transition times change with the status only', async () => {
    await using run = await start(open, async ({ status, object }) => {
      const fine = object.spec.size > 2
      await status.apply({
        conditions: [
          condition('Ready', fine, { reason: fine ? 'Fine' : 'Small', message: `size ${object.spec.size}` }),
          ...(fine ? [condition('Big', true)] : []),
        ],
      })
    })
    await run.client.apply(memcached('a', { size: 1 }))
    const first = await run.client.waitFor(Memcached, 'a', (object) => object.status?.conditions !== undefined)
    const theirs = {
      type: 'Theirs',
      status: 'True',
      reason: 'Because',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    const { metadata } = first
    await run.client.apply(
      { ...memcached('a', { size: 1 }), spec: undefined, status: { conditions: [theirs] } } as unknown as Memcached,
      { subresource: 'status', manager: 'them' },
    )
    const types = (object: Memcached): string[] =>
      (object.status?.conditions ?? []).map(
        (one) => `${one.type}=${one.status} ${one.reason} ${one.lastTransitionTime}`,
      )
    for (const size of [2, 3, 1]) {
      await run.clock.advance(60_000)
      const before = await run.client.get(Memcached, 'a')
      await run.client.patch(Memcached, 'a', { merge: { spec: { size } } })
      const now = await run.client.waitFor(
        Memcached,
        'a',
        (object) => object.status?.observedGeneration === before.metadata.generation! + 1,
      )
      expect(types(now)).toEqual(
        {
          2: ['Ready=False Small 2026-03-01T10:00:00Z', 'Theirs=True Because 2026-01-01T00:00:00Z'],
          3: [
            'Ready=True Fine 2026-03-01T10:02:00Z',
            'Theirs=True Because 2026-01-01T00:00:00Z',
            'Big=True Big 2026-03-01T10:02:00Z',
          ],
          1: ['Ready=False Small 2026-03-01T10:03:00Z', 'Theirs=True Because 2026-01-01T00:00:00Z'],
        }[size],
      )
    }
    expect(metadata.uid).toBe((await run.client.get(Memcached, 'a')).metadata.uid)
  })

  test('a status that changes back before the cache has seen the change is written', async () => {
    await using cluster = await open({ controllers: ['crd'] })
    const disturbance = new Disturbance()
    const transport = new DisturbedTransport(cluster.client.transport, disturbance)
    await installDefinitions(cluster.outside, [memcachedDefinition])
    let ready = 1
    let controller: Controller<Memcached> | undefined
    await using manager = await Manager.start({
      client: new Client({ transport, clock: new FakeClock(), random: () => 0 }),
      setup: (made) => {
        controller = made
          .controller('memcached')
          .for(Memcached, { when: generationChanged })
          .reconcile(async ({ status }) => {
            await status.apply({ ready })
          })
      },
    })
    expect(manager.leads).toBe(true)
    await cluster.outside.apply(memcached('a', { size: 1 }))
    const key = `${cluster.namespace}/a`
    await until('the status is cached', () => controller!.informer.lastKnown.get(key)?.status?.ready === 1)
    disturbance.begin('watch memcacheds.cache.example.com', 'hang')
    disturbance.interrupt('watch memcacheds.cache.example.com')
    for (ready of [2, 1]) {
      controller!.enqueue(key)
      await cluster.outside.waitFor(Memcached, 'a', ({ status }) => status?.ready === ready)
    }
    expect(controller!.informer.lastKnown.get(key)?.status?.ready).toBe(1)
    await cluster.outside.delete(CustomResourceDefinition, memcachedDefinition.metadata.name!)
  })

  test('a failure makes Ready False and keeps the other fields; success makes it True again', async () => {
    let mode: 'state' | 'fail' | 'silent' = 'state'
    await using run = await start(open, async ({ status }) => {
      if (mode === 'fail') throw new Error('no luck')
      if (mode === 'state') await status.apply({ ready: 7 })
    })
    await run.client.apply(memcached('a', { size: 1 }))
    const first = await run.client.waitFor(Memcached, 'a', (object) => object.status?.ready === 7)
    mode = 'fail'
    await run.client.patch(Memcached, 'a', { merge: { spec: { size: 2 } } })
    const failed = await run.client.waitFor(
      Memcached,
      'a',
      (object) => object.status?.conditions?.[0]?.status === 'False',
    )
    expect([failed.status?.ready, failed.status?.observedGeneration, failed.status?.conditions?.[0]]).toMatchObject([
      7,
      2,
      { type: 'Ready', reason: 'ReconcileFailed', message: 'no luck' },
    ])
    mode = 'silent'
    await run.client.patch(Memcached, 'a', { merge: { spec: { size: 3 } } })
    const healed = await run.client.waitFor(
      Memcached,
      'a',
      (object) => object.status?.conditions?.[0]?.status === 'True',
    )
    expect([
      healed.status?.ready,
      healed.status?.conditions?.[0]?.reason,
      later(first.metadata.resourceVersion)(healed),
    ]).toEqual([7, 'Reconciled', true])
  })

  test('a failure of the first run states Ready=False on an object without a status', async () => {
    await using run = await start(open, ({ object }) => {
      if (object.spec.size === 1) throw terminal('size must be even', { reason: 'OddSize' })
      if (object.spec.size === 3) throw new TypeError('a bug')
    })
    const readyOf = (object: Memcached): unknown =>
      object.status?.conditions?.map(({ type, status, reason, message }) => [type, status, reason, message])
    await run.client.apply(memcached('a', { size: 1 }))
    const refused = await run.client.waitFor(Memcached, 'a', (object) => object.status !== undefined)
    expect([readyOf(refused), refused.status?.observedGeneration]).toEqual([
      [['Ready', 'False', 'OddSize', 'size must be even']],
      1,
    ])
    await run.client.apply(memcached('b', { size: 3 }))
    const failed = await run.client.waitFor(Memcached, 'b', (object) => object.status !== undefined)
    expect(readyOf(failed)).toEqual([['Ready', 'False', 'ReconcileFailed', 'a bug']])
    await run.client.patch(Memcached, 'a', { merge: { spec: { size: 2 } } })
    const healed = await run.client.waitFor(Memcached, 'a', (object) => object.status?.observedGeneration === 2)
    expect(readyOf(healed)).toEqual([['Ready', 'True', 'Reconciled', '']])
  })

  test('a wait that times out quotes the newest warning event, also where the clock stands still', async () => {
    await using run = await start(open, () => {
      throw terminal('size must be even', { reason: 'OddSize' })
    })
    await run.client.apply(memcached('a', { size: 1 }))
    await run.client.waitFor(Memcached, 'a', (object) => object.status !== undefined)
    const { metadata } = await run.client.get(Memcached, 'a')
    const about = { fieldSelector: `regarding.uid=${metadata.uid}` }
    await eventually(async () => expect((await run.client.list(KubeEvent, about)).items).toHaveLength(1))
    const still = recorded(run.client, new FakeClock('2026-03-01T10:00:00Z')).client
    await expect(still.waitFor(Memcached, `${metadata.namespace}/a`, () => false, { timeout: 3000 })).rejects.toThrow(
      /Ready=False \(size must be even\); its last warning event: OddSize: size must be even$/,
    )
  })

  test('a failure leaves Ready to the controller that states it', async () => {
    let runs = 0
    await using run = await start(open, ({ object }) => {
      runs++
      if (object.metadata.labels?.['go'] === 'yes') throw new Error('no luck')
    })
    await run.client.apply(memcached('a', { size: 1 }))
    const theirs = condition('Ready', true, { reason: 'Theirs' })
    const stated = { ...theirs, lastTransitionTime: '2026-01-01T00:00:00Z' }
    await run.client.apply(
      { ...memcached('a', { size: 1 }), spec: undefined, status: { conditions: [stated] } } as unknown as Memcached,
      { subresource: 'status', manager: 'them' },
    )
    await run.client.patch(Memcached, 'a', { merge: { metadata: { labels: { go: 'yes' } } } })
    const before = runs
    await until('it failed twice', () => runs >= before + 2 || void run.clock.advance(10))
    expect((await run.client.get(Memcached, 'a')).status?.conditions).toMatchObject([
      { status: 'True', reason: 'Theirs' },
    ])
  })

  test("a failure does not write into the status of Kubernetes' own kinds", async () => {
    await using cluster = await open({ controllers: [] })
    let runs = 0
    await using _manager = await Manager.start({
      client: cluster.client,
      setup: (manager) =>
        manager
          .controller('names')
          .for(Namespace, { labelSelector: { matchLabels: { watched: 'yes' } } })
          .reconcile(() => {
            runs++
            throw new Error('no luck')
          }),
    })
    const name = `own-kind-${process.pid}`
    await cluster.outside.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { watched: 'yes' } },
    })
    await until('it failed twice', () => runs >= 2)
    expect((await cluster.outside.get(Namespace, name)).status).toEqual({ phase: 'Active' })
    await cluster.outside.delete(Namespace, name)
  })
})
