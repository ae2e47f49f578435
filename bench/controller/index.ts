// `npm run bench -- controller`: the figures of specs/foundation.md §3, reached beside asked. Over HTTPS the server is
// a process of its own.
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { PerformanceObserver, monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Client, ConfigMap, HttpsTransport, WatchCache } from '@fairlead/client'
import type { Transport, ReflectorEvent } from '@fairlead/client'
import { InformerPool, Manager } from '@fairlead/controller'
import { loadedServer, machineNow, nameOf, publications, token } from './loaded-server.ts'
import type { ServerReady } from './loaded-server.ts'
import type { Figure } from '../figure.ts'

const objects = 100_000
const reconciled = 10_000
/** Changes whose way to a reconcile is measured, one at a time. */
const changes = 500

const scenarios: Readonly<Record<string, () => Promise<Figure[]>>> = {
  'sync-in-process': syncInProcess,
  'sync-https': syncOverHttps,
  'latency-in-process': latencyInProcess,
  'latency-https': latencyOverHttps,
  'no-op': noOpReconciles,
  'pauses-in-process': pausesInProcess,
  'pauses-https': pausesOverHttps,
}

/** Runs the named scenarios, or all. */
export async function run(names: readonly string[] = []): Promise<readonly Figure[]> {
  const rows: Figure[] = []
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (names.length > 0 && !names.includes(name)) continue
    console.log(`controller/${name} …`)
    rows.push(...(await scenario()))
  }
  return rows
}

/** Scenarios whose figures are exact counts. */
export const counted: readonly string[] = ['no-op']

async function syncInProcess(): Promise<Figure[]> {
  await using server = await loadedServer(objects)
  const times: number[] = []
  // The first reader of an object has its view built, which the others share.
  await synced(server.client())
  for (let repeat = 0; repeat < 7; repeat++) times.push(await synced(server.client()))
  return [
    within(`${objects} objects to a synced informer, in-process`, times, 300),
    ...(await indexSizes(server.client())),
  ]
}

async function syncOverHttps(): Promise<Figure[]> {
  await using server = await ServerProcess.start(objects)
  const times: number[] = []
  for (let repeat = 0; repeat < 5; repeat++) times.push(await synced(server.client()))
  return [within(`${objects} objects to a synced informer, HTTPS`, times, 4000)]
}

/** Milliseconds until an informer has everything. */
async function synced(client: Client): Promise<number> {
  await using pool = new InformerPool(client, client.clock)
  const started = performance.now()
  const { informer } = pool.use(ConfigMap)
  await informer.waitForState()
  const elapsed = performance.now() - started
  if (informer.lastKnown.size < objects) throw new Error(`The informer holds ${informer.lastKnown.size} objects`)
  return elapsed
}

async function indexSizes(client: Client): Promise<Figure[]> {
  await using pool = new InformerPool(client, client.clock)
  const { informer } = pool.use(ConfigMap)
  await informer.waitForState()
  const sizeOf = (name: string, valuesOf: (object: ConfigMap) => readonly string[]): Figure => {
    const before = heap()
    informer.addIndex(name, valuesOf)
    const megabytes = (heap() - before) / 1e6
    return {
      figure: `an index over ${objects} objects, ${name}`,
      reached: `${megabytes.toFixed(1)} MB`,
      asked: '20 MB',
      holds: megabytes <= 20,
    }
  }
  return [
    sizeOf('a value per object', (object) => [object.data?.['index'] ?? '']),
    sizeOf('a hundred values', (object) => [object.metadata.labels?.['shard'] ?? '']),
    sizeOf('namespaces', (object) => [object.metadata.namespace ?? '']),
  ]
}

async function latencyInProcess(): Promise<Figure[]> {
  await using server = await loadedServer(100)
  const published = publications(server)
  const times = await latencies(server.client(), () => Promise.resolve(published))
  return [atMost('publication of an event to reconcile start, idle, in-process', times, 1)]
}

async function latencyOverHttps(): Promise<Figure[]> {
  await using server = await ServerProcess.start(100)
  const times = await latencies(server.client(), () => server.published())
  return [atMost('publication of an event to reconcile start, idle, HTTPS', times, 5)]
}

/** Changes an object at a time; milliseconds from the publication of each change to the start of its reconcile. */
async function latencies(client: Client, published: () => Promise<ReadonlyMap<string, number>>): Promise<number[]> {
  const started = new Map<string, number>()
  let wake = (): void => {}
  await using _manager = await Manager.start({
    client,
    setup: (manager) => {
      manager
        .controller('measured')
        .for(ConfigMap)
        .reconcile(({ object }) => {
          started.set(`default/${object.metadata.name}@${object.metadata.resourceVersion}`, machineNow())
          wake()
        })
    },
  })
  const reconcileOf = async (id: string): Promise<void> => {
    while (!started.has(id)) await new Promise<void>((resolve) => (wake = resolve))
  }
  const ids: string[] = []
  for (let index = 0; index < changes; index++) {
    const merge = { data: { round: String(index) } }
    const { metadata } = await client.patch(ConfigMap, `default/${nameOf(index % 100)}`, { merge })
    const id = `default/${metadata.name}@${metadata.resourceVersion}`
    await reconcileOf(id)
    // The first hundred warm the code up.
    if (index >= 100) ids.push(id)
    await delay(2)
  }
  const times = await published()
  return ids.map((id) => started.get(id)! - times.get(id)!)
}

async function noOpReconciles(): Promise<Figure[]> {
  await using server = await loadedServer(reconciled)
  const requests = { count: 0 }
  const client = new Client({ transport: counting(server.transport(), requests) })
  let runs = 0
  let done = (): void => {}
  await using manager = await Manager.start({ client })
  const controller = manager
    .controller('no-op')
    .for(ConfigMap)
    .reconcile(() => {
      if (++runs === reconciled) done()
    })
  const times: number[] = []
  const finished = (): Promise<void> =>
    new Promise((resolve) => {
      runs = 0
      done = resolve
    })
  await finished()
  requests.count = 0
  for (let repeat = 0; repeat < 5; repeat++) {
    const all = finished()
    const began = performance.now()
    for (const key of controller.informer.lastKnown.keys()) controller.enqueue(key)
    await all
    times.push(performance.now() - began)
  }
  return [
    within(`${reconciled} no-op reconciles`, times, 1000),
    {
      figure: `requests of ${reconciled} no-op reconciles`,
      reached: String(requests.count),
      asked: '0',
      holds: requests.count === 0,
      exact: true,
    },
  ]
}

async function pausesInProcess(): Promise<Figure[]> {
  await using server = await loadedServer(objects)
  // The first reader of an object has its view built, which the others share.
  await synced(server.client())
  return await pauses(server.client(), 'in-process')
}

async function pausesOverHttps(): Promise<Figure[]> {
  await using server = await ServerProcess.start(objects)
  return await pauses(server.client(), 'HTTPS')
}

/**
 * Measures the longest pauses of the event loop while a large cache is filled, listed again, and delivered to one more
 * controller.
 */
async function pauses(client: Client, transport: string): Promise<Figure[]> {
  await using manager = await Manager.start({ client })
  const loop = manager.loop<string>({ name: 'one-more', id: (item) => item, run: () => {} })
  const view = new WatchCache<ConfigMap>(() => {})
  const list = async (): Promise<void> => {
    const stop = new AbortController()
    const listener = (event: ReflectorEvent<ConfigMap>): void => {
      view.apply(event)
      if (event.type === 'replaced') stop.abort()
    }
    await client.reflector(ConfigMap, {}, listener).run(stop.signal)
  }
  const use = manager.use(ConfigMap)
  await use.informer.waitForState()
  const oneMore = async (): Promise<void> => {
    // Counts what the informer delivers: the length of the queue never gets there, workers drain it meanwhile.
    let delivered = 0
    using _watch = loop.watch(ConfigMap, ({ metadata }) => {
      delivered++
      return [metadata.name!]
    })
    while (delivered < objects) await delay(10)
  }
  return [
    await pauseOf(`the first list of ${objects} objects, ${transport}`, list),
    await pauseOf(`another list of ${objects} objects, ${transport}`, list),
    await pauseOf(`one more controller of ${objects} objects, ${transport}`, oneMore),
  ]
}

/** Measures the longest time in which no timer fired during `run`, with garbage collections counted separately. */
async function pauseOf(what: string, run: () => Promise<void>): Promise<Figure> {
  let collecting = 0
  const observer = new PerformanceObserver((entries) => {
    for (const { duration } of entries.getEntries()) collecting = Math.max(collecting, duration)
  })
  observer.observe({ entryTypes: ['gc'] })
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  histogram.enable()
  await delay(20)
  histogram.reset()
  await run()
  await delay(20)
  histogram.disable()
  observer.disconnect()
  const longest = histogram.max / 1e6
  return {
    figure: `longest pause in ${what}`,
    reached: `${longest.toFixed(1)} ms, the longest collection ${collecting.toFixed(1)} ms`,
    asked: '20 ms beside collections',
    holds: longest - collecting <= 20,
  }
}

/** A server in a process of its own, with so many objects. */
class ServerProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #ready: ServerReady

  private constructor(child: ChildProcess, ready: ServerReady) {
    this.#child = child
    this.#ready = ready
  }

  static async start(count: number): Promise<ServerProcess> {
    const child = fork(new URL('loaded-server.ts', import.meta.url).pathname, [String(count)])
    return new ServerProcess(child, await responseOf<ServerReady>(child))
  }

  client(): Client {
    const { url, ca } = this.#ready
    return new Client({ transport: new HttpsTransport({ server: url, ca, token }) })
  }

  async published(): Promise<ReadonlyMap<string, number>> {
    const response = responseOf<[string, number][]>(this.#child)
    this.#child.send('published')
    return new Map(await response)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.disconnect()
    await exited
  }
}

function responseOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T))
    child.once('exit', (code) => reject(new Error(`The server process ended with ${code}`)))
  })
}

function counting(inner: Transport, requests: { count: number }): Transport {
  return {
    address: inner.address,
    request: (request) => {
      requests.count++
      return inner.request(request)
    },
    watch: (request) => inner.watch(request),
    as: (who) => counting(inner.as(who), requests),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  }
}

let collect: (() => void) | undefined

/** Bytes of the heap that are still referenced. */
function heap(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

function within(figure: string, times: readonly number[], limit: number): Figure {
  const sorted = times.toSorted((a, b) => a - b)
  const median = sorted[sorted.length >> 1]!
  const range = `${sorted[0]!.toFixed(0)}-${sorted.at(-1)!.toFixed(0)}, ${sorted.length} runs`
  return { figure, reached: `${median.toFixed(0)} ms (${range})`, asked: `${limit} ms`, holds: median <= limit }
}

function atMost(figure: string, times: readonly number[], limit: number): Figure {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)]!
  return {
    figure: `${figure}, p99`,
    reached: `${at(0.99).toFixed(2)} ms (median ${at(0.5).toFixed(2)}, ${sorted.length} changes)`,
    asked: `${limit} ms`,
    holds: at(0.99) <= limit,
  }
}
