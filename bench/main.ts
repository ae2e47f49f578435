// `npm run bench -- [NAME[/SCENARIO] …] [--write]`: runs the benchmarks of the named folders, all of them without
// names; `--write` puts what they said into RESULTS.md. `npm run bench:check` runs the scenarios with exact counts and
// fails when one does not hold.
import { existsSync, readdirSync } from 'node:fs'
import { textTable } from './figure.ts'
import type { Benchmark, Figure } from './figure.ts'
import { writeResults } from './results.ts'

interface Folder {
  readonly run: Benchmark
  /** Scenarios with exact counts. */
  readonly counted?: readonly string[]
}

const names = readdirSync(import.meta.dirname).filter((name) =>
  existsSync(new URL(`./${name}/index.ts`, import.meta.url)),
)
const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const wanted = new Map<string, string[]>()
for (const argument of process.argv.slice(2)) {
  if (argument.startsWith('--')) continue
  const [name, scenario] = argument.split('/') as [string, string?]
  wanted.set(name, [...(wanted.get(name) ?? []), ...(scenario === undefined ? [] : [scenario])])
}
const unknown = [...wanted.keys()].filter((name) => !names.includes(name))
const strange = options.filter((option) => option !== '--write' && option !== '--check')
if (unknown.length > 0 || strange.length > 0) {
  if (unknown.length > 0) console.error(`There is no benchmark ${unknown.join(', ')}; there are: ${names.join(', ')}`)
  if (strange.length > 0) console.error(`There is no option ${strange.join(', ')}; there are --write and --check`)
  process.exit(2)
}
const isCheck = options.includes('--check')
const exceeded: Figure[] = []
let counts = 0
for (const [name, scenarios] of wanted.size > 0 ? wanted : names.map((name): [string, string[]] => [name, []])) {
  const { run, counted } = (await import(`./${name}/index.ts`)) as Folder
  if (isCheck && counted === undefined) continue
  const figures = await run(isCheck && scenarios.length === 0 ? counted : scenarios)
  console.log(`\n${name}\n${textTable(figures)}`)
  const exact = figures.filter((figure) => figure.exact === true)
  counts += exact.length
  exceeded.push(...exact.filter(({ holds }) => holds !== true))
  if (options.includes('--write')) writeResults(name, figures)
}
if (isCheck) {
  console.log(`\n${counts} exact counts, ${exceeded.length} not as asked${exceeded.length > 0 ? ':' : ''}`)
  for (const { figure, asked, reached } of exceeded) console.log(`  ${figure}: asked ${asked}, got ${reached}`)
  process.exit(exceeded.length === 0 ? 0 : 1)
}
