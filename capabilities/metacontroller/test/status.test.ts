import type { KubeObject } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { OutputCounts, parentStatus } from '../src/engine/status.ts'
import { claims, configMaps, snapshot, snapshots } from './objects.ts'

const withConditions = (conditions: Readonly<Record<string, string | undefined>>): KubeObject => ({
  ...snapshot('a'),
  status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
})

const countsOf = (...outputs: readonly KubeObject[]): OutputCounts => {
  const tally = new OutputCounts(2)
  for (const output of outputs) tally.count(0, output, 1)
  return tally
}

describe('parentStatus', () => {
  test('counts inputs and outputs by plural, and True conditions by type with a lower-case first letter', () => {
    const all = [
      { Ready: 'True', PodScheduled: 'False' },
      { Ready: 'False' },
      { Ready: 'Unknown', Total: 'True' },
      {},
    ].map(withConditions)
    const facts = {
      generation: 3,
      inputKinds: [claims],
      inputTotals: [2],
      outputKinds: [snapshots('OnDelete'), configMaps],
      outputs: countsOf(...all),
    }
    expect(parentStatus(facts)).toEqual({
      observedGeneration: 3,
      inputs: { persistentvolumeclaims: { total: 2 } },
      outputs: {
        volumesnapshots: { total: 4, ready: 1, podScheduled: 0, conditionTotal: 1 },
        configmaps: { total: 0 },
      },
    })
  })

  test('adds the group where two kinds share a plural', () => {
    const other = { ...snapshots('OnDelete'), group: 'other.example.com', apiVersion: 'other.example.com/v1' }
    const outputKinds = [snapshots('OnDelete'), other, { ...configMaps, plural: 'volumesnapshots' }]
    const { outputs } = parentStatus({
      generation: undefined,
      inputKinds: [],
      inputTotals: [],
      outputKinds,
      outputs: new OutputCounts(3),
    })
    expect(outputs).toEqual({
      'volumesnapshots.snapshot.example.com': { total: 0 },
      'volumesnapshots.other.example.com': { total: 0 },
      volumesnapshots: { total: 0 },
    })
  })
})

describe('OutputCounts', () => {
  test.each([
    { status: null },
    { status: { conditions: {} } },
    { status: { conditions: [null, { type: 1 }, { type: '' }] } },
  ])('ignores malformed conditions: %j', (fields) => {
    expect(countsOf({ ...snapshot('a'), ...fields }).toJson()).toEqual([{ total: 1 }, { total: 0 }])
  })

  const conditions = fc.dictionary(
    fc.constantFrom('Ready', 'ready', 'Bound', 'Total'),
    fc.constantFrom('True', 'False', 'Unknown'),
  )
  property.prop([fc.array(conditions), fc.array(conditions)])(
    'is the same for what was counted and taken back as if it had never been there',
    (stay, go) => {
      const counted = countsOf(...[...stay, ...go].map(withConditions))
      for (const one of go) counted.count(0, withConditions(one), -1)
      expect(counted.toJson()).toEqual(countsOf(...stay.map(withConditions)).toJson())
    },
  )
})
