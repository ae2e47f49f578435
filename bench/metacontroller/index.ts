// `npm run bench -- metacontroller`: the figures of specs/metacontroller.md §6, those of the real Metacontroller beside
// them where METACONTROLLER names its binary. Server, hook and controllers are processes of their own.
import { systemClock } from '@fairlead/client'
import type { JsonObject } from '@fairlead/kube'
import type { Figure } from '../figure.ts'
import { Cluster } from './cluster.ts'
import { peerBinary } from './driver.ts'
import type { DriverName } from './driver.ts'

/** The figures of one driver. */
type Measured = Readonly<Record<string, number>>

interface Scenario {
  readonly title: string
  measure(driver: DriverName): Promise<Measured>
  /** Judgements of the figures, in order. */
  readonly figures: Readonly<Record<string, Judgement>>
}

interface Judgement {
  readonly exact?: boolean
  readonly digits?: number
  /** Returns the largest value that holds; undefined when there is none. */
  most?(peer: Measured | undefined): number | undefined
}

const children = 1000
const parents = 1000
const repeats = 11
const silenceMs = 30_000

const scenarios: Readonly<Record<string, Scenario>> = {
  'one-change': {
    title: `one child of ${children} changes`,
    measure: oneChange,
    figures: {
      'hook calls': { exact: true, most: () => 1 },
      'bytes sent': { most: (peer) => peer?.['bytes sent'] },
      writes: { exact: true, most: () => 1 },
      'ms to the write': { digits: 1, most: (peer) => half(peer?.['ms to the write']) },
    },
  },
  start: {
    title: `${parents} parents with 3 children each`,
    measure: start,
    figures: {
      's from nothing to all children': { digits: 2, most: (peer) => half(peer?.['s from nothing to all children']) },
      'MB of memory at its peak': { most: (peer) => third(peer?.['MB of memory at its peak']) },
      'CPU s': { digits: 1 },
    },
  },
  restart: {
    title: `restart with nothing to do, ${parents} parents`,
    measure: restart,
    figures: { 'hook calls': { exact: true, most: () => parents }, writes: { exact: true, most: () => 0 } },
  },
  'hot-loops': {
    title: 'children that the server changes',
    measure: hotLoops,
    figures: Object.fromEntries(
      Object.keys(loops()).map((name) => [`${name}: calls in 30 s of silence`, { exact: true, most: () => 0 }]),
    ),
  },
}

/** Those with exact counts. */
export const counted: readonly string[] = ['one-change', 'restart', 'hot-loops']

/** Measures the scenarios named, all of them without names. */
export async function run(names: readonly string[] = []): Promise<readonly Figure[]> {
  const rows: Figure[] = []
  for (const [name, { title, measure, figures }] of Object.entries(scenarios)) {
    if (names.length > 0 && !names.includes(name)) continue
    console.log(`metacontroller/${name} …`)
    const peer = peerBinary() === undefined ? undefined : await measure('peer')
    const ours = await measure('ours')
    for (const [figure, { exact = false, digits = 0, most }] of Object.entries(figures)) {
      const [reached, limit] = [ours[figure]!, most?.(peer)]
      rows.push({
        figure: `${title}: ${figure}`,
        asked: limit === undefined ? '' : `<= ${limit.toFixed(digits)}`,
        reached: reached.toFixed(digits),
        holds: limit === undefined ? undefined : reached <= limit,
        exact,
        ...(peer === undefined ? {} : { peer: peer[figure]!.toFixed(digits) }),
      })
    }
  }
  return rows
}

async function oneChange(driver: DriverName): Promise<Measured> {
  await using cluster = await Cluster.start()
  await cluster.createController()
  await cluster.createParent('north', { boats: children })
  await cluster.startDriver(driver)
  await cluster.synced()
  await cluster.disturb('north-0')
  await cluster.quiet()
  await cluster.reset()
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    times.push(await cluster.disturb(`north-${repeat}`))
    await cluster.quiet()
  }
  const { calls, bytes, writes } = await cluster.counts()
  return {
    'hook calls': calls / repeats,
    'bytes sent': bytes / calls,
    writes: writes / repeats,
    'ms to the write': median(times),
  }
}

async function start(driver: DriverName): Promise<Measured> {
  await using cluster = await Cluster.start()
  await cluster.startDriver(driver)
  // The process has started and watches controllers: what is measured begins with the controller.
  await cluster.createParent('first', { boats: 0 })
  await cluster.createController()
  await cluster.synced()
  await cluster.client.delete({ apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'CompositeController' }, 'fleets')
  await cluster.quiet()
  await createParents(cluster)
  const before = cluster.driver!.cpuSeconds()
  const done = cluster.boatsWritten(3 * parents)
  const begin = performance.now()
  await cluster.createController()
  const seconds = ((await done) - begin) / 1000
  await cluster.quiet()
  return {
    's from nothing to all children': seconds,
    'MB of memory at its peak': cluster.driver!.peakMemory(),
    'CPU s': cluster.driver!.cpuSeconds() - before,
  }
}

async function restart(driver: DriverName): Promise<Measured> {
  await using cluster = await Cluster.start()
  await createParents(cluster)
  await cluster.createController()
  await cluster.startDriver(driver)
  await cluster.synced()
  await cluster.stopDriver()
  await cluster.reset()
  await cluster.startDriver(driver)
  await cluster.synced()
  const { calls, writes } = await cluster.counts()
  return { 'hook calls': calls, writes }
}

async function createParents(cluster: Cluster): Promise<void> {
  const names = Array.from({ length: parents }, (_, index) => `fleet-${index}`)
  await Promise.all(names.map((name) => cluster.createParent(name, { boats: 3 })))
}

/** Children of which the server stores more, or something else, than was wanted (specs/metacontroller.md §5). */
function loops(): Readonly<Record<string, readonly [resource: string, child: JsonObject]>> {
  const metadata = { name: 'child' }
  const service = { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 80 }] } }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'c', image: 'i:1' }] } }
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { memory: '0.5Gi' } } }
  return {
    'server defaults': ['services', service],
    'null fields': ['services', { ...service, spec: { ...service.spec, selector: null } }],
    tolerations: ['pods', pod],
    'another form of a quantity': ['resourcequotas', quota],
  }
}

async function hotLoops(driver: DriverName): Promise<Measured> {
  const measured: Record<string, number> = {}
  await Promise.all(
    Object.entries(loops()).map(async ([name, [resource, child]]) => {
      await using cluster = await Cluster.start()
      await cluster.createController([{ apiVersion: 'v1', resource }])
      await cluster.createParent('north', { child })
      await cluster.startDriver(driver)
      while ((await cluster.counts()).calls === 0) await systemClock.sleep(50)
      // The calls about the first writes.
      await systemClock.sleep(5000)
      await cluster.reset()
      await systemClock.sleep(silenceMs)
      measured[`${name}: calls in 30 s of silence`] = (await cluster.counts()).calls
    }),
  )
  return measured
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function half(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value / 2
}

function third(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value / 3
}
