// `npm run test:kuttl -- <folder> [--only NAME]`: runs kuttl test cases against the embedded server with the
// controllers of supply chains, and ends with `N passed, N failed`.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findYtt } from '@fairlead/supply'
import { startCluster } from './cluster.ts'
import { findCases, suiteOf } from './kuttl-case.ts'
import type { KuttlCase } from './kuttl-case.ts'
import { play } from './play.ts'

/** Cases run at a time; kuttl's default is 8. */
const parallel = 4

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', default: '' } },
})
const folder = resolve(
  positionals[0] ??
    join(process.env['FAIRLEAD_SHARED'] ?? '../shared', 'third-party', 'cartographer', 'tests', 'kuttl'),
)
if (!existsSync(folder)) {
  console.error(`There are no kuttl cases at ${folder}: name a folder, or set FAIRLEAD_SHARED.`)
  process.exit(2)
}

const ytt = findYtt()
const found = findCases(folder).filter(({ name }) => name.includes(values.only))
const skipped = found.filter((test) => ytt === undefined && usesYtt(test))
const cases = found.filter((test) => !skipped.includes(test))
for (const { name } of skipped)
  console.log(`skipped ${name}: the ytt program is missing (set YTT, or put it on the PATH)`)

let [passed, failed] = [0, 0]
{
  await using cluster = await startCluster(suiteOf(folder))
  const queue = [...cases.entries()]
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, test] = next
      const failures = await play(test, cluster, `kuttl-test-${index}`)
      if (failures.length === 0) passed++
      else failed++
      console.log(`${failures.length === 0 ? 'passed ' : 'FAILED '} ${test.name}`)
      for (const failure of failures) console.log(`    ${failure}`)
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)

function usesYtt({ folder: at }: KuttlCase): boolean {
  return readdirSync(at).some(
    (file) => file.endsWith('.yaml') && /^\s+ytt:/m.test(readFileSync(join(at, file), 'utf8')),
  )
}
