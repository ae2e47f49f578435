// A process works only while it holds its Lease: it keeps the Lease while it stops, writes nothing after a pause in
// which another process may have taken over, and says why it gets none.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { ApiServer } from '@fairlead/apiserver'
import { Client, ConfigMap } from '@fairlead/client'
import { Manager, silentLogger } from '@fairlead/controller'
import type { Logger, ManagerOptions, ReconcileContext } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import type { Clock, KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { recorded } from '../../../test/support/recorded-client.ts'
import { turns, until } from '../../../test/support/until.ts'

const lease = { namespace: 'kube-system', name: 'test' }

/** Lets seconds pass one by one, with what is under way in between. */
async function pass(clock: FakeClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1000)
    await turns()
  }
}

async function readyz(manager: Manager): Promise<string> {
  const sent = request({ port: manager.server!.port, path: '/readyz', agent: false, rejectUnauthorized: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return text(response)
}

/** The rights of the user `worker`. */
const rights: readonly KubeObject[] = [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'worker' },
    rules: [
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        verbs: ['get', 'list', 'create', 'update', 'delete'],
      },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'worker' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'worker' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'worker' }],
  },
]

function input(value: string): ConfigMap {
  const metadata = { namespace: 'default', name: 'input', labels: { role: 'input' } }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } }
}

function output(of: ConfigMap): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'output' }, data: of.data }
}

function startManager(
  options: Pick<ManagerOptions, 'client'> & Partial<ManagerOptions>,
  reconcile: (context: ReconcileContext<ConfigMap>, manager: Manager) => Promise<unknown>,
): Promise<Manager> {
  return Manager.start({
    random: () => 0,
    ...options,
    setup: (manager) =>
      manager
        .controller('inputs')
        .for(ConfigMap, { labelSelector: 'role=input' })
        .withOptions({ keepReady: false })
        .reconcile(async (context) => void (await reconcile(context, manager))),
  })
}

test('a leader that stops keeps its lease until the last run has ended', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const clock = new FakeClock()
  const client = new Client({ transport: server.client().transport, clock })
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await client.create(input('1'))
  const first = await startManager({ client, leaderElection: { ...lease, identity: 'a' } }, async () => {
    began.resolve()
    await end.promise
  })
  await began.promise
  await using second = await startManager({ client, leaderElection: { ...lease, identity: 'b' } }, async () => {})
  const stopped = first.stop(60_000)
  await pass(clock, 40)
  expect(second.leads).toBe(false)
  end.resolve()
  await stopped
  await pass(clock, 5)
  expect(second.leads).toBe(true)
})

test('a leader that loses its lease while it stops ends its runs at once', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const clock = new FakeClock()
  const { client, transport } = recorded(server.client(), clock)
  const began = Promise.withResolvers<AbortSignal>()
  let lost = 0
  await client.create(input('1'))
  const manager = await startManager(
    { client, leaderElection: { ...lease, identity: 'a' }, onLeadershipLost: () => lost++ },
    async ({ signal }) => {
      began.resolve(signal)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
  )
  const signal = await began.promise
  const stopped = manager.stop(60_000)
  transport.instead = ({ path }) =>
    path.includes('/leases/') ? { status: 500, headers: {}, body: 'down', warnings: [] } : undefined
  await pass(clock, 14)
  expect([signal.aborted, lost]).toEqual([true, 1])
  await stopped
})

test.each<[string, (identity: string) => Partial<ManagerOptions>]>([
  ['leader', (identity) => ({ leaderElection: { ...lease, identity } })],
  ['replica with shards', (identity) => ({ shards: { ...lease, identity, count: 1 } })],
])('a %s that was paused writes nothing when another one has taken over', async (_, part) => {
  await using server = await ApiServer.start({ controllers: false })
  const admin = server.client()
  const [clock, timers] = [new FakeClock(), new FakeClock()]
  // A process that continues finds its clock advanced, and may read responses before its timers fire.
  let pause = 0
  const pausedClock: Clock = {
    now: () => timers.now() + pause,
    monotonic: () => timers.monotonic() + pause,
    sleep: (ms, signal) => timers.sleep(ms, signal),
    timer: (ms, run) => timers.timer(ms, run),
  }
  const [began, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { client, transport } = recorded(admin, pausedClock)
  await using first = await startManager({ client, ...part('a') }, async (context, manager) => {
    began.resolve()
    await resumed.promise
    const copy = output(context.object)
    const serviceAccount = { namespace: 'default', name: 'worker' }
    const generated = { ...copy, metadata: { namespace: 'default', generateName: 'run-' } }
    await Promise.allSettled([
      context.client.apply(copy),
      manager.client.apply(copy, { force: true }),
      manager.as({ serviceAccount }).create(generated),
    ])
  })
  await pass(timers, 3)
  await admin.create(input('1'))
  await began.promise
  await using second = await startManager(
    { client: new Client({ transport: admin.transport, clock }), ...part('b') },
    ({ object, client: writer }) => writer.apply(output(object)),
  )
  await admin.patch(ConfigMap, 'default/input', { merge: { data: { value: '2' } } })
  await pass(clock, 40)
  const outputs = async (): Promise<unknown> =>
    (await admin.list(ConfigMap, { namespace: 'default' })).items.map(({ metadata, data }) => [
      metadata.name,
      metadata.resourceVersion,
      data?.['value'],
    ])
  const before = await outputs()
  expect(before).toMatchObject([
    ['input', expect.any(String), '2'],
    ['output', expect.any(String), '2'],
  ])
  pause = 60_000
  transport.take()
  resumed.resolve()
  await turns()
  const writes = transport.take().filter((request) => !request.startsWith('GET'))
  expect([await outputs(), writes]).toEqual([before, []])
  await pass(timers, 3)
  await until('the first one has noticed', () => !(first.leads && first.owns('default')))
  expect(second.leads && second.owns('default')).toBe(true)
})

test.each<[string, Partial<ManagerOptions>, string]>([
  ['leader', { leaderElection: { ...lease, identity: 'a' } }, 'get'],
  ['replica with shards', { shards: { ...lease, identity: 'a', count: 1 } }, 'list'],
])(
  'a %s without rights to Leases is not ready, says once which right is missing, and works once it has it',
  async (_, part, verb) => {
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    const admin = server.client()
    const clock = new FakeClock()
    const warnings: string[] = []
    const logger: Logger = {
      ...silentLogger,
      warn: (message, fields) => void warnings.push(`${message}: ${(fields?.['error'] as Error).message}`),
      child: () => silentLogger,
    }
    const { transport } = server.client({ as: { name: 'worker', groups: [] } })
    await using manager = await Manager.start({
      client: new Client({ transport, clock }),
      random: () => 0,
      logger,
      ...part,
      server: { host: '127.0.0.1', port: 0 },
    })
    await pass(clock, 20)
    const denied = `cannot ${verb} resource "leases" in API group "coordination.k8s.io"`
    expect(warnings.filter((line) => line.includes(denied))).toHaveLength(1)
    expect(await readyz(manager)).toContain('[-]lease: leases.coordination.k8s.io "test')
    for (const object of rights) await admin.create(object)
    await pass(clock, 10)
    expect([await readyz(manager), manager.owns('default') && manager.leads]).toEqual(['ok', true])
  },
)
