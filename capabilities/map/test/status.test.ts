import { fc, test as property } from '@fast-check/vitest'
import type { KubeObject } from '@fairlead/kube'
import { Tally } from '@fairlead/map'
import { describe, expect, it } from 'vitest'
import { claims, configMaps, snapshot, snapshots } from './objects.ts'

const withConditions = (conditions: Record<string, string>): KubeObject => ({
  ...snapshot('a'),
  status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
})

describe('Tally', () => {
  it('counts inputs and outputs by plural, and conditions that are True with their first letter lowered', () => {
    const tally = new Tally([claims], [snapshots('OnDelete'), configMaps])
    tally.countInput(0, 1)
    tally.countInput(0, 1)
    for (const conditions of [
      { Ready: 'True', PodScheduled: 'False' },
      { Ready: 'False' },
      { Ready: 'Unknown', Total: 'True' },
      {},
    ]) {
      tally.countOutput(0, withConditions(conditions), 1)
    }
    expect(tally.toStatus(3)).toEqual({
      observedGeneration: 3,
      inputs: { persistentvolumeclaims: { total: 2 } },
      outputs: {
        volumesnapshots: { total: 4, ready: 1, podScheduled: 0, conditionTotal: 1 },
        configmaps: { total: 0 },
      },
    })
  })

  it('names the group where two kinds share a plural', () => {
    const other = { ...snapshots('OnDelete'), group: 'other.example.com', apiVersion: 'other.example.com/v1' }
    const core = { ...configMaps, plural: 'volumesnapshots' }
    expect(
      Object.keys(new Tally([], [snapshots('OnDelete'), other, core]).toStatus(undefined).outputs as object),
    ).toEqual(['volumesnapshots.snapshot.example.com', 'volumesnapshots.other.example.com', 'volumesnapshots'])
  })

  it.each([
    { status: null },
    { status: { conditions: {} } },
    { status: { conditions: [null, { type: 1 }, { type: '' }] } },
  ])('overlooks conditions that are none: %j', (fields) => {
    const tally = new Tally([claims], [configMaps])
    tally.countOutput(0, { ...snapshot('a'), ...fields }, 1)
    expect(tally.toStatus(undefined).outputs).toEqual({ configmaps: { total: 1 } })
  })

  const conditions = fc.dictionary(
    fc.constantFrom('Ready', 'ready', 'Bound', 'Total'),
    fc.constantFrom('True', 'False', 'Unknown'),
  )
  property.prop([fc.array(conditions), fc.array(conditions)])(
    'is the same for what was counted and taken back as if it had never been there',
    (stay, go) => {
      const counted = new Tally([], [configMaps])
      const fresh = new Tally([], [configMaps])
      for (const one of [...stay, ...go]) counted.countOutput(0, withConditions(one), 1)
      for (const one of go) counted.countOutput(0, withConditions(one), -1)
      for (const one of stay) fresh.countOutput(0, withConditions(one), 1)
      expect(counted.toStatus(1)).toEqual(fresh.toStatus(1))
    },
  )
})
