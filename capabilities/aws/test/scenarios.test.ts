// The scenario suites of ACK's SageMaker controller. States are compared as ACK compares them; of conditions type and
// status. Not compared: Synced after a failed call (ours is Unknown, as
// in the present runtime of ACK), the Recoverable of a mere wait, a False that ours expresses by no condition, and Synced
// of a new endpoint: it is True there, while ours shows the status Creating from the creation on.
import type { JsonObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { dataPath, describeData } from '../../../test/support/conformance-data.ts'
import { comparable, expectedState, play, scenariosOf } from './scenario.ts'
import type { Scenario } from './scenario.ts'

/** Scenarios that we decide otherwise, at most one in twenty. */
const exceptions: Readonly<Record<string, string>> = {
  'Model Update=NotSupported':
    'ends in ACK.Terminal there; the specification says not to (originals/ack.md §9): Synced False and an advisory',
  'EndpointConfig Update=NotSupported': 'as that of Model',
}

const folders: Readonly<Record<string, string>> = {
  Model: 'model',
  EndpointConfig: 'endpoint_config',
  Endpoint: 'endpoint',
}

interface Seen {
  readonly type: string
  readonly status: string
}

function conditionsIn(status: JsonObject): readonly Seen[] {
  return (status['conditions'] ?? []) as unknown as readonly Seen[]
}

describeData(
  "scenarios of ACK's SageMaker controller",
  {
    minimum: 45,
    read: () =>
      Object.entries(folders)
        .flatMap(([kind, name]) =>
          scenariosOf(kind, dataPath('third-party/ack/sagemaker-controller/pkg/resource', name, 'testdata')),
        )
        .map((scenario): Scenario & { readonly title: string } => ({
          ...scenario,
          title: `${scenario.kind} ${scenario.name}`,
        })),
  },
  (scenarios) => {
    test('at most one scenario in twenty is an exception', () => {
      expect(Object.keys(exceptions).length / scenarios.length).toBeLessThanOrEqual(0.05)
      expect(Object.keys(exceptions).filter((name) => !scenarios.some(({ title }) => title === name))).toEqual([])
    })

    test.each(scenarios.filter(({ title }) => exceptions[title] === undefined))('$title', async (scenario) => {
      const played = await play(scenario)
      expect({ unexpected: played.unexpected, left: played.left }).toEqual({ unexpected: [], left: [] })
      const { error } = scenario.expect
      const isWait = /is Deleting|cannot be modified/.test(error ?? '')
      if (error !== undefined && error !== null)
        expect(played.error?.replace(/\.$/, '')).toBe(error === 'nil' ? undefined : error.replace(/\.$/, ''))
      const expected = expectedState(scenario)
      if (expected === undefined) return
      const isFailed = error !== undefined && error !== null && error !== 'nil'
      // A failed update returns the resource as it is there; our spec stays what is wanted.
      if (!(isFailed && scenario.invoke === 'Update'))
        expect(comparable(played.spec)).toEqual(comparable(expected['spec'] as JsonObject))
      const { conditions: _conditions, ackResourceMetadata, ...status } = (expected['status'] ?? {}) as JsonObject
      const { ackResourceMetadata: ours, ...actual } = played.status
      if (scenario.invoke === 'Create') delete (actual as Record<string, unknown>)['endpointStatus']
      // After a failed call ours keeps what was seen last.
      if (isFailed) expect(comparable(actual) ?? {}).toMatchObject((comparable(status) ?? {}) as object)
      else expect(comparable(actual)).toEqual(comparable(status))
      expect((ours as JsonObject | undefined)?.['arn']).toEqual((ackResourceMetadata as JsonObject)['arn'])
      const wanted = conditionsIn(expected['status'] as JsonObject).filter(
        ({ type, status: value }) =>
          !(['ACK.Terminal', 'ACK.Recoverable'].includes(type) && value === 'False') &&
          !(type === 'ACK.ResourceSynced' && isFailed && value !== 'False') &&
          !(type === 'ACK.ResourceSynced' && scenario.invoke === 'Create') &&
          !(type === 'ACK.Recoverable' && isWait),
      )
      const shown = played.conditions.map(({ type, status: value }) => `${type} ${value}`)
      expect(shown).toEqual(expect.arrayContaining(wanted.map(({ type, status: value }) => `${type} ${value}`)))
      for (const type of ['ACK.Terminal', 'ACK.Recoverable'])
        if (shown.includes(`${type} True`)) expect(wanted.map((one) => one.type)).toContain(type)
    })
  },
)
