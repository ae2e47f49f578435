import { ApiServer } from '@fairlead/apiserver'
import { Client, ConfigMap } from '@fairlead/client'
import { Manager, planShards, shardOf } from '@fairlead/controller'
import { FakeClock, formatMicroTime } from '@fairlead/kube'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecordingTransport } from '../../../test/support/recorded-client.ts'
import { turns, until } from '../../../test/support/until.ts'

describe('the plan', () => {
  const plan = (self: string, replicas: string, holders: string): unknown =>
    planShards({
      self,
      replicas: new Set(replicas),
      holders: [...holders].map((holder) => (holder === '.' ? undefined : holder)),
    })

  test.each([
    ['alone it takes everything', 'a', 'a', '....', { acquire: [0, 1, 2, 3], release: [] }],
    ['it takes its share of what is free', 'a', 'ab', '.....', { acquire: [0, 1, 2], release: [] }],
    ['it gives up what is over its share', 'a', 'ab', 'aaaa', { acquire: [], release: [2, 3] }],
    ['others wait for what is given up', 'b', 'ab', 'aaaa', { acquire: [], release: [] }],
    ['it takes what another left', 'b', 'b', 'bb.b', { acquire: [2], release: [] }],
    ['it gives one up for those who have none', 'a', 'abc', 'aabb', { acquire: [], release: [1] }],
    ['but not while something is free', 'a', 'abc', 'aab.', { acquire: [], release: [] }],
    ['a balanced one stays', 'a', 'ab', 'abab', { acquire: [], release: [] }],
  ])('%s', (_, self, replicas, holders, expected) => {
    expect(plan(self, replicas, holders)).toEqual(expected)
  })

  test('converges with every shard held and no two replicas apart by more than one', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 24 }),
        fc.integer({ min: 1, max: 6 }),
        fc.infiniteStream(fc.nat(5)),
        (count, size, order) => {
          const names = Array.from({ length: size }, (_, index) => `r${index}`)
          const replicas = new Set(names)
          const holders: (string | undefined)[] = Array.from({ length: count }, () => {
            const holder = order.next().value % (size + 1)
            return names[holder]
          })
          for (let step = 0; step < 40 * size; step++) {
            const self = names[step % size]!
            const { acquire, release } = planShards({ self, replicas, holders })
            for (const shard of acquire) holders[shard] = self
            for (const shard of release) holders[shard] = undefined
          }
          const counts = names.map((name) => holders.filter((holder) => holder === name).length)
          expect(holders).not.toContain(undefined)
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
        },
      ),
    )
  })

  test('cluster-scoped work belongs to shard 0, a namespace always to the same one', () => {
    expect([shardOf(undefined, 7), shardOf('', 7), shardOf('default', 7), shardOf('default', 7)]).toEqual([0, 0, 4, 4])
    const spread = new Set(Array.from({ length: 100 }, (_, index) => shardOf(`team-${index}`, 7)))
    expect(spread.size).toBe(7)
  })
})

const namespaces = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5']
const count = 4

interface Replica {
  readonly manager: Manager
  readonly transport: RecordingTransport
}

/** Replicas on one server and one clock; each reconcile takes a turn and writes down who works on what. */
class Replicas {
  readonly clock = new FakeClock()
  readonly running = new Map<string, string>()
  readonly clashes: string[] = []
  readonly seen = new Map<string, string>()
  readonly live = new Map<string, Replica>()
  readonly #server: ApiServer
  #next = 0

  constructor(server: ApiServer) {
    this.#server = server
  }

  async start(): Promise<void> {
    const identity = `replica-${this.#next++}`
    const transport = new RecordingTransport(this.#server.client().transport)
    const manager = await Manager.start({
      client: new Client({ transport, clock: this.clock, random: () => 0.5 }),
      clock: this.clock,
      shards: { namespace: 'default', name: 'test', count, identity },
      setup: (made) =>
        made
          .controller('copies')
          .for(ConfigMap, { labelSelector: 'shards=test' })
          .withOptions({ keepReady: false })
          .reconcile(async ({ object, signal }) => {
            const key = `${object.metadata.namespace}/${object.metadata.name}`
            const other = this.running.get(key)
            if (other !== undefined) this.clashes.push(`${identity} began ${key} while ${other} was at it`)
            this.running.set(key, identity)
            await new Promise((resolve) => setImmediate(resolve))
            if (this.running.get(key) === identity) this.running.delete(key)
            if (!signal.aborted) this.seen.set(key, object.metadata.resourceVersion!)
          }),
    })
    this.live.set(identity, { manager, transport })
  }

  /** Seconds, one by one; after each no shard may have two owners. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.clock.advance(1000)
      await turns()
      const owners = new Map<number, string>()
      for (const [identity, { manager }] of this.live) {
        for (const shard of manager.shards!.owned) {
          if (owners.has(shard)) this.clashes.push(`shard ${shard} belongs to ${owners.get(shard)} and ${identity}`)
          owners.set(shard, identity)
        }
      }
    }
  }

  owned(): number[][] {
    return [...this.live.values()].map(({ manager }) => manager.shards!.owned.toSorted())
  }

  cut(identity: string): void {
    const replica = this.live.get(identity)
    if (replica !== undefined)
      replica.transport.instead = () => ({ status: 503, headers: {}, body: 'cut off', warnings: [] })
  }

  heal(): void {
    for (const { transport } of this.live.values()) transport.instead = () => undefined
  }

  async stop(identity: string): Promise<void> {
    const replica = this.live.get(identity)
    this.live.delete(identity)
    await replica?.manager.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.heal()
    await Promise.all(Array.from(this.live.keys(), (identity) => this.stop(identity)))
  }
}

const object = (namespace: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name: 'one', labels: { shards: 'test' } },
})

async function cluster(): Promise<ApiServer> {
  const server = await ApiServer.start({ controllers: false })
  for (const name of namespaces)
    await server.client().create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  for (const namespace of namespaces) await server.client().create(object(namespace))
  return server
}

test('two managers share the shards, and the remaining one acquires the shards of the other', async () => {
  await using server = await cluster()
  await using replicas = new Replicas(server)
  await replicas.start()
  await replicas.pass(3)
  expect(replicas.owned()).toEqual([[0, 1, 2, 3]])
  expect([...replicas.seen.keys()].toSorted()).toEqual(namespaces.map((namespace) => `${namespace}/one`))
  await replicas.start()
  await replicas.pass(8)
  expect(replicas.owned()).toEqual([
    [0, 1],
    [2, 3],
  ])
  replicas.seen.clear()
  await replicas.stop('replica-0')
  await replicas.pass(4)
  expect(replicas.owned()).toEqual([[0, 1, 2, 3]])
  const given = namespaces.filter((namespace) => shardOf(namespace, count) < 2).map((namespace) => `${namespace}/one`)
  expect([...replicas.seen.keys()].toSorted()).toEqual(given.toSorted())
  expect(replicas.clashes).toEqual([])
})

test('a replica that lost its Leases acquires them again at once while they name it', async () => {
  await using server = await cluster()
  await using replicas = new Replicas(server)
  await replicas.start()
  await replicas.pass(3)
  replicas.cut('replica-0')
  await replicas.pass(11)
  expect(replicas.owned()).toEqual([[]])
  replicas.seen.clear()
  replicas.heal()
  // The Leases, renewed 12 s ago, last for 15 s.
  await replicas.pass(2)
  expect([replicas.owned(), replicas.seen.size]).toEqual([[[0, 1, 2, 3]], namespaces.length])
  expect(replicas.clashes).toEqual([])
})

test('a replica whose list of Leases is never answered tries again, and acquires what another left', async () => {
  await using server = await cluster()
  await using replicas = new Replicas(server)
  await replicas.start()
  await replicas.start()
  await replicas.pass(8)
  const [first] = replicas.live.values()
  let lost = 0
  first!.transport.before = ({ method, path, signal }) =>
    method === 'GET' && path.endsWith('/leases') && lost++ === 0
      ? new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))
      : undefined
  await replicas.pass(3)
  await replicas.stop('replica-1')
  await replicas.pass(15)
  expect([lost > 1, replicas.owned()]).toEqual([true, [[0, 1, 2, 3]]])
  expect(replicas.clashes).toEqual([])
})

test('a manager that follows takes part in the shards of the other, and acquires none itself', async () => {
  await using server = await cluster()
  const clock = new FakeClock()
  const transport = new RecordingTransport(server.client().transport)
  const client = new Client({ transport, clock, random: () => 0.5 })
  const shards = { namespace: 'default', name: 'test', count, identity: 'one' }
  await using first = await Manager.start({ client, clock, shards })
  await using second = await Manager.start({ client, clock, follows: first })
  for (let tick = 0; tick < 20; tick++) {
    await clock.advance(1000)
    await turns()
  }
  expect([first.shards!.owned, second.shards!.owned]).toEqual([
    [0, 1, 2, 3],
    [0, 1, 2, 3],
  ])
  // At most one round each 2.2 s: two that overlap acquire a shard twice, and one of them renews its Lease for ever.
  const lists = transport.requests.filter((request) => request.startsWith('GET') && request.endsWith('/leases'))
  expect(lists.length).toBeLessThanOrEqual(10)
})

test('a manager with both leader election and shards is refused', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const lease = { namespace: 'default', name: 'test' }
  await expect(
    Manager.start({ client: server.client(), leaderElection: lease, shards: { ...lease, count: 2 } }),
  ).rejects.toThrow('not several')
})

const actions = fc.oneof(
  fc.record({ do: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 18 }) }),
  fc.record({ do: fc.constant('cut' as const), replica: fc.nat(3) }),
  fc.record({ do: fc.constant('heal' as const) }),
  fc.record({ do: fc.constant('change' as const), namespace: fc.constantFrom(...namespaces) }),
  fc.record({ do: fc.constant('stop' as const), replica: fc.nat(3) }),
  fc.record({ do: fc.constant('start' as const) }),
)

const runs = Number(process.env['FAIRLEAD_SHARD_RUNS'] ?? 8)

test(
  'never two owners, and nothing is left undone, whatever is cut, stopped and started',
  { timeout: 120_000 + runs * 2000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { maxLength: 12 }), async (script) => {
        await using server = await cluster()
        await using replicas = new Replicas(server)
        await replicas.start()
        await replicas.start()
        let changes = 0
        for (const action of script) {
          if (action.do === 'pass') await replicas.pass(action.seconds)
          else if (action.do === 'cut') replicas.cut(`replica-${action.replica}`)
          else if (action.do === 'heal') replicas.heal()
          else if (action.do === 'start' && replicas.live.size < 3) await replicas.start()
          else if (action.do === 'stop' && replicas.live.size > 1) await replicas.stop(`replica-${action.replica}`)
          else if (action.do === 'change')
            await server
              .client()
              .patch(ConfigMap, `${action.namespace}/one`, { merge: { data: { n: String(++changes) } } })
          await turns()
        }
        replicas.heal()
        await replicas.pass(90)
        expect(replicas.clashes).toEqual([])
        expect(replicas.owned().flat().toSorted()).toEqual([0, 1, 2, 3])
        for (const namespace of namespaces) {
          const { metadata } = await server.client().get(ConfigMap, `${namespace}/one`)
          expect([namespace, replicas.seen.get(`${namespace}/one`)]).toEqual([namespace, metadata.resourceVersion])
        }
      }),
      { numRuns: runs },
    )
  },
)

test('an item whose shard belongs to another replica is dropped, and its controller is notified', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const clock = new FakeClock()
  const time = formatMicroTime(clock.now())
  const spec = {
    holderIdentity: 'other',
    leaseDurationSeconds: 15,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 0,
  }
  const metadata = { namespace: 'default', name: 'test-1' }
  await server.client().create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec })
  const ran: string[] = []
  const dropped: string[] = []
  const items = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  await using manager = await Manager.start({
    client: new Client({ transport: server.client().transport, clock }),
    clock,
    shards: { namespace: 'default', name: 'test', count: 2, identity: 'this' },
    setup: (of) => {
      const loop = of.loop<string>({
        name: 'items',
        id: (item) => item,
        namespaceOf: (item) => item,
        run: (item) => void ran.push(item),
        dropped: (item) => void dropped.push(item),
        shardGained: () => items.forEach((item) => loop.add(item)),
      })
    },
  })
  await until('all were taken', () => ran.length + dropped.length === items.length)
  const shardOf = (item: string): number => manager.shards!.shardOf(item)
  expect([ran, dropped]).toEqual([0, 1].map((shard) => items.filter((item) => shardOf(item) === shard)))
})
