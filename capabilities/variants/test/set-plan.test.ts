// Plans of sets: what is created, updated, deleted, kept and held back, and why.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planSet, variantNames } from '@fairlead/variants'
import type { ObservedSet, ObservedVariant, Selectable, SetPlan, SetSpec } from '@fairlead/variants'

const upstream = { repo: 'catalog', package: 'web' }

function repository(name: string, labels: Record<string, string> = {}): Selectable {
  return { name, namespace: 'team-a', labels, annotations: {} }
}

interface Parts {
  readonly targets: SetSpec['targets']
  readonly rollout?: SetSpec['rollout']
  readonly repositories?: readonly Selectable[]
  readonly objects?: ObservedSet['objects']
  readonly variants?: readonly ObservedVariant[]
}

function observed({ targets, rollout, repositories = [], objects, variants = [] }: Parts): ObservedSet {
  return {
    name: 'fleet',
    spec: { upstream, targets, ...(rollout && { rollout }) },
    upstream: { revision: repository('catalog.web.v1'), reference: upstream },
    repositories,
    objects: objects ?? (() => ({ objects: [] })),
    variants,
  }
}

function variant(name: string, repo: string, path: string, more: Partial<ObservedVariant> = {}): ObservedVariant {
  const spec = { upstream, downstream: { repo, package: path } }
  return { name, repo, package: path, spec, isOpen: false, isTerminating: false, ...more }
}

/** Returns `verb name` of each decision. */
function summary({ decisions }: SetPlan): readonly string[] {
  return decisions.map((one) => `${one.do} ${one.variant.name}`)
}

/** Returns the variants after a plan. */
function after({ decisions }: SetPlan, before: readonly ObservedVariant[]): readonly ObservedVariant[] {
  return decisions.flatMap((one): readonly ObservedVariant[] => {
    if (one.do === 'create' || one.do === 'update')
      return [variant(one.variant.name, one.variant.repo, one.variant.package, { spec: one.variant.spec })]
    if (one.do === 'keep') return before.filter(({ name }) => name === one.variant.name)
    return []
  })
}

const prod = { repositorySelector: { matchLabels: { env: 'prod' } } }

test('a plan creates, updates and deletes, each with its reason', () => {
  const plan = planSet(
    observed({
      targets: [{ ...prod, template: { labels: { tier: 'one' } } }],
      repositories: [
        repository('edge-1', { env: 'prod' }),
        repository('edge-2', { env: 'prod' }),
        repository('edge-3'),
      ],
      variants: [variant('fleet-edge-2-web', 'edge-2', 'web'), variant('fleet-edge-3-web', 'edge-3', 'web')],
    }),
  )
  expect(plan.decisions.map((one) => [one.do, one.variant.name, one.reason])).toEqual([
    ['delete', 'fleet-edge-3-web', 'no target selects edge-3/web'],
    ['create', 'fleet-edge-1-web', 'spec.targets[0] selects edge-1/web'],
    ['update', 'fleet-edge-2-web', 'the spec has changed: labels'],
  ])
})

test('packageNames beside a selector make a variant of each package in each Repository', () => {
  const plan = planSet(
    observed({
      targets: [{ ...prod, packageNames: ['web', 'api'] }],
      repositories: [repository('edge-1', { env: 'prod' }), repository('edge-2', { env: 'prod' }), repository('lab')],
    }),
  )
  expect(summary(plan)).toEqual([
    'create fleet-edge-1-web',
    'create fleet-edge-1-api',
    'create fleet-edge-2-web',
    'create fleet-edge-2-api',
  ])
})

test('nothing is deleted while the kind of a target is unavailable', () => {
  const targets = [prod, { objectSelector: { apiVersion: 'hr.example.com/v1', kind: 'Team' } }]
  const variants = [variant('fleet-edge-1-web', 'edge-1', 'web'), variant('fleet-red-web', 'red', 'web')]
  const repositories = [repository('edge-1', { env: 'prod' }), repository('red')]
  const unavailable = observed({
    targets,
    variants,
    repositories,
    objects: () => ({ unavailable: 'Team is not served' }),
  })
  const plan = planSet(unavailable)
  expect(summary(plan)).toEqual(['keep fleet-red-web', 'keep fleet-edge-1-web'])
  expect(plan.failures).toEqual([{ target: 1, reason: 'KindUnavailable', message: 'Team is not served' }])
  expect(summary(planSet({ ...unavailable, objects: () => ({ objects: [] }) }))).toEqual([
    'delete fleet-red-web',
    'keep fleet-edge-1-web',
  ])
})

test('a failing expression keeps the variants that it may concern, and no others', () => {
  const packageExpr = "repository.labels['team'] + '-web'"
  const plan = planSet(
    observed({
      targets: [{ ...prod, template: { downstream: { packageExpr } } }],
      repositories: [repository('edge-1', { env: 'prod', team: 'red' }), repository('edge-2', { env: 'prod' })],
      variants: [
        variant('fleet-edge-2-red-web', 'edge-2', 'red-web'),
        variant('fleet-edge-9-red-web', 'edge-9', 'red-web'),
      ],
    }),
  )
  expect(summary(plan)).toEqual([
    'keep fleet-edge-2-red-web',
    'delete fleet-edge-9-red-web',
    'create fleet-edge-1-red-web',
  ])
  expect(plan.failures.map(({ repo, reason, message }) => [repo, reason, message])).toEqual([
    [
      'edge-2',
      'ExpressionFailed',
      'repository edge-2: spec.targets[0].template.downstream.packageExpr: no such key: team',
    ],
  ])
})

test('an existing variant of a downstream that two targets want stays as it is', () => {
  const repositories = [repository('edge-1')]
  const targets = [{ repositories: [{ name: 'edge-1' }] }, { repositories: [{ name: 'edge-1' }] }]
  const plan = planSet(observed({ targets, repositories, variants: [variant('fleet-edge-1-web', 'edge-1', 'web')] }))
  expect(summary(plan)).toEqual(['keep fleet-edge-1-web'])
  expect(plan.failures.map(({ target, reason }) => [target, reason])).toEqual([
    [0, 'Duplicate'],
    [1, 'Duplicate'],
  ])
})

test('a variant keeps its name when a later target would get the same one', () => {
  const names = ['edge', 'edge-a'].map((name) => repository(name))
  const targets = [
    {
      repositories: [
        { name: 'edge', packageNames: ['a-b'] },
        { name: 'edge-a', packageNames: ['b'] },
      ],
    },
  ]
  const plan = planSet(observed({ targets, repositories: names, variants: [variant('fleet-edge-a-b', 'edge', 'a-b')] }))
  expect(summary(plan)[0]).toMatch(/^create fleet-edge-a-b-[0-9a-f]{8}$/)
  expect(summary(plan)[1]).toBe('keep fleet-edge-a-b')
})

test('a variant whose downstream somebody has changed is changed back, not deleted', () => {
  const targets = [{ repositories: [{ name: 'edge-1' }] }]
  const plan = planSet(observed({ targets, variants: [variant('fleet-edge-1-web', 'edge-2', 'web')] }))
  expect(summary(plan)).toEqual(['update fleet-edge-1-web'])
})

test('the name of a variant of a nested package is valid', () => {
  const [name] = [...variantNames('fleet', [{ repo: 'edge-1', package: 'net/web' }]).values()]
  expect(name).toBe('fleet-edge-1-net-web')
  const clash = [
    { repo: 'edge-1', package: 'net/web' },
    { repo: 'edge-1', package: 'net-web' },
  ]
  expect(new Set(variantNames('fleet', clash).values()).size).toBe(2)
})

test('a rollout changes as many variants as it allows, in its order, and counts those that are open', () => {
  const repositories = ['edge-1', 'edge-2', 'edge-3', 'edge-4'].map((name, index) =>
    repository(name, { env: 'prod', wave: String(4 - index) }),
  )
  const targets = [{ ...prod, template: { labels: { tier: 'one' } } }]
  const open = variant('fleet-edge-3-web', 'edge-3', 'web', { isOpen: true })
  const rollout = { maxDrafts: 2, order: "int(repository.labels['wave'])" }
  const plan = planSet(observed({ targets, repositories, rollout, variants: [open] }))
  expect(summary(plan)).toEqual([
    'create fleet-edge-4-web',
    'update fleet-edge-3-web',
    'hold fleet-edge-2-web',
    'hold fleet-edge-1-web',
  ])
})

test('a paused rollout creates, changes and deletes nothing', () => {
  const variants = [variant('fleet-edge-9-web', 'edge-9', 'web')]
  const targets = [{ repositories: [{ name: 'edge-1' }] }]
  const plan = planSet(observed({ targets, variants, rollout: { pause: true } }))
  expect(plan.decisions.map((one) => [one.do, one.variant.name, one.reason])).toEqual([
    ['keep', 'fleet-edge-9-web', 'the rollout is paused'],
    ['hold', 'fleet-edge-1-web', 'the rollout is paused'],
  ])
})

test('a rollout pins the variants that it holds to the revisions that they have selected', () => {
  const names = ['edge-1', 'edge-2', 'edge-3', 'edge-4']
  const targets = [{ repositories: names.map((name) => ({ name })), template: { labels: { tier: 'one' } } }]
  const pinned = { ...upstream, revision: 5 }
  const variants = [
    variant('fleet-edge-1-web', 'edge-1', 'web', { taken: 4 }),
    variant('fleet-edge-2-web', 'edge-2', 'web'),
    variant('fleet-edge-3-web', 'edge-3', 'web', {
      spec: { upstream: { ...upstream, revision: 3 }, downstream: { repo: 'edge-3', package: 'web' } },
      taken: 3,
    }),
    variant('fleet-edge-4-web', 'edge-4', 'web', { spec: {} as ObservedVariant['spec'] }),
  ]
  const set = (rollout: SetSpec['rollout']): ObservedSet => ({
    ...observed({ targets, rollout, variants, repositories: names.map((name) => repository(name)) }),
    upstream: { revision: repository('catalog.web.v5'), reference: pinned },
  })
  const updates = (plan: SetPlan): unknown =>
    plan.decisions.flatMap((one) => (one.do === 'update' ? [[one.variant.name, one.variant.spec, one.reason]] : []))
  const downstream = (repo: string): object => ({ repo, package: 'web' })

  const paused = planSet(set({ pause: true }))
  expect(summary(paused)).toEqual([
    'update fleet-edge-1-web',
    'update fleet-edge-2-web',
    'hold fleet-edge-3-web',
    'hold fleet-edge-4-web',
  ])
  expect(updates(paused)).toEqual([
    [
      'fleet-edge-1-web',
      { upstream: { ...upstream, revision: 4 }, downstream: downstream('edge-1') },
      'the rollout pins the variant to revision 4',
    ],
    [
      'fleet-edge-2-web',
      { upstream: pinned, downstream: downstream('edge-2') },
      'the rollout pins the variant to revision 5',
    ],
  ])
  const paced = planSet(set({ maxDrafts: 1 }))
  expect(summary(paced)).toEqual([
    'update fleet-edge-1-web',
    'update fleet-edge-2-web',
    'hold fleet-edge-3-web',
    'hold fleet-edge-4-web',
  ])
  expect(updates(paced)).toMatchObject([
    ['fleet-edge-1-web', { upstream: pinned, labels: { tier: 'one' } }, 'the spec has changed: upstream, labels'],
    ['fleet-edge-2-web', { upstream: pinned }, 'the rollout pins the variant to revision 5'],
  ])
})

test('an expression that costs too much fails its target and no other', () => {
  const list = `[${Array.from({ length: 100 }, () => '1').join(',')}]`
  const valueExpr = `${list}.all(a, ${list}.all(b, ${list}.all(c, a == b && b == c))) ? 'x' : 'y'`
  const targets = [
    { repositories: [{ name: 'edge-1' }], template: { labelExprs: [{ key: 'x', valueExpr }] } },
    { repositories: [{ name: 'edge-2' }] },
  ]
  const plan = planSet(observed({ targets, repositories: [repository('edge-1'), repository('edge-2')] }))
  expect(summary(plan)).toEqual(['create fleet-edge-2-web'])
  expect(plan.failures).toMatchObject([{ target: 0, message: expect.stringContaining('cost limit exceeded') }])
})

test('a set that selects its own upstream as a downstream refuses that one', () => {
  const plan = planSet(
    observed({ targets: [{ repositorySelector: {} }], repositories: [repository('catalog'), repository('edge-1')] }),
  )
  expect(summary(plan)).toEqual(['create fleet-edge-1-web'])
  expect(plan.failures).toMatchObject([{ target: 0, repo: 'catalog', reason: 'Invalid' }])
})

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?$/)
const downstream = fc.record({ repo: label, package: fc.array(label, { minLength: 1, maxLength: 2 }) })

test('the plan of an executed plan changes nothing, and no two variants share a name', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(downstream, { selector: ({ repo, package: path }) => `${repo} ${path.join('/')}`, maxLength: 8 }),
      fc.uniqueArray(downstream, { selector: ({ repo, package: path }) => `${repo} ${path.join('/')}`, maxLength: 8 }),
      (first, second) => {
        let variants: readonly ObservedVariant[] = []
        for (const wanted of [first, second]) {
          const repositories = wanted.map(({ repo, package: path }) => ({ name: repo, packageNames: [path.join('/')] }))
          if (repositories.length === 0) continue
          const set = observed({ targets: [{ repositories }], variants })
          const plan = planSet(set)
          variants = after(plan, variants)
          expect(new Set(variants.map(({ name }) => name)).size).toBe(variants.length)
          expect(variants).toHaveLength(wanted.length)
          expect(planSet({ ...set, variants }).decisions.filter(({ do: verb }) => verb !== 'keep')).toEqual([])
        }
      },
    ),
    { numRuns: 100 },
  )
})
