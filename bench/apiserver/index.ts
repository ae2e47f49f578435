// Benchmarks of the API server (specs: foundation §1.5): load from another process, over TLS, on a sqlite store with fsync.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ServerProcess } from './server-process.ts'
import type { Form } from './server-process.ts'

interface Row {
  readonly figure: string
  readonly asked: string
  readonly reached: string
  readonly holds: boolean
}

const startRepeats = 5
const objects = 10_000
const inFlight = 32
const things = '/apis/bench.example.com/v1/namespaces/default/things'

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.bench.example.com' },
  spec: {
    group: 'bench.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' }, color: { type: 'string' } } } } } } },
    ],
  },
}

const thing = (name: string): object => ({ apiVersion: 'bench.example.com/v1', kind: 'Thing', metadata: { name }, spec: { size: 1, color: 'blue' } })

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number

/** Runs `count` calls, `width` at a time; resolves with calls per second. */
async function rate(count: number, width: number, call: (index: number) => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await call(index)
  }
  await Promise.all(Array.from({ length: width }, worker))
  return (count * 1000) / (performance.now() - begin)
}

async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  try {
    return await use(join(folder, 'store'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function readyTime(form: Form): Promise<{ median: number; spread: string }> {
  const times: number[] = []
  for (let run = 0; run <= startRepeats; run++) {
    const ms = await withFolder(async (folder) => {
      await using server = await ServerProcess.start(folder, form)
      return server.readyMs
    })
    // The first run fills the compile cache.
    if (run > 0) times.push(ms)
  }
  return { median: median(times), spread: `${Math.min(...times).toFixed(0)}-${Math.max(...times).toFixed(0)}` }
}

async function created(server: ServerProcess, name: string): Promise<void> {
  const answer = await server.send('POST', things, thing(name))
  if (answer.status !== 201) throw new Error(`create answered ${answer.status}: ${answer.text}`)
}

async function measureLoad(rows: Row[], form: Form): Promise<void> {
  await withFolder(async (folder) => {
    await using server = await ServerProcess.start(folder, form)
    await delay(1000)
    const idle = server.memory()
    rows.push({ figure: 'memory after start', asked: '120 MB', reached: `${idle.toFixed(0)} MB`, holds: idle <= 120 })
    await server.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
    while ((await server.send('GET', things)).status !== 200) await delay(20)
    const single = await rate(1000, 1, (index) => created(server, `single-${index}`))
    rows.push({ figure: 'durable create, one at a time', asked: '1,000/s', reached: `${single.toFixed(0)}/s`, holds: single >= 1000 })
    const many = await rate(objects - 1000, inFlight, (index) => created(server, `many-${index}`))
    rows.push({ figure: `durable create, ${inFlight} in flight`, asked: '3,000/s', reached: `${many.toFixed(0)}/s`, holds: many >= 3000 })
    await delay(10_000)
    const loaded = server.memory()
    rows.push({ figure: `memory 10 s after ${objects.toLocaleString('en')} small objects`, asked: '180 MB', reached: `${loaded.toFixed(0)} MB`, holds: loaded <= 180 })
  })
}

/** Prints the table; throws nothing for a figure that is missed, says it. */
export async function run(): Promise<void> {
  const rows: Row[] = []
  const built = existsSync(new URL('../../foundation/apiserver/dist/index.js', import.meta.url))
  for (const form of built ? (['built', 'source'] as const) : (['source'] as const)) {
    const asked = form === 'built' ? 300 : 1500
    const { median: ms, spread } = await readyTime(form)
    rows.push({ figure: `process start to /readyz, ${form}`, asked: `${asked} ms`, reached: `${ms.toFixed(0)} ms (${spread}, ${startRepeats} runs)`, holds: ms <= asked })
  }
  if (!built) console.log('apiserver: the built form is not measured; `npm run build` makes it')
  await measureLoad(rows, built ? 'built' : 'source')
  console.log('\napiserver')
  const width = Math.max(...rows.map((row) => row.figure.length))
  for (const row of rows) console.log(`${row.holds ? 'reached' : 'MISSED '}  ${row.figure.padEnd(width)}  asked ${row.asked.padEnd(10)} got ${row.reached}`)
}
