// Benchmarks of the API server (specs: foundation §1.5): load from another process, over TLS, on a sqlite store with
// fsync.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { commandStart } from './command-start.ts'
import { Connection } from './connection.ts'
import { peerBinaries, startPeer } from './peer.ts'
import { configMap, configMaps, definitions, thing, thingDefinition, things } from './objects.ts'
import { ServerProcess } from './server-process.ts'
import { opening } from './opening.ts'
import { stalls } from './stalls.ts'
import type { Figure } from '../figure.ts'
import type { Form } from './program.ts'

const inFlight = 32
const watchers = 1000
const writers = 50
const listed = 3300

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number
const spread = (values: readonly number[]): string =>
  `${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)}, ${values.length} runs`

async function repeat<T>(times: number, run: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let index = 0; index < times; index++) results.push(await run(index))
  return results
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await run()
  return performance.now() - begin
}

const below = (figure: string, limit: number, unit: string, values: readonly number[]): Figure => ({
  figure,
  asked: `${limit} ${unit}`,
  reached: `${median(values).toFixed(0)} ${unit}${values.length > 1 ? ` (${spread(values)})` : ''}`,
  holds: median(values) <= limit,
})
const above = (figure: string, limit: number, values: readonly number[]): Figure => ({
  figure,
  asked: `${limit.toLocaleString('en')}/s`,
  reached: `${median(values).toFixed(0)}/s${values.length > 1 ? ` (${spread(values)})` : ''}`,
  holds: median(values) >= limit,
})
const noted = (figure: string, reached: string): Figure => ({ figure, asked: '-', reached, holds: undefined })

/** Measures the appends per second of as much as one durable create appends: two pages of the log. */
function diskRate(): number {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  const file = openSync(join(folder, 'log'), 'a')
  const pages = Buffer.alloc(2 * (4096 + 24), 1)
  const count = 1000
  const begin = performance.now()
  for (let index = 0; index < count; index++) {
    writeSync(file, pages)
    fdatasyncSync(file)
  }
  const elapsed = performance.now() - begin
  closeSync(file)
  rmSync(folder, { recursive: true })
  return (count * 1000) / elapsed
}

const megabytes = (server: ServerProcess): string =>
  `${server
    .memories()
    .map((memory) => memory.toFixed(0))
    .join(' + ')} MB`

async function withThings(server: ServerProcess): Promise<void> {
  await server.send('POST', definitions, thingDefinition)
  const isServed = (): Promise<boolean> =>
    server.send('GET', things).then(
      () => true,
      () => false,
    )
  while (!(await isServed())) await delay(20)
}

const createThing = (prefix: string) => (index: number) => ({
  method: 'POST',
  path: things,
  body: thing(`${prefix}-${index}`),
})
const createConfigMap = (prefix: string) => (index: number) => ({
  method: 'POST',
  path: configMaps,
  body: configMap(`${prefix}-${index}`),
})

/** Starts the server that is measured. */
type Open = (nodeOptions?: readonly string[]) => Promise<ServerProcess>

async function start(form: Form): Promise<Figure[]> {
  const times = await readyTimes(6, () => ServerProcess.start(form))
  const command = await repeat(6, () => commandStart(form))
  // The first run fills the compile cache.
  return [
    below(`process start to /readyz, ${form}`, form === 'built' ? 300 : 1500, 'ms', times.slice(1)),
    noted(
      `fairlead up with all capabilities to /readyz, ${form}`,
      `${median(command.slice(1)).toFixed(0)} ms (${spread(command.slice(1))})`,
    ),
  ]
}

function readyTimes(times: number, open: Open): Promise<number[]> {
  return repeat(times, async () => {
    await using server = await open()
    return server.readyMs
  })
}

async function create(open: Open): Promise<Figure[]> {
  await using server = await open()
  await delay(1000)
  const idle = server.memory()
  const parts = megabytes(server)
  await withThings(server)
  await server.load(300, 1, createThing('warm'))
  const disk: number[] = []
  const single = await repeat(3, async (run) => {
    disk.push(diskRate())
    return (await server.load(700, 1, createThing(`single-${run}`))).perSecond
  })
  const many = await repeat(3, async (run) => (await server.load(2533, inFlight, createThing(`many-${run}`))).perSecond)
  await delay(10_000)
  const share = (median(single) * 100) / median(disk)
  const one = above('durable create, one at a time', 1000, single)
  return [
    { ...below('memory after start', 120, 'MB', [idle]), reached: parts },
    noted('write + fdatasync of the same size', `${median(disk).toFixed(0)}/s (${spread(disk)})`),
    {
      ...one,
      asked: '1,000/s or 60 %',
      reached: `${one.reached}, ${share.toFixed(0)} % of the disk's rate`,
      holds: one.holds === true || share >= 60,
    },
    above(`durable create, ${inFlight} in flight`, 3000, many),
    { ...below('memory 10 s after 10,000 small objects', 180, 'MB', [server.memory()]), reached: megabytes(server) },
  ]
}

async function apply(open: Open): Promise<Figure[]> {
  await using server = await open()
  await withThings(server)
  const request = (index: number): { method: string; path: string; body: object; contentType: string } => {
    const name = `thing-${index % 320}`
    return {
      method: 'PATCH',
      path: `${things}/${name}?fieldManager=bench`,
      body: thing(name, 1 + Math.floor(index / 320)),
      contentType: 'application/apply-patch+yaml',
    }
  }
  await server.load(320, inFlight, request)
  let next = 320
  const rate = async (count: number, width: number): Promise<number> => {
    const first = next
    next += count
    return (await server.load(count, width, (index) => request(first + index))).perSecond
  }
  const single = await repeat(3, () => rate(640, 1))
  const rates = await repeat(5, () => rate(1600, inFlight))
  return [
    noted('server-side apply, one at a time', `${median(single).toFixed(0)}/s (${spread(single)})`),
    above(`server-side apply, ${inFlight} in flight`, 2000, rates),
  ]
}

async function read(open: Open): Promise<Figure[]> {
  await using server = await open()
  await server.load(listed, inFlight, createConfigMap('listed'))
  const get = (index: number): { method: string; path: string } => ({
    method: 'GET',
    path: `${configMaps}/listed-${index % listed}`,
  })
  await server.load(1000, inFlight, get)
  const single = await repeat(3, async () => (await server.load(1000, 1, get)).perSecond)
  const many = await repeat(3, async () => (await server.load(5000, inFlight, get)).perSecond)
  let bytes = 0
  const lists = await repeat(11, () =>
    timed(async () => {
      const { body } = await server.send('GET', configMaps)
      bytes = body.length
    }),
  )
  return [
    noted('get, one at a time', `${median(single).toFixed(0)}/s (${spread(single)})`),
    noted(`get, ${inFlight} in flight`, `${median(many).toFixed(0)}/s (${spread(many)})`),
    below(`list of 3,300 objects (${(bytes / 1e6).toFixed(1)} MB)`, 30, 'ms', lists.slice(1)),
  ]
}

async function removal(open: Open): Promise<Figure[]> {
  await using server = await open()
  const times = await repeat(3, async (run) => {
    await server.load(listed, inFlight, createConfigMap(`run-${run}`))
    return timed(() => server.send('DELETE', `${configMaps}?labelSelector=app%3Dbench`))
  })
  return [
    below('delete collection of 3,300', 500, 'ms', times),
    below('garbage collection of 3,000 dependents, background', 2000, 'ms', await collections(server, 'Background')),
    below('garbage collection of 3,000 dependents, foreground', 2000, 'ms', await collections(server, 'Foreground')),
  ]
}

/** Deletes an owner of 3,000 objects; milliseconds until the last of them is deleted. */
function collections(server: ServerProcess, propagation: 'Background' | 'Foreground'): Promise<number[]> {
  return repeat(3, async (run) => {
    const name = `owner-${propagation.toLowerCase()}-${run}`
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
    const { body } = await server.send('POST', configMaps, owner)
    const { uid } = (JSON.parse(body.toString()) as { metadata: { uid: string } }).metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }]
    await server.load(3000, inFlight, (index) => {
      const metadata = { name: `${name}-${index}`, labels: { owner: name }, ownerReferences }
      return { method: 'POST', path: configMaps, body: { apiVersion: 'v1', kind: 'ConfigMap', metadata } }
    })
    return timed(async () => {
      await server.send('DELETE', `${configMaps}/${name}?propagationPolicy=${propagation}`)
      while ((await dependentsOf(server, name)) > 0) await delay(5)
    })
  })
}

async function dependentsOf(server: ServerProcess, owner: string): Promise<number> {
  const { body } = await server.send('GET', `${configMaps}?limit=1&labelSelector=owner%3D${owner}`)
  return (JSON.parse(body.toString()) as { items: readonly unknown[] }).items.length
}

async function watch(open: Open): Promise<Figure[]> {
  await using server = await open()
  for (let index = 0; index < writers; index++) await server.send('POST', configMaps, configMap(`watched-${index}`, ''))
  const { body } = await server.send('GET', configMaps)
  const { resourceVersion } = (JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }).metadata
  let received = 0
  let wake = (): void => undefined
  const connections: Connection[] = []
  while (connections.length < watchers) {
    connections.push(
      ...(await Promise.all(
        Array.from({ length: 50 }, async () => {
          const connection = await Connection.open(server.target)
          await connection.watch(`${configMaps}?watch=true&resourceVersion=${resourceVersion}`, (count) => {
            received += count
            wake()
          })
          return connection
        }),
      )),
    )
  }
  const arrived = (count: number): Promise<void> =>
    new Promise((resolve) => {
      wake = () => {
        if (received >= count) resolve()
      }
      wake()
    })
  const changes = await Promise.all(
    Array.from({ length: writers }, (_, index) => writerOf(server, `${configMaps}/watched-${index}`)),
  )
  const single = await repeat(25, async () => {
    const expected = received + watchers
    return timed(async () => {
      await changes[0]!()
      await arrived(expected)
    })
  })
  const lags = await steadyChanges(changes, arrived, () => received)
  for (const connection of connections) connection[Symbol.dispose]()
  return [
    below(`one change to the last of ${watchers.toLocaleString('en')} watchers`, 50, 'ms', single.slice(5)),
    below(`100 changes/s to ${watchers.toLocaleString('en')} watchers, largest lag`, 200, 'ms', [Math.max(...lags)]),
    noted(`100 changes/s to ${watchers.toLocaleString('en')} watchers, median lag`, `${median(lags).toFixed(0)} ms`),
  ]
}

/** Changes one object over a connection of its own, each time differently. */
async function writerOf(server: ServerProcess, path: string): Promise<() => Promise<void>> {
  const connection = await Connection.open(server.target)
  let value = 0
  return async () => {
    const body = JSON.stringify({ data: { value: String(value++) } })
    const { status } = await connection.send('PATCH', path, body, 'application/merge-patch+json')
    if (status !== 200) throw new Error(`the change was answered with ${status}`)
  }
}

/**
 * Ten seconds of a hundred changes a second by writers that do not wait for each other; milliseconds from when each was
 * due to its last watcher.
 */
async function steadyChanges(
  changes: readonly (() => Promise<void>)[],
  arrived: (count: number) => Promise<void>,
  received: () => number,
): Promise<number[]> {
  const count = 1000
  const base = received()
  const lags: number[] = []
  const begin = performance.now()
  const due = (index: number): number => begin + index * 10
  const following = async (): Promise<void> => {
    while (lags.length < count) {
      await arrived(base + (lags.length + 1) * watchers)
      const complete = Math.floor((received() - base) / watchers)
      while (lags.length < complete) lags.push(performance.now() - due(lags.length))
    }
  }
  const writing = changes.map(async (change, writer) => {
    for (let index = writer; index < count; index += changes.length) {
      const wait = due(index) - performance.now()
      if (wait > 0) await delay(wait)
      await change()
    }
  })
  await Promise.all([following(), ...writing])
  return lags
}

async function slowDisk(open: Open): Promise<Figure[]> {
  await using server = await open(['--import', new URL('slow-disk.js', import.meta.url).href])
  await server.load(100, inFlight, createConfigMap('warm'))
  const writes = server.load(2000, inFlight, createConfigMap('slow'))
  const reads = await server.load(3000, 1, (index) => ({ method: 'GET', path: `${configMaps}/warm-${index % 100}` }))
  const { p50 } = await writes
  return [
    {
      ...below('GET p99 while each fsync takes 20 ms', 10, 'ms', [reads.p99]),
      reached: `${reads.p99.toFixed(1)} ms (a create takes ${p50.toFixed(0)} ms)`,
    },
  ]
}

const sizes = [1000, 10_000, 50_000]

/** Measures creation and memory while the number of objects grows. */
async function growth(open: Open): Promise<Figure[]> {
  await using server = await open()
  await withThings(server)
  const figures: Figure[] = []
  let count = 0
  for (const size of sizes) {
    const first = count
    await server.load(size - 1000 - first, inFlight, (index) => createThing('growth')(first + index))
    const { perSecond } = await server.load(1000, inFlight, (index) => createThing('growth')(size - 1000 + index))
    count = size
    await delay(5000)
    figures.push(
      noted(
        `create, ${inFlight} in flight, and memory, at ${size.toLocaleString('en')} small objects`,
        `${(1e6 / perSecond).toFixed(0)} us, ${megabytes(server)}`,
      ),
    )
  }
  return figures
}

const scenarios: Readonly<Record<string, (open: Open) => Promise<Figure[]>>> = {
  create,
  apply,
  read,
  removal,
  watch,
}

/** Measures ours, and the real server under the same load where its binaries are named. */
export async function run(only: readonly string[] = []): Promise<readonly Figure[]> {
  const wanted = (name: string): boolean => only.length === 0 || only.includes(name)
  const peer = peerBinaries()
  if (peer === undefined) console.log('apiserver: no peer; KUBE_APISERVER and ETCD name its binaries')
  const figures: Figure[] = []
  if (wanted('start')) {
    const own = [...(await start('built')), ...(await start('source'))]
    const times = peer && (await readyTimes(3, () => startPeer(peer)))
    const other =
      times === undefined ? [] : [noted(own[0]!.figure, `${median(times).toFixed(0)} ms (${spread(times)})`)]
    figures.push(...beside(own, other))
  }
  for (const [name, measure] of Object.entries(scenarios)) {
    if (!wanted(name)) continue
    const own = await measure((options) => ServerProcess.start('built', options))
    // The load of a thousand watchers has not been got to run against the real server: connections stop being made
    // after a hundred.
    const other = peer === undefined || name === 'watch' ? [] : await measure(() => startPeer(peer))
    figures.push(...beside(own, other))
  }
  if (wanted('opening')) figures.push(...(await opening()))
  if (wanted('stalls')) figures.push(...(await stalls()))
  if (wanted('growth')) figures.push(...(await growth((options) => ServerProcess.start('built', options))))
  // Only ours can be given a slow disk.
  if (wanted('slowDisk')) figures.push(...(await slowDisk((options) => ServerProcess.start('built', options))))
  return figures
}

function beside(own: readonly Figure[], peer: readonly Figure[]): Figure[] {
  return own.map((figure) => {
    const other = peer.find((candidate) => candidate.figure === figure.figure)
    return other === undefined ? figure : { ...figure, peer: other.reached }
  })
}
