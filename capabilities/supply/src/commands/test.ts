// `fairlead supply test`: runs tests of templates and health rules from files.
import { statSync } from 'node:fs'
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode, testSummary, usageError } from '@fairlead/offline'
import { runCartotests } from '../offline/cartotest.ts'
import { runHealthTests } from '../offline/health-test.ts'
import type { TestOutcome } from '../offline/test-outcome.ts'
import { Ytt } from '../ytt/ytt.ts'

const testFiles =
  'a test is a folder with template.yaml or info.yaml and expected.yaml (cartotest), or a file health_test.yaml'

/** Ends with `N passed, N failed`. Exit code 1 when a test fails. */
export async function run({
  arguments: { folder },
  out,
}: CommandContext<object, { readonly folder: string }>): Promise<number> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw usageError(`There is no folder ${folder}`)
  const outcomes = [...(await runCartotests(folder, new Ytt())), ...runHealthTests(folder, systemClock.now())]
  for (const { name, outcome, problem } of outcomes) {
    out(`${outcome.padEnd(7)} ${name}${outcome === 'skipped' ? `: ${problem}` : ''}`)
    if (outcome === 'failed') for (const line of (problem ?? '').split('\n')) out(`    ${line}`)
  }
  const count = (outcome: TestOutcome['outcome']): number => outcomes.filter((one) => one.outcome === outcome).length
  out(testSummary({ passed: count('passed'), failed: count('failed'), skipped: count('skipped') }, folder, testFiles))
  return count('failed') > 0 ? exitCode.error : exitCode.ok
}
