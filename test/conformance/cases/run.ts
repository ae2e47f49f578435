// Runs case files and collects the result of each case.
import type { Case, CaseFile } from './case-file.ts'
import { formOf, readCaseFile } from './case-file.ts'
import type { Disagreement } from './comparison.ts'
import type { Suite } from './suite.ts'
import { suiteFor, unknownKeys } from './suite.ts'

/** The result of one case. */
export interface Result {
  /** `file:id`. */
  readonly name: string
  readonly title: string
  readonly outcome: 'passed' | 'failed' | 'manual'
  readonly disagreements: readonly Disagreement[]
}

/** Cases to run: those whose id contains `id`, of the areas that are named; all when left out. */
export interface CaseFilter {
  readonly id?: string
  readonly areas?: readonly string[]
}

/** Runs every case of a file, or those that a filter matches. */
export async function runFile(path: string, { id = '', areas = [] }: CaseFilter = {}): Promise<Result[]> {
  const file = readCaseFile(path)
  const suite = await suiteFor(file.name)
  const results: Result[] = []
  for (const entry of file.cases) {
    if (!String(entry.id).includes(id) || (areas.length > 0 && !areas.includes(entry.area))) continue
    results.push(await runCase(entry, file, suite))
  }
  return results
}

async function runCase(entry: Case, file: CaseFile, suite: Suite | undefined): Promise<Result> {
  const base = { name: `${file.name}:${entry.id}`, title: entry.title ?? '' }
  if (entry.manual === true) return { ...base, outcome: 'manual', disagreements: [] }
  const disagreements = await disagreementsOf(entry, file, suite)
  return { ...base, outcome: disagreements.length === 0 ? 'passed' : 'failed', disagreements }
}

async function disagreementsOf(
  entry: Case,
  file: CaseFile,
  suite: Suite | undefined,
): Promise<readonly Disagreement[]> {
  const form = formOf(entry)
  if (form.length > 0) return form.map((came) => ({ at: 'case', wanted: 'a case as the README says', came }))
  if (suite === undefined) return [{ at: 'file', wanted: 'a suite', came: `${file.name} is not built yet` }]
  const area = suite.areas[entry.area]
  if (area === undefined)
    return [{ at: 'area', wanted: `one of ${Object.keys(suite.areas).join(', ')}`, came: entry.area }]
  const unknown = unknownKeys(entry, area)
  if (unknown.length > 0) return unknown
  try {
    return await suite.run(entry, file)
  } catch (error) {
    return [{ at: 'run', wanted: 'an answer', came: error instanceof Error ? (error.stack ?? error.message) : error }]
  }
}
