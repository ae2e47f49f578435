// Every disruption of every scenario: `node --conditions=@fairlead/source test/faults/every-disruption.ts [SCENARIO
// [PART OF A TITLE]]`. Prints how many were tried and the slowest recoveries.
import { Checks } from '../long/checks.ts'
import { scenarios } from './scenarios/all.ts'
import { tryScenario } from './scenario-trial.ts'
import { problemsOf, titleOf, disruptionsOf } from './disruptions.ts'

const [only, part = ''] = process.argv.slice(2)
const checks = new Checks()
for (const scenario of scenarios.filter(({ name }) => only === undefined || name === only)) {
  const expected = await tryScenario(scenario, { when: 'start' })
  checks.check(problemsOf(scenario, expected, expected).length === 0, `${scenario.name}: undisturbed`)
  const recoveries: { readonly title: string; readonly seconds: number }[] = []
  let unused = 0
  for (const disruption of disruptionsOf(scenario, expected.used).filter((one) => titleOf(one).includes(part))) {
    const title = `${scenario.name}: ${titleOf(disruption)}`
    const outcome = await tryScenario(scenario, disruption, expected)
    const problems = problemsOf(scenario, outcome, expected)
    checks.check(problems.length === 0, `${title}\n    ${problems.join('\n    ')}`)
    recoveries.push({ title, seconds: outcome.seconds })
    if (disruption.fault !== undefined && disruption.fault !== 'missing' && outcome.failed === 0) unused++
  }
  console.log(`${scenario.name}: ${recoveries.length} disruptions, ${unused} that met no request`)
  const slowest = recoveries.toSorted((a, b) => b.seconds - a.seconds).filter(({ seconds }) => seconds > 60)
  for (const { title, seconds } of slowest.slice(0, 10)) console.log(`  ${seconds} s until ${title} had healed`)
}
checks.close()
