// A sample of the disruptions of each capability (every-disruption.ts tries all): what is unknown, late or refused
// deletes nothing that is still wanted, and the state is right once the disruption has passed.
import { expect, test } from 'vitest'
import { scenarios } from './scenarios/all.ts'
import { tryScenario } from './scenario-trial.ts'
import { problemsOf, titleOf, disruptionsOf } from './disruptions.ts'

/** One in so many disruptions is tried here; a prime, so that all rights, faults and times have their share. */
const sampling = 151
/** The same for scenarios whose controllers work by the real clock. */
const slowSampling = 199
/**
 * Always tried: the list that follows contains a change of a user below the controller's own status write; parents wait
 * for the revisions of a rollout to be known; a deletion was answered with 404.
 */
const regressions: readonly string[] = [
  'list workloads.carto.run 500 middle',
  'watch workloads.carto.run 404 start',
  'list controllerrevisions.metacontroller.k8s.io missing start',
  'delete packagevariants.config.porch.kpt.dev 404 middle',
]

test.each(scenarios)('$name deletes only what is superfluous and recovers from every disruption', async (scenario) => {
  const expected = await tryScenario(scenario, { when: 'start' })
  expect(problemsOf(scenario, expected, expected)).toEqual([])
  const isSlow = scenario.holds !== undefined
  const disruptions = disruptionsOf(scenario, expected.used).filter(
    (one, n) =>
      (isSlow ? n === 3 || n % slowSampling === 0 : n < 4 || n % sampling === 0) ||
      regressions.some((title) => titleOf(one).startsWith(title)),
  )
  const problems: Record<string, readonly string[]> = {}
  for (const disruption of disruptions) {
    const found = problemsOf(scenario, await tryScenario(scenario, disruption, expected), expected)
    if (found.length > 0) problems[titleOf(disruption)] = found
  }
  console.log(`${scenario.name}: ${disruptions.length} disruptions tried`)
  expect(problems).toEqual({})
})
