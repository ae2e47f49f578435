// `npm run cases -- <file or folder> [--id text] [--area name]... [--quiet]`: plays engine cases
// (shared/cases/README.md) and ends with `N passed, N failed`.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { judge, readExceptions } from '../exceptions.ts'
import { caseFiles } from './case-file.ts'
import { describe } from './comparison.ts'
import { runFile } from './run.ts'
import type { Result } from './run.ts'
import { suiteFor } from './suite.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    id: { type: 'string', default: '' },
    area: { type: 'string', multiple: true, default: [] },
    quiet: { type: 'boolean', default: false },
  },
})
const path = positionals[0] ?? join(process.env['FAIRLEAD_SHARED'] ?? '../shared', 'cases')
if (!existsSync(path)) {
  console.error(`There are no cases at ${path}: name a file or folder, or set FAIRLEAD_SHARED.`)
  process.exit(2)
}

const results: Result[] = []
for (const file of caseFiles(path)) {
  const ofFile = await runFile(file, { id: values.id, areas: values.area })
  results.push(...ofFile)
  const name = ofFile[0]?.name.split(':')[0]
  if (name !== undefined && (await suiteFor(name)) === undefined) {
    console.log(`${name} is not built yet: its ${ofFile.length} cases count as failed`)
    continue
  }
  for (const result of ofFile) {
    if (result.outcome === 'manual') console.log(`manual  ${result.name}  ${result.title}`)
    if (result.outcome !== 'failed') continue
    console.log(`FAILED  ${result.name}  ${result.title}`)
    if (!values.quiet)
      for (const disagreement of result.disagreements) for (const line of describe(disagreement)) console.log(line)
  }
}

const counted = results.filter((result) => result.outcome !== 'manual')
const verdict = judge(
  counted.map((result) => ({ name: result.name, passed: result.outcome === 'passed' })),
  readExceptions(new URL('../known-case-differences.json', import.meta.url)),
)
for (const name of verdict.cured) console.log(`agrees now and is still listed in known-case-differences.json: ${name}`)
const passed = counted.filter((result) => result.outcome === 'passed').length
console.log(`${passed} passed, ${counted.length - passed} failed`)
process.exit(verdict.unexpected.length + verdict.cured.length > 0 ? 1 : 0)
