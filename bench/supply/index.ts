// `npm run bench -- supply`: the figures of specs/supply-chains.md §5, measured next to required. Server and
// controllers share this process.
import type { KubeObject } from '@fairlead/kube'
import { MeasuredCluster, thing } from './measured-cluster.ts'
import { chains, runnables, workloads } from './objects.ts'
import type { Figure } from '../figure.ts'

const owners = 1500
const changes = 400
const workload = { apiVersion: 'carto.run/v1alpha1', kind: 'Workload' }
const ready = (status: string): object => ({ conditions: [{ type: 'Ready', status, message: status }] })

/** Runs the only scenario: each figure is measured on the cluster as the previous one left it. */
export async function run(): Promise<readonly Figure[]> {
  // The timers of the clock do not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  await using cluster = await MeasuredCluster.start()
  const rows = [
    ...(await load(cluster)),
    ...(await latency(cluster)),
    ...(await templateEdit(cluster)),
    ...(await resync(cluster)),
  ]
  clearInterval(alive)
  return rows
}

/** Scenarios with exact counts. */
export const counted: readonly string[] = ['all']

async function load(cluster: MeasuredCluster): Promise<Figure[]> {
  console.log(`supply: ${owners} workloads and ${owners} runnables …`)
  const { clock } = cluster.client
  let peak = 0
  const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50)
  const started = clock.monotonic()
  await cluster.apply(chains(2))
  await cluster.apply([...workloads(owners), ...runnables(owners)])
  await cluster.quiet()
  for (const { metadata } of (await cluster.client.list(thing, { namespace: 'default' })).items) {
    const conditions = [
      ...(ready('True') as { conditions: object[] }).conditions,
      { type: 'Succeeded', status: 'True', message: '' },
    ]
    await cluster.client.patch(
      thing,
      `default/${metadata.name}`,
      { merge: { status: { conditions } as never } },
      { subresource: 'status' },
    )
  }
  await cluster.quiet()
  const seconds = (clock.monotonic() - started) / 1000
  clearInterval(sampler)
  const unready = await Promise.all(
    [workload, { ...workload, kind: 'Runnable' }].map(
      async (kind) => (await cluster.client.list(kind)).items.filter((object) => !isReady(object)).length,
    ),
  )
  const megabytes = peak / 2 ** 20
  return [
    {
      figure: 'owners that are not ready in the end',
      reached: String(unready[0]! + unready[1]!),
      asked: '0',
      holds: unready[0]! + unready[1]! === 0,
      exact: true,
    },
    {
      figure: `${owners} workloads + ${owners} runnables, to ready, s`,
      reached: seconds.toFixed(1),
      asked: '60',
      holds: seconds <= 60,
    },
    { figure: 'memory at its peak, MB', reached: megabytes.toFixed(0), asked: '400', holds: megabytes <= 400 },
  ]
}

async function latency(cluster: MeasuredCluster): Promise<Figure[]> {
  console.log('supply: changes of status …')
  const { client, manager } = cluster
  const { informer } = manager.use(workload)
  const times: number[] = []
  for (let change = 0; change < changes; change++) {
    const name = `workload-${(change % (owners - 1)) + 1}`
    const status = change % 2 === 0 ? 'False' : 'Unknown'
    const seen = Promise.withResolvers<void>()
    using _listening = informer.subscribe(
      { changed: ({ object }) => object.metadata.name === name && readyOf(object) === status && seen.resolve() },
      { replay: false },
    )
    const started = client.clock.monotonic()
    await client.patch(
      thing,
      `default/${name}`,
      { merge: { status: ready(status) as never } },
      { subresource: 'status' },
    )
    await seen.promise
    times.push(client.clock.monotonic() - started)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const p99 = sorted[Math.floor(sorted.length * 0.99)]!
  const median = sorted[Math.floor(sorted.length / 2)]!
  return [
    {
      figure: 'status of a stamped object to Ready of its owner, ms p99 (median)',
      reached: `${p99.toFixed(1)} (${median.toFixed(1)})`,
      asked: '20',
      holds: p99 <= 20,
    },
  ]
}

async function templateEdit(cluster: MeasuredCluster): Promise<Figure[]> {
  await cluster.quiet()
  const before = await cluster.reconciles('workload')
  const template = {
    ...thing,
    metadata: { name: '$(workload.metadata.name)$' },
    spec: { owner: '$(workload.metadata.name)$', round: 1 },
  }
  await cluster.client.patch({ ...workload, kind: 'ClusterTemplate' }, 'template-0', { merge: { spec: { template } } })
  await cluster.quiet()
  const reconciled = (await cluster.reconciles('workload')) - before
  const stamped = await cluster.client.get(thing, 'default/workload-0')
  const isNew = (stamped.spec as { round?: number }).round === 1
  return [
    {
      figure: `owners reconciled for a template of 1 of ${owners}`,
      reached: isNew ? String(reconciled) : 'none changed',
      asked: '1',
      holds: isNew && reconciled === 1,
      exact: true,
    },
  ]
}

async function resync(cluster: MeasuredCluster): Promise<Figure[]> {
  await cluster.quiet()
  const [reads, writes] = [cluster.requests.reads, cluster.requests.writes]
  const { clock } = cluster.client
  const started = clock.monotonic()
  for (const { controller } of [cluster.controllers.workloads, cluster.controllers.runnables]) {
    for (const key of controller.informer.lastKnown.keys()) controller.enqueue(key)
  }
  await cluster.quiet()
  const ms = clock.monotonic() - started
  const made = { reads: cluster.requests.reads - reads, writes: cluster.requests.writes - writes }
  return [
    {
      figure: `writes of a resync of ${owners * 2} owners`,
      reached: String(made.writes),
      asked: '0',
      holds: made.writes === 0,
      exact: true,
    },
    {
      figure: `GETs of a resync of ${owners * 2} owners`,
      reached: `${made.reads} (${ms.toFixed(0)} ms)`,
      asked: '0',
      holds: made.reads === 0,
      exact: true,
    },
  ]
}

function readyOf(object: KubeObject): string | undefined {
  const { conditions = [] } = (object.status ?? {}) as { conditions?: readonly { type: string; status: string }[] }
  return conditions.find(({ type }) => type === 'Ready')?.status
}

function isReady(object: KubeObject): boolean {
  return readyOf(object) === 'True'
}
