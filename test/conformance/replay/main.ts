// `npm run replay -- <folder or file> [--area a,b] [--name text] [--jobs n] [--quiet]`: plays API recordings
// (shared/kubernetes/README.md).
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { judge, readExceptions } from '../exceptions.ts'
import { findKubectl } from '../../support/kubectl.ts'
import { play } from './play.ts'
import type { Outcome } from './play.ts'
import { areas, describe } from './report.ts'
import { readScenarios } from './scenario.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    area: { type: 'string' },
    name: { type: 'string' },
    jobs: { type: 'string', default: '4' },
    quiet: { type: 'boolean', default: false },
  },
})
const folder = positionals[0] ?? join(process.env['FAIRLEAD_SHARED'] ?? '../shared', 'kubernetes/recordings')
if (!existsSync(folder)) {
  console.error(`There are no recordings at ${folder}: name a folder or file, or set FAIRLEAD_SHARED.`)
  process.exit(2)
}
const wantedAreas = values.area?.split(',')
const scenarios = readScenarios(folder).filter(
  ({ name }) =>
    (!wantedAreas || wantedAreas.includes(name.split('/')[0] as string)) &&
    (!values.name || name.includes(values.name)),
)
const kubectl = findKubectl('1.33')
if (kubectl === undefined)
  console.log('kubectl 1.33 is not here (KUBECTL names it): scenarios that need it are skipped')

const outcomes: Outcome[] = []
const queue = [...scenarios]
async function worker(): Promise<void> {
  for (let scenario = queue.shift(); scenario !== undefined; scenario = queue.shift()) {
    const { name } = scenario
    const outcome = await play(scenario, kubectl).catch((error: unknown): Outcome => {
      const why = error instanceof Error ? (error.stack ?? error.message) : String(error)
      return {
        name,
        result: 'disagrees',
        strict: false,
        disagreements: [
          { step: -1, request: 'start', differences: [{ path: '', expected: undefined, actual: undefined, why }] },
        ],
      }
    })
    outcomes.push(outcome)
    if (outcome.result === 'disagrees') {
      console.log(`DISAGREES ${outcome.name}`)
      if (!values.quiet) for (const line of describe(outcome)) console.log(line)
    }
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, worker))

const played = outcomes.filter((outcome) => outcome.result !== 'skipped')
const verdict = judge(
  played.map((outcome) => ({ name: outcome.name, passed: outcome.result === 'agrees' })),
  readExceptions(new URL('../known-differences.json', import.meta.url)),
)
console.log()
for (const line of areas(outcomes)) console.log(line)
for (const name of verdict.unexpected) console.log(`disagrees and is not listed: ${name}`)
for (const name of verdict.cured) console.log(`agrees now and is still listed: ${name}`)
const agree = played.filter((outcome) => outcome.result === 'agrees').length
console.log(`strict: ${played.filter((outcome) => outcome.strict).length} of ${played.length}`)
if (outcomes.length > played.length) console.log(`skipped: ${outcomes.length - played.length}`)
console.log(`${agree} passed, ${played.length - agree} failed`)
process.exit(verdict.unexpected.length + verdict.cured.length > 0 ? 1 : 0)
