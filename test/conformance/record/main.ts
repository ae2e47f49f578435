// `npm run record -- FILE… [--out FOLDER] [--name text]`: plays the requests of scenario files (the format of
// recordings; responses may be missing) against a real API server and writes its responses, one scenario per line.
// KUBE_APISERVER and ETCD name the binaries, KUBE_CONTROLLER_MANAGER one for scenarios about namespaces and garbage.
// Each scenario is played twice: what differs between both runs is said and not written, unless its order alone does.
import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { stringifyJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { findKubectl } from '../../support/kubectl.ts'
import { readScenarios } from '../replay/scenario.ts'
import type { Scenario, Step } from '../replay/scenario.ts'
import { binariesOfEnvironment, startCluster } from './cluster.ts'
import { record } from './record.ts'

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' }, name: { type: 'string' } },
})
const binaries = binariesOfEnvironment()
if (binaries === undefined || files.length === 0) {
  console.error(
    files.length === 0
      ? 'Usage: npm run record -- FILE… [--out FOLDER] [--name text]'
      : 'There is no API server to record from: KUBE_APISERVER and ETCD name the binaries.',
  )
  process.exit(2)
}

const server = await startCluster(binaries)
const kubectl = findKubectl('1.33')
let failed = 0
try {
  for (const file of files) {
    const scenarios: Scenario[] = []
    for (const scenario of readScenarios(file)) {
      const isWanted = values.name === undefined || scenario.name.includes(values.name)
      const recorded = isWanted ? await recordTwice(scenario) : scenario
      if (recorded === undefined) failed++
      else scenarios.push(recorded)
    }
    const target = values.out === undefined ? file : join(values.out, basename(file))
    const lines = scenarios.map((scenario) => stringifyJson(scenario as unknown as JsonValue))
    writeFileSync(target, `[\n${lines.join(',\n')}\n]\n`)
    console.log(`${basename(file)}: ${scenarios.length} written`)
  }
} finally {
  await server.stop()
}
process.exitCode = failed > 0 ? 1 : 0

async function recordTwice(scenario: Scenario): Promise<Scenario | undefined> {
  try {
    const first = await record(scenario, server, kubectl)
    const second = await record(scenario, server, kubectl)
    const unstable = first.steps.flatMap((step, index) =>
      isDeepStrictEqual(step, second.steps[index]) || isSameButOrder(step, second.steps[index] as Step) ? [] : [index],
    )
    if (unstable.length > 0) {
      console.error(`${scenario.name}: two runs differ at step ${unstable.join(', ')}`)
      for (const index of unstable)
        console.error(
          `  ${stringifyJson(first.steps[index] as JsonValue)}\n  ${stringifyJson(second.steps[index] as JsonValue)}`,
        )
      return undefined
    }
    return { ...first, steps: first.steps.map((step, index) => marked(step, second.steps[index] as Step)) }
  } catch (error) {
    console.error(`${scenario.name}: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}

function sorted(text: string): string {
  return [...text].sort().join('')
}

/** Statuses whose causes, and outputs whose lines, came in another order. */
function isSameButOrder(a: Step, b: Step): boolean {
  if (a.kind === 'http' && b.kind === 'http' && a.response.status >= 400)
    return (
      sorted(stringifyJson(a.response as unknown as JsonValue)) ===
      sorted(stringifyJson(b.response as unknown as JsonValue))
    )
  return (
    a.kind === 'kubectl' &&
    b.kind === 'kubectl' &&
    sorted(a.result.stdout + a.result.stderr) === sorted(b.result.stdout + b.result.stderr)
  )
}

function marked(step: Step, other: Step): Step {
  if (isDeepStrictEqual(step, other)) return step
  if (step.kind === 'http') return { ...step, response: { ...step.response, unorderedCauses: true } }
  if (step.kind === 'kubectl') return { ...step, result: { ...step.result, unorderedLines: true } }
  return step
}
