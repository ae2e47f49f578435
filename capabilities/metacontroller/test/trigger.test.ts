import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { startDelay, untilResync } from '../src/engine/resync.ts'
import { inputChangeMatters, parentChangeMatters, seenDigest, wasSeen } from '../src/engine/trigger.ts'
import { claim, claims, controller, outputOf, parent, snapshot } from './objects.ts'

const moved = (object: KubeObject, change: { metadata?: object; [field: string]: unknown }): KubeObject => ({
  ...object,
  ...change,
  metadata: { ...object.metadata, resourceVersion: '2', ...change.metadata },
})

describe('parentChangeMatters', () => {
  const config: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'p' }, data: { a: '1' } }
  test.each<[string, KubeObject, KubeObject, boolean]>([
    ['the same version delivered again', parent(), parent(), false],
    ['a change of status', parent(), moved(parent(), { status: { inputs: {} } }), false],
    ['a new generation', parent(), moved(parent(), { metadata: { generation: 2 } }), true],
    ['new labels', parent(), moved(parent(), { metadata: { labels: { a: 'b' } } }), true],
    ['new annotations', parent(), moved(parent(), { metadata: { annotations: { a: 'b' } } }), true],
    ['new managedFields', parent(), moved(parent(), { metadata: { managedFields: [] } }), false],
    ['another object of the name', parent(), moved(parent({ uid: 'new' }), {}), true],
    ['a change of content without generations', config, moved(config, { data: { a: '2' } }), true],
    ['a change of status without generations', config, moved(config, { status: {} }), false],
  ])('%s', (_title, before, after, matters) => {
    expect(parentChangeMatters(before, after)).toBe(matters)
  })
})

describe('inputChangeMatters', () => {
  test.each<[string, object, { metadata?: object; [field: string]: unknown }, boolean]>([
    ['a change of status', {}, { status: { phase: 'Bound' } }, true],
    ['a change of status that is noise', { ignoreStatusChanges: true }, { status: { phase: 'Bound' } }, false],
    ['a change of spec beside noise', { ignoreStatusChanges: true }, { spec: { volumeName: 'b' } }, true],
    [
      'a deletion beside noise',
      { ignoreStatusChanges: true },
      { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
      true,
    ],
    ['a change of a watched field', { fieldPaths: ['spec.volumeName'] }, { spec: { volumeName: 'b' } }, true],
    [
      'a change beside the watched fields',
      { fieldPaths: ['spec.volumeName', 'metadata.labels'] },
      { status: { phase: 'Bound' }, spec: { volumeName: 'a', other: 1 } },
      false,
    ],
    ['a new object of the name', { fieldPaths: ['spec.volumeName'] }, { metadata: { uid: 'new' } }, true],
    ['nothing but a new version', {}, {}, true],
  ])('%s', (_title, noise, change, matters) => {
    expect(inputChangeMatters(claim('a'), moved(claim('a'), change), { ...claims.spec, ...noise })).toBe(matters)
  })

  test('ignores a version that is delivered again', () => {
    expect(inputChangeMatters(claim('a'), claim('a'), claims.spec)).toBe(false)
  })
})

describe('seenDigest', () => {
  const seen = (input: KubeObject, owner = parent(), by = controller()): string =>
    seenDigest(by, owner, input, claims.spec)
  const before = seen(claim('a'))

  test('is the same after changes that enqueue no group', () => {
    expect(seen(moved(claim('a'), { metadata: { managedFields: [] } }))).toBe(before)
    expect(seen(claim('a'), moved(parent(), { status: { inputs: {} } }))).toBe(before)
    expect(seen(claim('a'), parent(), { ...controller(), status: { parents: 1 } })).toBe(before)
  })

  test('differs after changes that enqueue a group', () => {
    const others = [
      seen(moved(claim('a'), { spec: { volumeName: 'b' } })),
      seen(moved(claim('a'), { status: { phase: 'Bound' } })),
      seen(claim('a'), moved(parent(), { spec: { selector: {} } })),
      seen(claim('a'), parent(), controller({ resyncPeriodSeconds: 5 })),
    ]
    expect(new Set([before, ...others]).size).toBe(5)
  })

  test('is found in the annotations of an output of the group', () => {
    const output = outputOf(claim('a'), parent(), snapshot('s'))
    expect([wasSeen([output], 'seen'), wasSeen([output], 'other'), wasSeen([], 'seen')]).toEqual([true, false, false])
  })
})

describe('untilResync', () => {
  test('schedules every group once in each period, wherever the period began', () => {
    for (const key of ['a-aaaaaaaaaaaaaaaaaaaaaaaaaa', 'b-zzzzzz', 'c-234567', 'd-m7x2qp']) {
      const first = 1_000_003 + untilResync(key, 1_000_003, 5)
      expect(first).toBeGreaterThan(1_000_003)
      expect(first).toBeLessThanOrEqual(1_005_003)
      expect(untilResync(key, first, 5)).toBe(5_000)
    }
  })

  test('spreads the first round over the period, or over a minute without one', () => {
    expect(startDelay('a-zzzzzz', undefined)).toBeGreaterThan(40_000)
    expect(startDelay('a-zzzzzz', 5)).toBeLessThan(5_000)
    expect(startDelay('a-aaaaaa', 5)).toBe(0)
  })
})
