// Every disruption of every scenario: `node --conditions=@fairlead/source test/faults/every-disruption.ts [SCENARIO
// [PART OF A TITLE [SHARE]]]`; the share `2/4` is every fourth disruption from the second on. Prints how far it is, how
// many were tried and the slowest recoveries.
import { Checks } from '../long/checks.ts'
import { scenarios } from './scenarios/all.ts'
import { tryScenario } from './scenario-trial.ts'
import { problemsOf, titleOf, disruptionsOf } from './disruptions.ts'

/** Disruptions after which a line says how far it is. */
const reportEvery = 20

const [only, part = '', share = '1/1'] = process.argv.slice(2)
const [first = 1, shares = 1] = share.split('/').map(Number)
const checks = new Checks()
for (const scenario of scenarios.filter(({ name }) => only === undefined || name === only)) {
  const expected = await tryScenario(scenario, { when: 'start' })
  checks.check(problemsOf(scenario, expected, expected).length === 0, `${scenario.name}: undisturbed`)
  const recoveries: { readonly title: string; readonly seconds: number }[] = []
  let unused = 0
  let wrong = 0
  const since = performance.now()
  const chosen = disruptionsOf(scenario, expected.used)
    .filter((one) => titleOf(one).includes(part))
    .filter((_, n) => n % shares === first - 1)
  checks.check(chosen.length > 0, `${scenario.name}: no disruption has "${part}" in its title`)
  for (const [n, disruption] of chosen.entries()) {
    if (n > 0 && n % reportEvery === 0)
      console.log(
        `   ${scenario.name}: ${n} of ${chosen.length}, ${wrong} wrong, ${((performance.now() - since) / 1000).toFixed(0)} s`,
      )
    const title = `${scenario.name}: ${titleOf(disruption)}`
    const outcome = await tryScenario(scenario, disruption, expected)
    const problems = problemsOf(scenario, outcome, expected)
    checks.check(problems.length === 0, `${title}\n    ${problems.join('\n    ')}`)
    if (problems.length > 0) wrong++
    recoveries.push({ title, seconds: outcome.seconds })
    if (disruption.fault !== undefined && disruption.fault !== 'missing' && outcome.failed === 0) unused++
  }
  console.log(
    `${scenario.name}: ${recoveries.length} disruptions, ${wrong} wrong, ${unused} that met no request, ${((performance.now() - since) / 1000).toFixed(0)} s`,
  )
  const slowest = recoveries.toSorted((a, b) => b.seconds - a.seconds).filter(({ seconds }) => seconds > 60)
  for (const { title, seconds } of slowest.slice(0, 10)) console.log(`  ${seconds} s until ${title} had healed`)
}
checks.close()
