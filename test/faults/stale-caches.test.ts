// A kind whose watch fails for long while the controllers run, in every capability: nothing is deleted because of what
// its cache says, the status says so, and all is as it should be once the watch works again.
import { expect, test } from 'vitest'
import { scenarios } from './scenarios/all.ts'
import type { Scenario } from './scenario.ts'
import { tryScenario } from './scenario-trial.ts'
import type { Outcome } from './scenario-trial.ts'
import { problemsOf } from './disruptions.ts'

interface Case {
  readonly scenario: string
  /** The kind whose watch fails. */
  readonly kind: string
  /** The deletions that rest on the kind; all when left out. */
  readonly deletions?: RegExp
  /** An object whose Ready condition says so, as status and reason. */
  readonly says?: readonly [object: string, condition: string]
}

const cases: readonly Case[] = [
  { scenario: 'map', kind: 'configmaps', says: ['MapController copies', 'False KindStale'] },
  {
    scenario: 'map',
    kind: 'copys.test.example.com',
    deletions: /\/copys\//,
    says: ['MapController copies', 'False KindStale'],
  },
  { scenario: 'map', kind: 'rules.test.example.com', says: ['MapController copies', 'False KindStale'] },
  {
    scenario: 'composite and decorator',
    kind: 'ships.test.example.com',
    deletions: /\/ships\//,
    says: ['CompositeController fleets', 'False KindStale'],
  },
  {
    scenario: 'composite and decorator',
    kind: 'flags.test.example.com',
    deletions: /\/flags\//,
    says: ['DecoratorController flags', 'False KindStale'],
  },
  { scenario: 'supply', kind: 'clustersupplychains.carto.run', says: ['Workload default/app', 'Unknown KindStale'] },
  { scenario: 'supply', kind: 'workloads.carto.run', says: ['Workload default/app', 'Unknown KindStale'] },
  { scenario: 'actions', kind: 'configmaps', says: ['KindActionMapping kappnav/own', 'Unknown KindStale'] },
  { scenario: 'packages', kind: 'repositories.config.porch.kpt.dev' },
  { scenario: 'references', kind: 'databases.test.dev', says: ['ReferenceRule hosts', 'False KindUnavailable'] },
]

/** The outcome of each scenario when nothing fails, by name. */
const undisturbed = new Map<string, Promise<Outcome>>()

function expectedOf(scenario: Scenario): Promise<Outcome> {
  const outcome = undisturbed.get(scenario.name) ?? tryScenario(scenario, { when: 'start' })
  undisturbed.set(scenario.name, outcome)
  return outcome
}

test.each(cases.flatMap((one) => ([500, 'hang'] as const).map((fault) => ({ ...one, fault }))))(
  '$scenario deletes nothing and reports it while the watch of $kind fails: $fault',
  async ({ scenario: name, kind, fault, deletions = /./, says }) => {
    const scenario = scenarios.find((one) => one.name === name)!
    const expected = await expectedOf(scenario)
    const outcome = await tryScenario(scenario, { right: `watch ${kind}`, fault, when: 'middle' }, expected)
    expect(outcome.deletedMeanwhile.filter((path) => deletions.test(path))).toEqual([])
    const ready = (outcome.meanwhile[says?.[0] ?? '']?.['conditions'] as Record<string, string> | undefined)?.['Ready']
    expect([says?.[0], ready]).toEqual([says?.[0], says?.[1]])
    expect(problemsOf(scenario, outcome, expected)).toEqual([])
  },
)
