// All disruptions of a scenario, and what is wrong with the outcome of one.
import { isDeepStrictEqual } from 'node:util'
import { faults } from '../support/disturbed-transport.ts'
import { singleRights } from './scenario.ts'
import type { Scenario } from './scenario.ts'
import { nameOf } from './scenario-trial.ts'
import type { Outcome, Disruption } from './scenario-trial.ts'

const times = ['start', 'middle'] as const

/** Late events and late responses, alone and together. */
const delays: readonly Disruption[] = [
  { when: 'start', eventDelay: 20 },
  { when: 'middle', eventDelay: 20 },
  { when: 'middle', responseDelay: 20 },
  { when: 'start', eventDelay: 5, responseDelay: 20 },
]

/**
 * Returns the disruptions of a scenario: late events and responses; each right that is declared missing; and each right
 * that is used failing in each way, at the start and in the middle. Every second one has late events as well.
 */
export function disruptionsOf(scenario: Scenario, used: readonly string[]): readonly Disruption[] {
  const { capability, definitions, grants } = scenario
  const rights = singleRights([...capability.rules, ...grants], [...capability.crds, ...definitions]).map(nameOf)
  const lists = used.filter((right) => right.startsWith('watch ')).map((right) => right.replace('watch', 'list'))
  const missing = rights.flatMap((right) => times.map((when): Disruption => ({ right, fault: 'missing', when })))
  const failing = [...new Set([...used, ...lists])].flatMap((right) =>
    faults.flatMap((fault) => times.map((when): Disruption => ({ right, fault, when }))),
  )
  const late = (disruption: Disruption, n: number): Disruption =>
    n % 2 === 0 ? disruption : { ...disruption, eventDelay: 20 }
  return [...delays, ...missing.map(late), ...failing.map(late)]
}

/** Returns a title of a disruption, for messages. */
export function titleOf({ right, fault, when, eventDelay, responseDelay }: Disruption): string {
  const late = [eventDelay && `events ${eventDelay} ms late`, responseDelay && `responses ${responseDelay} ms late`]
  return [[right, fault, when].filter(Boolean).join(' '), ...late.filter(Boolean)].join(', ')
}

/** Returns what is wrong with an outcome; nothing when it is as expected. */
export function problemsOf(scenario: Scenario, outcome: Outcome, expected: Outcome): readonly string[] {
  const problems: string[] = []
  const compare = (what: string, actual: unknown, wanted: unknown): void => {
    if (!isDeepStrictEqual(actual, wanted))
      problems.push(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(wanted)}`)
  }
  const allowed = new Set(scenario.mayDelete)
  compare(
    'deletions',
    outcome.deleted.filter((path) => !allowed.has(path)),
    scenario.deleted,
  )
  compare('objects that responses denied', outcome.denied, [])
  compare('deletions without uid and resourceVersion', outcome.unconditional, [])
  compare('objects that stay the same', outcome.survivors, expected.survivors)
  for (const id of new Set([...Object.keys(outcome.state), ...Object.keys(expected.state)])) {
    const [actual, wanted] = [outcome.state[id], expected.state[id]]
    if (actual === undefined || wanted === undefined) compare(id, actual, wanted)
    else
      for (const field of new Set([...Object.keys(actual), ...Object.keys(wanted)]))
        compare(`${id} ${field}`, actual[field], wanted[field])
  }
  return problems
}
