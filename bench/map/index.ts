// `npm run bench -- map`: the figures of specs/map.md §5. The hook is a process of its own; server and controller share
// this one, so CPU seconds are those of both.
import type { Figure } from '../figure.ts'
import { MeasuredCluster } from './measured-cluster.ts'
import { renderTime } from './render-time.ts'

type Row = Figure & { readonly scenario: string }

const scenarios: Readonly<Record<string, () => Promise<Row[]>>> = {
  'one-change-1000': () => oneChange(1000),
  'one-change-50000': () => oneChange(50_000),
  start: startFrom5000,
  burst: burstOf100,
  render: renderedFiles,
}

/** Runs the scenarios named, all of them without names. */
export async function run(names: readonly string[] = []): Promise<readonly Figure[]> {
  const rows: Row[] = []
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (names.length > 0 && !names.includes(name)) continue
    console.log(`map/${name} …`)
    rows.push(...(await scenario()))
  }
  return rows.map(({ scenario, ...row }) => ({ ...row, figure: `${scenario}: ${row.figure}` }))
}

/** Those with exact counts. */
export const counted: readonly string[] = ['one-change-1000', 'start']

let timeAt1000: number | undefined

async function oneChange(inputs: number): Promise<Row[]> {
  await using cluster = await converged(inputs, 0)
  const times: number[] = []
  await cluster.change([0], 1)
  await cluster.quiet()
  await cluster.reset()
  const repeats = 21
  for (let repeat = 0; repeat < repeats; repeat++) {
    times.push(await cluster.change([repeat], 2 + repeat))
    await cluster.quiet()
  }
  const { calls, bytes, writes, gets } = await cluster.cost()
  const time = median(times)
  const scenario = `one of ${inputs} inputs changes`
  const limit = timeAt1000 === undefined || inputs === 1000 ? 10 : timeAt1000 * 1.5
  if (inputs === 1000) timeAt1000 = time
  return [
    { scenario, figure: 'calls', reached: String(calls / repeats), asked: '1', holds: calls === repeats, exact: true },
    {
      scenario,
      figure: 'bytes sent',
      reached: (bytes / repeats).toFixed(0),
      asked: '4096',
      holds: bytes / repeats <= 4096,
      exact: true,
    },
    {
      scenario,
      figure: 'writes',
      reached: String(writes / repeats),
      asked: '1',
      holds: writes === repeats,
      exact: true,
    },
    { scenario, figure: 'GETs', reached: String(gets / repeats), asked: '0', holds: gets === 0, exact: true },
    {
      scenario,
      figure: 'ms to the write',
      reached: `${time.toFixed(1)} (${Math.min(...times).toFixed(1)}-${Math.max(...times).toFixed(1)})`,
      asked: limit.toFixed(1),
      holds: time <= limit,
    },
  ]
}

async function startFrom5000(): Promise<Row[]> {
  const inputs = 5000
  await using cluster = await MeasuredCluster.start(inputs, 1)
  await cluster.reset()
  const started = performance.now()
  const done = cluster.outputsWritten(inputs)
  await cluster.startController()
  const seconds = ((await done) - started) / 1000
  const { cpu } = await cluster.cost()
  await cluster.quiet()
  await cluster.stopController()
  await cluster.reset()
  await cluster.startController()
  const waiting = cluster.firstRound
  await cluster.quiet()
  const { writes, calls } = await cluster.cost()
  const [start, restart] = [`start with ${inputs} to create`, `restart with nothing to do, ${inputs}`]
  return [
    { scenario: start, figure: 's to the last output', reached: seconds.toFixed(2), asked: '4', holds: seconds <= 4 },
    { scenario: start, figure: 'CPU s', reached: cpu.toFixed(2), asked: '6', holds: cpu <= 6 },
    { scenario: restart, figure: 'writes', reached: String(writes), asked: '0', holds: writes === 0, exact: true },
    {
      scenario: restart,
      figure: 'groups that wait for their time',
      reached: String(waiting),
      asked: `> ${inputs * 0.95}`,
      holds: waiting > inputs * 0.95,
    },
    {
      scenario: restart,
      figure: 'calls at once',
      reached: String(calls),
      asked: `< ${inputs / 20}`,
      holds: calls < inputs / 20,
      exact: true,
    },
  ]
}

async function burstOf100(): Promise<Row[]> {
  await using cluster = await converged(1000, 0)
  const times: number[] = []
  const numbers = Array.from({ length: 100 }, (_, index) => index * 7)
  for (let repeat = 0; repeat < 7; repeat++) {
    times.push(await cluster.change(numbers, 1 + repeat))
    await cluster.quiet()
  }
  const time = median(times)
  return [
    {
      scenario: '100 of 1000 inputs change at once',
      figure: 'ms to the last write',
      reached: time.toFixed(0),
      asked: '150',
      holds: time <= 150,
    },
  ]
}

/** `fairlead map render` without reading files: its time must grow with the number of objects, not with its square. */
async function renderedFiles(): Promise<Row[]> {
  const scenario = 'render 20000 objects from files'
  await renderTime(2000)
  const [small, large] = [await renderTime(2000), await renderTime(20_000)]
  return [
    { scenario, figure: 'ms', reached: large.toFixed(0), asked: '5000', holds: large <= 5000 },
    {
      scenario,
      figure: 'times the ms of 2000 objects',
      reached: (large / small).toFixed(1),
      asked: '20',
      holds: large / small <= 20,
    },
  ]
}

/** A cluster at rest with an output for every input. */
async function converged(inputs: number, hookDelay: number): Promise<MeasuredCluster> {
  const cluster = await MeasuredCluster.start(inputs, hookDelay)
  const done = cluster.outputsWritten(inputs)
  await cluster.startController()
  await done
  await cluster.quiet()
  return cluster
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
}
