// Sets on a cluster: variants are created, changed and deleted by events, failures are reported by target.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from '@fairlead/kube'
import { PackageVariantKind, setLabel } from '@fairlead/variants'
import { SetStage, conditionOf } from './set-stage.ts'

const upstream = { repo: 'catalog', package: 'web' }
const prod = { repositorySelector: { matchLabels: { env: 'prod' } } }

let cluster: SetStage
let namespaces = 0
beforeAll(async () => {
  cluster = await SetStage.start()
}, 60_000)
afterAll(() => cluster[Symbol.asyncDispose]())

/** Returns a namespace of its own for a test. */
function start(): Promise<SetStage> {
  return cluster.inNamespace(`team-${++namespaces}`)
}

test('a set makes a variant for each Repository that it selects, and follows their labels', async () => {
  const stage = await start()
  await stage.publish('catalog', 'web', 'one')
  await stage.repository('edge-1', { env: 'prod', region: 'east' })
  const template = { labelExprs: [{ key: 'region', valueExpr: "repository.labels['region']" }] }
  const set = await stage.apply('fleet', { upstream, targets: [{ ...prod, template }] })
  const first = await stage.variant('fleet-edge-1-web')
  expect(first).toMatchObject({
    metadata: {
      labels: { [setLabel]: set.metadata.uid },
      ownerReferences: [{ kind: 'PackageVariantSet', uid: set.metadata.uid, controller: true }],
    },
    spec: { upstream, downstream: { repo: 'edge-1', package: 'web' }, labels: { region: 'east' } },
  })
  // By the event of the Repository alone.
  await stage.repository('edge-2', { env: 'prod', region: 'west' })
  await stage.variant('fleet-edge-2-web')
  await stage.client.patch(
    { apiVersion: 'config.porch.kpt.dev/v1alpha1', kind: 'Repository' },
    { namespace: stage.namespace, name: 'edge-1' },
    { merge: { metadata: { labels: { env: 'dev' } } } },
  )
  await stage.deleted('fleet-edge-1-web')
  expect((await stage.variants()).map(({ metadata }) => metadata.name)).toEqual(['fleet-edge-2-web'])
})

test('a failing target is reported and blocks no other', async () => {
  const stage = await start()
  await stage.publish('catalog', 'web', 'one')
  await stage.repository('edge-1', { env: 'prod' })
  const template = { labelExprs: [{ key: 'team', valueExpr: "repository.labels['team']" }] }
  const objectSelector = { apiVersion: 'hr.example.com/v1', kind: 'Team' }
  await stage.apply('fleet', {
    upstream,
    targets: [{ ...prod, template }, { objectSelector }, { repositories: [{ name: 'edge-1', packageNames: ['two'] }] }],
  })
  await stage.variant('fleet-edge-1-two')
  const set = await stage.set('fleet', ({ status }) => status?.failed === 2)
  expect(set.status?.failures).toEqual([
    {
      target: 0,
      repo: 'edge-1',
      package: 'web',
      object: 'edge-1',
      reason: 'ExpressionFailed',
      message: expect.stringContaining('no such key: team'),
    },
    { target: 1, reason: 'KindUnavailable', message: expect.stringContaining('Team') },
  ])
  expect(conditionOf(set, 'Ready')).toMatchObject({ reason: 'TargetsFailing' })
  expect(conditionOf(set, 'Stalled')).toEqual({ reason: 'Valid', message: 'The set can be carried out' })
})

test('a set without an upstream changes nothing until the upstream is published', async () => {
  const stage = await start()
  await stage.repository('edge-1', { env: 'prod' })
  await stage.apply('fleet', { upstream, targets: [prod] })
  const set = await stage.set('fleet', ({ status }) => status?.conditions?.length === 2)
  expect(conditionOf(set, 'Stalled').reason).toBe('UpstreamNotFound')
  expect(await stage.variants()).toEqual([])
  await stage.publish('catalog', 'web', 'one')
  await stage.variant('fleet-edge-1-web')
})

test('a change of a variant is taken back, and a foreign one of its name is left alone', async () => {
  const stage = await start()
  await stage.publish('catalog', 'web', 'one')
  await stage.repository('edge-1')
  await stage.repository('edge-2')
  const foreign = await stage.client.create<KubeObject>({
    apiVersion: PackageVariantKind.apiVersion,
    kind: 'PackageVariant',
    metadata: { name: 'fleet-edge-2-web', namespace: stage.namespace },
    spec: { upstream, downstream: { repo: 'edge-2', package: 'mine' } },
  })
  const template = { deletionPolicy: 'orphan' }
  await stage.apply('fleet', {
    upstream,
    targets: [{ repositories: [{ name: 'edge-1' }, { name: 'edge-2' }], template }],
  })
  const set = await stage.set('fleet', ({ status }) => status?.failed === 1)
  expect(set.status?.failures?.[0]).toMatchObject({ repo: 'edge-2', reason: 'Collision' })
  await stage.client.patch(
    PackageVariantKind,
    { namespace: stage.namespace, name: 'fleet-edge-1-web' },
    { merge: { spec: { deletionPolicy: 'delete' } } },
  )
  await stage.variant('fleet-edge-1-web', (variant) => variant.spec.deletionPolicy === 'orphan')
  const left = await stage.variant('fleet-edge-2-web')
  expect(left.spec).toEqual(foreign['spec'])
  await stage.client.delete(PackageVariantKind, { namespace: stage.namespace, name: 'fleet-edge-2-web' })
  await stage.variant('fleet-edge-2-web', (variant) => variant.spec.downstream.package === 'web')
})

test('objects of a kind are selected once their reading is granted, in the namespace of the set only', async () => {
  const stage = await start()
  await stage.publish('catalog', 'web', 'one')
  await stage.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-b' } })
  for (const [namespace, name] of [
    [stage.namespace, 'red'],
    ['team-b', 'blue'],
  ] as const)
    await stage.client.create({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { namespace, name, labels: { t: 'x' } },
    })
  const objectSelector = { apiVersion: 'v1', kind: 'ResourceQuota', matchLabels: { t: 'x' } }
  await stage.repository('edge-1')
  const template = { downstream: { repo: 'edge-1', packageExpr: "target.name + '-web'" } }
  await stage.apply('teams', { upstream, targets: [{ objectSelector, template }] })
  const refused = await stage.set('teams', ({ status }) => status?.failed === 1)
  const message = refused.status?.failures?.[0]?.message
  expect(message).toContain('resourcequotas')
  expect(message).toContain('fairlead variant rbac -f SET.yaml')
  const rules = [{ apiGroups: [''], resources: ['resourcequotas'], verbs: ['get', 'list', 'watch'] }]
  await stage.grant('teams', rules, 'system:serviceaccount:fairlead-system:fairlead-variants')
  await stage.variant('teams-edge-1-red-web')
  const set = await stage.set('teams', ({ status }) => status?.failed === 0)
  expect(set.status?.targets).toBe(1)
})

test('neither Secrets nor objects without a namespace can be selected', async () => {
  const stage = await start()
  await stage.publish('catalog', 'web', 'one')
  const rules = [{ apiGroups: [''], resources: ['secrets', 'namespaces'], verbs: ['get', 'list', 'watch'] }]
  await stage.grant('all', rules, 'system:serviceaccount:fairlead-system:fairlead-variants')
  const targets = ['Secret', 'Namespace'].map((kind) => ({ objectSelector: { apiVersion: 'v1', kind } }))
  await stage.apply('fleet', { upstream, targets })
  const set = await stage.set('fleet', ({ status }) => status?.failed === 2)
  expect(set.status?.failures?.map(({ message }) => message)).toEqual([
    'objectSelector must not select Secrets; select another kind',
    'Namespace is cluster-scoped; objectSelector selects objects of the namespace of the set',
  ])
  expect(await stage.variants()).toEqual([])
})

test('a v1alpha1 set is refused with the command that converts it', async () => {
  const stage = await start()
  const manifest = {
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'PackageVariantSet',
    metadata: { name: 'old', namespace: stage.namespace },
    spec: { upstream: { package: { repo: 'catalog', name: 'web' } }, targets: [] },
  }
  await expect(stage.client.create(manifest)).rejects.toThrow('fairlead variant convert -f FILE')
})

const invalid: readonly (readonly [string, object, string])[] = [
  ['no target', { upstream, targets: [] }, 'spec.targets'],
  [
    'two selectors in one target',
    { upstream, targets: [{ ...prod, repositories: [{ name: 'a' }] }] },
    'exactly one of',
  ],
  [
    'package names beside an object selector',
    { upstream, targets: [{ objectSelector: { apiVersion: 'v1', kind: 'Pod' }, packageNames: ['a'] }] },
    'packageNames is only allowed beside repositorySelector',
  ],
  ['an unknown policy', { upstream, targets: [{ ...prod, template: { adoptionPolicy: 'all' } }] }, 'adoptionPolicy'],
  [
    'a reserved key of the package context',
    { upstream, targets: [{ ...prod, template: { packageContext: { data: { name: 'x' } } } }] },
    'the keys name and package-path',
  ],
  [
    'a key with an expression of it',
    { upstream, targets: [{ ...prod, template: { labelExprs: [{ key: 'a', keyExpr: "'b'" }] } }] },
    'exactly one of key, keyExpr',
  ],
  [
    'a dot in the name of a function',
    { upstream, targets: [{ ...prod, template: { pipeline: { mutators: [{ name: 'a.b', image: 'x' }] } } }] },
    'must not contain a dot',
  ],
  [
    'a revision with follow',
    { upstream: { ...upstream, revision: 1, follow: { latest: {} } }, targets: [prod] },
    'follow cannot be combined',
  ],
]

test('the server refuses sets that can never be carried out', async () => {
  const stage = await start()
  for (const [title, spec, message] of invalid) await expect(stage.apply('wrong', spec), title).rejects.toThrow(message)
})
