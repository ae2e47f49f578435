// Which child of a rollout moves next, and what holds it back.
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import type { Child, ChildKind } from '../src/children/child.ts'
import { withLastApplied } from '../src/children/merge.ts'
import { newRevision, parentPatch, templateLabels, withParentPatch } from '../src/revisions/revision.ts'
import { nextRollout, withUpdatedCondition } from '../src/revisions/rollout.ts'
import type { RolloutFacts } from '../src/revisions/rollout.ts'

const boat: ChildKind = {
  apiVersion: 'sea/v1',
  group: 'sea',
  kind: 'Boat',
  plural: 'boats',
  namespaced: true,
  method: 'RollingInPlace',
}
const parent = {
  apiVersion: 'sea/v1',
  kind: 'Fleet',
  metadata: { name: 'north', namespace: 'app', uid: 'u' },
} as KubeObject
const metadata = (name: string): object => ({ name, namespace: 'app' })

function wanted(flag: string, names: readonly string[], kind = boat): Child[] {
  return names.map((name) => ({
    kind,
    object: { apiVersion: 'sea/v1', kind: 'Boat', metadata: metadata(name), spec: { flag } } as KubeObject,
  }))
}

function existing(flag: string, names: readonly string[], more: object = {}): Child[] {
  return wanted(flag, names).map(({ kind, object }) => ({ kind, object: { ...withLastApplied(object), ...more } }))
}

const boats = (...names: string[]): object[] => (names.length === 0 ? [] : [{ apiGroup: 'sea', kind: 'Boat', names }])

function facts(
  revisions: readonly (readonly [string, readonly string[], readonly string[]])[],
  observed: readonly Child[],
  kind = boat,
): RolloutFacts {
  return {
    parent,
    kinds: [kind],
    observed: observed.map(({ object }) => ({ kind, object })),
    revisions: revisions.map(([name, desired, recorded]) => ({
      name,
      desired: wanted(name, desired, kind),
      recorded: boats(...recorded),
    })) as unknown as RolloutFacts['revisions'],
  }
}

function step(of: RolloutFacts): object {
  const { recorded, desired, condition } = nextRollout(of)
  const flags = desired.map(({ object }) => `${object.metadata.name} ${(object.spec as { flag: string }).flag}`)
  return {
    recorded: recorded.map((kinds) => kinds.flatMap(({ names }) => names)),
    flags,
    why: `${condition.reason}: ${condition.message}`,
  }
}

describe('a rollout', () => {
  test('gives new children to the latest revision at once', () => {
    expect(step(facts([['new', ['a', 'b'], []]], []))).toEqual({
      recorded: [['a', 'b']],
      flags: ['a new', 'b new'],
      why: 'OnLatestRevision: latest ControllerRevision: new',
    })
  })

  test('moves the first child that is not on the latest revision, in the order of the response', () => {
    const observed = existing('old', ['a', 'b'])
    const of = facts(
      [
        ['new', ['b', 'a'], []],
        ['old', ['a', 'b'], ['a', 'b']],
      ],
      observed,
    )
    expect(step(of)).toEqual({
      recorded: [['b'], ['a']],
      flags: ['b new', 'a old'],
      why: 'RolloutProgressing: updating Boat b',
    })
  })

  test('moves a child at once that is as the latest revision wants it', () => {
    const observed = [...existing('old', ['a']), ...existing('new', ['b', 'c'])]
    const of = facts(
      [
        ['new', ['a', 'b', 'c'], ['b']],
        ['old', ['a', 'b', 'c'], ['a', 'c']],
      ],
      observed,
    )
    expect(step(of)).toEqual({
      recorded: [['b', 'c', 'a'], []],
      flags: ['a new', 'b new', 'c new'],
      why: 'RolloutProgressing: updating Boat a',
    })
  })

  const condition = (status: string, reason = 'Ok'): object => ({
    status: { conditions: [{ type: 'Ready', status, reason }] },
  })
  const check = { ...boat, statusChecks: [{ type: 'Ready', status: 'True', reason: 'Ok' }] }
  test.each<[string, ChildKind, Child[], string]>([
    ['is missing', boat, [], 'missing child Boat a'],
    ['differs', boat, existing('old', ['a']), 'child Boat a is not updated yet'],
    [
      'has an older observedGeneration',
      boat,
      existing('new', ['a'], { metadata: { ...meta('new'), generation: 2 }, status: { observedGeneration: 1 } }),
      "child Boat a with RollingInPlace update strategy hasn't observed latest spec",
    ],
    [
      'lacks a condition',
      check,
      existing('new', ['a']),
      'child Boat a failed status check: required condition type missing: "Ready"',
    ],
    [
      'has another status',
      check,
      existing('new', ['a'], condition('False')),
      'child Boat a failed status check: "Ready" condition status is "False" (want "True")',
    ],
    [
      'has another reason',
      check,
      existing('new', ['a'], condition('True', 'Sinking')),
      'child Boat a failed status check: "Ready" condition reason is "Sinking" (want "Ok")',
    ],
  ])('waits while a child on the latest revision %s', (_title, kind, observed, message) => {
    const of = facts(
      [
        ['new', ['a', 'b'], ['a']],
        ['old', ['a', 'b'], ['b']],
      ],
      [...observed, ...existing('old', ['b'])],
      kind,
    )
    expect(step(of)).toEqual({
      recorded: [['a'], ['b']],
      flags: ['a new', 'b old'],
      why: `RolloutWaiting: ${message}`,
    })
  })

  test('goes on without a look at observedGeneration when children are recreated', () => {
    const kind: ChildKind = { ...boat, method: 'RollingRecreate' }
    const behind = { metadata: { ...meta('new'), generation: 2 }, status: { observedGeneration: 1 } }
    const of = facts(
      [
        ['new', ['a', 'b'], ['a']],
        ['old', ['a', 'b'], ['b']],
      ],
      [...existing('new', ['a'], behind), ...existing('old', ['b'])],
      kind,
    )
    expect(step(of)).toMatchObject({ why: 'RolloutProgressing: updating Boat b' })
  })

  test('forgets children that the latest revision does not want, and the second of two claims', () => {
    const of = facts(
      [
        ['new', ['a', 'b'], ['a', 'lost']],
        ['old', ['a', 'b', 'lost'], ['a', 'b', 'lost']],
      ],
      [...existing('new', ['a']), ...existing('new', ['b'])],
    )
    expect(step(of)).toMatchObject({ recorded: [['a', 'b'], []] })
  })

  test('forgets claims of a kind that does not roll any more', () => {
    const kind: ChildKind = { ...boat, method: 'InPlace' }
    const of = facts(
      [
        ['new', ['a'], []],
        ['old', ['a'], ['a']],
      ],
      existing('old', ['a']),
      kind,
    )
    expect(step(of)).toMatchObject({ recorded: [[], []], flags: ['a new'] })
  })

  test('keeps other conditions of the response, and replaces its Updated condition', () => {
    const updated = { type: 'Updated', status: 'True', reason: 'OnLatestRevision', message: 'm' } as const
    const status = {
      n: 1,
      conditions: [
        { type: 'Updated', status: 'x' },
        { type: 'Other', status: 'y' },
      ],
    }
    expect(withUpdatedCondition(status, updated)).toEqual({
      n: 1,
      conditions: [updated, { type: 'Other', status: 'y' }],
    })
    expect(withUpdatedCondition(null, updated)).toEqual({ conditions: [updated] })
    expect(() => withUpdatedCondition({ conditions: 'none' }, updated)).toThrow('must be a list')
  })
})

function meta(flag: string): object {
  return { ...withLastApplied(wanted(flag, ['a'])[0]!.object).metadata }
}

describe('a revision', () => {
  const spec = { template: { metadata: { labels: { app: 'boat' } }, size: 1 }, other: { b: 2, a: 1 } }
  const given = { ...parent, spec } as KubeObject

  test('has the fields at its paths, and gives them back', () => {
    const paths = ['spec.template.size', 'spec.nothing', 'status.x']
    const patch = parentPatch(given, paths)
    expect(patch).toEqual({ spec: { template: { size: 1 } } })
    const changed = { ...given, spec: { ...spec, template: { size: 7, other: 1 } } } as KubeObject
    expect(withParentPatch(changed, patch, paths).spec).toEqual({ ...spec, template: { size: 1, other: 1 } })
  })

  test('is named by resource, uid and content, whatever the order of its fields', () => {
    const kind = { apiVersion: 'sea/v1', group: 'sea', kind: 'Fleet', plural: 'fleets', namespaced: true }
    const rules = { labels: templateLabels }
    const one = newRevision(given, kind, { spec: { b: 1, a: '<' } }, rules)
    const other = newRevision(given, kind, { spec: { a: '<', b: 1 } }, rules)
    // sha1 of the uid `u` and `{"spec":{"a":"\u003c","b":1}}`, as Go's JSON has it
    const name = 'fleets.sea-fe00e3a0860ddfab31815b91367c776d1486b231'
    expect([one.metadata.name, other.metadata.name]).toEqual([name, name])
    expect(one.metadata.labels).toEqual({
      app: 'boat',
      'metacontroller.k8s.io/apiGroup': 'sea',
      'metacontroller.k8s.io/resource': 'fleets',
    })
    const core = { ...kind, group: '', plural: 'a'.repeat(300) }
    expect(newRevision(given, core, {}, rules).metadata.name).toHaveLength(253)
  })
})
