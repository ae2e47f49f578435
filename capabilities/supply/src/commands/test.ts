// `fairlead supply test`: tests of templates and health rules, from files.
import { existsSync } from 'node:fs'
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller'
import { runCartotests } from '../offline/cartotest.ts'
import { DocumentError } from '../offline/documents.ts'
import { runHealthTests } from '../offline/health-test.ts'
import { findYtt } from '../ytt/ytt-program.ts'

/** Ends with `N passed, N failed`; exit code 1 when one failed. */
export async function run({ arguments: [folder], out, err }: CommandContext): Promise<number> {
  if (typeof folder !== 'string' || !existsSync(folder)) {
    err(`There is no folder ${String(folder)}`)
    return 2
  }
  try {
    const outcomes = [...(await runCartotests(folder, findYtt())), ...runHealthTests(folder, systemClock.now())]
    for (const { name, outcome, problem } of outcomes) {
      out(`${outcome.padEnd(7)} ${name}${outcome === 'skipped' ? `: ${problem}` : ''}`)
      if (outcome === 'failed') for (const line of (problem ?? '').split('\n')) out(`    ${line}`)
    }
    const count = (wanted: string): number => outcomes.filter(({ outcome }) => outcome === wanted).length
    out(`${count('passed')} passed, ${count('failed')} failed`)
    return count('failed') > 0 ? 1 : 0
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    err(error.message)
    return 1
  }
}
