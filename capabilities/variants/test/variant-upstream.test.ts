// Upstreams that variants select and follow, and downstream packages that move.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { git } from '../../packages/test/stage.ts'
import { conditionOf, VariantStage } from './stage.ts'

let stage: VariantStage
beforeEach(async () => {
  stage = await VariantStage.start()
})
afterEach(() => stage[Symbol.asyncDispose]())

const settings = (mode: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  mode: "${mode}"\n`

async function publishTwo(): Promise<void> {
  await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
  await stage.publish('web', 'v2', { 'settings.yaml': settings('two') }, 'catalog.web.v1')
}

const upstream = (more: object): object => ({ upstream: { repo: 'catalog', package: 'web', ...more } })

/** Returns the upstream that a variant reports as soon as it is this one. */
const follows = (name: string, revision: string): Promise<unknown> =>
  stage.variant(
    name,
    ({ status }) => status?.upstream?.name === revision && status.downstreamTargets?.[0]?.upstream === revision,
  )

test('a pinned revision is not left when a newer one is published, and moves with the spec', async () => {
  await publishTwo()
  await stage.apply('web', upstream({ revision: 'v1' }))
  await follows('web', 'catalog.web.v1')
  expect((await stage.files('edge.web.packagevariant-1'))['settings.yaml']).toContain('"one"')
  await stage.apply('web', upstream({ revision: 2 }))
  await follows('web', 'catalog.web.v2')
  await stage.apply('web', upstream({ workspaceName: 'v1' }))
  await follows('web', 'catalog.web.v1')
  expect(await stage.downstream()).toHaveLength(1)
})

test('a label and a range of versions are followed when they move, and a warning says what revision -1 means', async () => {
  await publishTwo()
  const label = async (name: string, value: string, key = 'channel'): Promise<void> => {
    const revision = await stage.packages.revision(name)
    const labels = { ...revision.metadata.labels, [key]: value }
    await stage.client.update({ ...revision, metadata: { ...revision.metadata, labels } })
  }
  await label('catalog.web.v1', 'stable')
  await stage.apply('web', upstream({ follow: { label: { key: 'channel', value: 'stable' } } }))
  await follows('web', 'catalog.web.v1')
  await label('catalog.web.v2', 'stable')
  await follows('web', 'catalog.web.v2')
  await label('catalog.web.v1', '1.4.0', 'app.kubernetes.io/version')
  await stage.apply('web', upstream({ follow: { range: '1.x' } }))
  await follows('web', 'catalog.web.v1')
  await label('catalog.web.v2', '1.5.0', 'app.kubernetes.io/version')
  await follows('web', 'catalog.web.v2')
  await stage.apply('web', upstream({ revision: -1 }))
  const variant = await stage.ready('web')
  expect(conditionOf(variant, 'UpstreamResolved')?.message).toContain('follow.latest')
})

test('a tag is followed when it moves, and a revision that is tagged anew makes a new draft', async () => {
  const bare = stage.packages.bareRepository('blueprints')
  await stage.packages.register('blueprints', { repo: bare })
  for (const [workspace, mode] of [
    ['v1', 'one'],
    ['v2', 'two'],
  ] as const) {
    const edit = { type: 'edit', edit: { sourceRef: { name: 'blueprints.web.v1' } } }
    await stage.packages.create('blueprints', 'web', workspace, workspace === 'v1' ? undefined : edit)
    await stage.packages.save(`blueprints.web.${workspace}`, (files) => void (files['settings.yaml'] = settings(mode)))
    await stage.approve(`blueprints.web.${workspace}`)
  }
  const sync = async (time: string): Promise<void> => {
    const runOnceAt = { merge: { spec: { sync: { runOnceAt: time } } } }
    await stage.client.patch(
      { apiVersion: 'config.porch.kpt.dev/v1alpha1', kind: 'Repository' },
      'team-a/blueprints',
      runOnceAt,
    )
  }
  git(bare, 'tag', 'web/stable', 'web/v1')
  await sync('2020-01-01T00:00:00Z')
  await stage.apply('web', { upstream: { repo: 'blueprints', package: 'web', follow: { tag: 'stable' } } })
  await follows('web', 'blueprints.web.v1')
  git(bare, 'tag', '--force', 'web/stable', 'web/v2')
  await sync('2020-01-02T00:00:00Z')
  await follows('web', 'blueprints.web.v2')
  expect((await stage.files('edge.web.packagevariant-1'))['settings.yaml']).toContain('"two"')
})

test('another downstream package takes the place of the former one, which is cleaned up', async () => {
  await publishTwo()
  await stage.apply('web')
  await stage.ready('web')
  await stage.approve('edge.web.packagevariant-1')
  await stage.apply('web', { packageContext: { data: { site: 's1' } } })
  await stage.revision('edge.web.packagevariant-2')
  await stage.apply('web', { downstream: { repo: 'edge', package: 'shop' } })
  await stage.variant('web', ({ status }) => status?.downstreamTargets?.[0]?.name === 'edge.shop.packagevariant-1')
  expect((await stage.downstream()).map(({ metadata, spec }) => [metadata.name, spec.lifecycle])).toEqual([
    ['edge.web.packagevariant-1', 'DeletionProposed'],
  ])
  // The former package is wanted again before its deletion is approved.
  await stage.apply('web')
  await stage.revision('edge.web.packagevariant-1', ({ spec }) => spec.lifecycle === 'Published')
  expect(await stage.downstream('shop')).toEqual([])
})

test('functions of the mode Once change the package and are not stored, and a key that leaves the spec leaves the package', async () => {
  await publishTwo()
  const mutators = [{ name: 'a.b', image: 'set-labels:v0.2', configMap: { tier: 'gold' } }]
  await stage.apply('team.web', {
    pipeline: { mode: 'Once', mutators },
    packageContext: { data: { site: 's1', old: 'x' } },
  })
  await stage.ready('team.web')
  const name = 'edge.web.packagevariant-1'
  expect((await stage.files(name))['settings.yaml']).toContain('tier: gold')
  expect((await stage.files(name))['Kptfile']).not.toContain('set-labels')
  await stage.apply('team.web', { pipeline: { mutators }, packageContext: { data: { site: 's1' } } })
  await stage.variant(
    'team.web',
    ({ status }) => status?.downstreamTargets?.[0]?.commit !== undefined && status.conditions?.[0] !== undefined,
  )
  const after = await stage.files(name)
  expect(after['package-context.yaml']).not.toContain('old: x')
  // In the pipeline, and in the status of the render.
  expect(after['Kptfile']!.match(/PackageVariant\.team_web\.a_b\.0/g)).toHaveLength(2)
})

test('functions that fail keep the draft from being made, and the reason is reported', async () => {
  await publishTwo()
  await stage.apply('web', { pipeline: { mutators: [{ image: 'registry.example.test/unknown:v1' }] } })
  const variant = await stage.ready('web', 'RenderFailed')
  expect(conditionOf(variant, 'Rendered')?.message).toContain('unknown')
  expect(await stage.downstream()).toEqual([])
  await stage.apply('web')
  await stage.ready('web')
})

test('a draft that is kept although its functions fail names the function', async () => {
  await publishTwo()
  const configMap = { maps: "object.kind != 'ConfigMap'" }
  await stage.apply('web', {
    annotations: { 'porch.kpt.dev/push-on-render-failure': 'true' },
    pipeline: { validators: [{ image: 'validate-cel:v1', configMap }] },
  })
  const kept = await stage.variant('web', (one) => one.status?.downstreamTargets?.[0]?.commit !== undefined)
  expect(conditionOf(kept, 'Rendered')?.message).toMatch(
    /^function \S+\/validate-cel:v1 failed: \[error\] v1\/ConfigMap\/settings: rule maps /,
  )
})

test('injection points that cannot be told apart keep the draft from being made', async () => {
  const point = (group: string): string =>
    `apiVersion: ${group}/v1\nkind: Site\nmetadata:\n  name: here\n  annotations:\n    kpt.dev/config-injection: required\n`
  await stage.publish('web', 'v1', { 'a.yaml': point('a.example.org'), 'b.yaml': point('b.example.org') })
  await stage.apply('web', { injectors: [{ name: 'x', group: 'a.example.org', kind: 'Site' }] })
  const variant = await stage.ready('web', 'Error')
  expect(conditionOf(variant, 'ConfigInjected')).toMatchObject({ status: 'False', reason: 'InvalidInjectionPoint' })
  expect(await stage.downstream()).toEqual([])
})

test('an injection point of a kind that the cluster does not have, or whose schema has no spec, says so', async () => {
  const point = `apiVersion: infra.example.org/v1\nkind: Site\nmetadata:\n  name: here\n  annotations:\n    kpt.dev/config-injection: required\n`
  await stage.publish('web', 'v1', { 'site.yaml': point })
  await stage.packages.grant(
    'sites',
    [{ apiGroups: ['infra.example.org'], resources: ['sites'], verbs: ['get', 'list', 'watch'] }],
    'system:serviceaccount:fairlead-system:fairlead-variants',
  )
  await stage.apply('web', { injectors: [{ name: 'x', group: 'infra.example.org', kind: 'Site' }] })
  const absent = await stage.ready('web', 'GatesNotMet')
  expect(conditionOf(absent, 'ConfigInjected')?.message).toContain(
    'the cluster has no schema of infra.example.org/v1 Site',
  )
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'sites.infra.example.org' },
    spec: {
      group: 'infra.example.org',
      scope: 'Namespaced',
      names: { kind: 'Site', listKind: 'SiteList', plural: 'sites', singular: 'site' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { data: { type: 'string' } } } },
        },
      ],
    },
  }
  await stage.client.create(definition as never)
  const schemaless = await stage.variant(
    'web',
    (one) => conditionOf(one, 'ConfigInjected')?.message.includes('has no field spec') === true,
  )
  expect(conditionOf(schemaless, 'Ready')?.status).toBe('False')
})
