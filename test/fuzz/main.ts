// `npm run fuzz -- [--minutes N] [--seed S]`: random requests and strings against the whole server in process and the
// pure functions beneath it. What is found is made small, printed and kept under corpus/. Start with main().
import { setFlagsFromString } from 'node:v8'
import { parseArgs } from 'node:util'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { keepCase } from './corpus.ts'
import { functionInputs } from './pure-functions.ts'
import type { FuzzInput } from './input.ts'
import { requests } from './requests.ts'
import { violationsOf } from './trial.ts'

const batch = 400
/** Caches fill in the first minutes; beyond that nothing may stay. */
const maxGrowthBytes = 200 * 2 ** 20
const progressMs = 60_000

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string', default: '1' } },
})
const minutes = Number(values.minutes)
const firstSeed = Number(values.seed)
const inputs: fc.Arbitrary<FuzzInput> = fc.oneof(
  { weight: 3, arbitrary: requests },
  { weight: 2, arbitrary: functionInputs },
)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
function heapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

/** The first line without what differs from run to run: the same cause is reported once. */
function causeOf(violation: string): string {
  return violation
    .replace(/^[A-Z]* [^ ]*: /, '')
    .replaceAll(/"[^"]*"|\d+|map\[.*/g, '…')
    .slice(0, 100)
}

let tried = 0
let sent = 0
const causes = new Map<string, number>()

async function holds(input: FuzzInput): Promise<void> {
  tried++
  if (input.target === 'server') sent += input.requests.length
  const fresh = (await violationsOf(input)).filter((violation) => !causes.has(causeOf(violation)))
  if (fresh.length > 0) throw new Error(fresh[0])
}

async function main(): Promise<void> {
  const end = performance.now() + minutes * 60_000
  let warm: number | undefined
  let reported = performance.now()
  let round = 0
  for (; performance.now() < end; round++) {
    const seed = firstSeed + round
    const result = await fc.check(fc.asyncProperty(inputs, holds), {
      seed,
      numRuns: batch,
      interruptAfterTimeLimit: Math.max(1, end - performance.now()),
      markInterruptAsFailure: false,
    })
    if (result.failed && result.counterexample !== null) {
      const [input] = result.counterexample
      const found = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance)
      causes.set(causeOf(found), (causes.get(causeOf(found)) ?? 0) + 1)
      console.log(
        `found with seed ${seed}, kept as ${keepCase({ found: found.split('\n')[0]!.slice(0, 300), input })}:\n  ${found.slice(0, 3_000)}`,
      )
    }
    if (round === 2) warm = heapBytes()
    if (performance.now() > reported + progressMs) {
      reported = performance.now()
      const left = Math.ceil((end - reported) / 60_000)
      console.error(`${tried} inputs tried, ${causes.size} findings, ${left} min left`)
    }
  }
  const growth = heapBytes() - (warm ?? heapBytes())
  const isBounded = growth < maxGrowthBytes
  console.log(
    `${tried} inputs tried with ${sent} requests in ${minutes} min, seeds ${firstSeed} to ${firstSeed + round - 1}; the heap grew by ${(growth / 2 ** 20).toFixed(1)} MiB`,
  )
  console.log(`${tried - causes.size + (isBounded ? 1 : 0)} passed, ${causes.size + (isBounded ? 0 : 1)} failed`)
  process.exitCode = causes.size === 0 && isBounded ? 0 : 1
}

await main()
