// PackageVariants on the embedded server: drafts, rebases, injection, adoption and deletion.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PackageVariantKind } from '@fairlead/variants'
import { conditionOf, VariantStage } from './stage.ts'

let stage: VariantStage
beforeEach(async () => {
  stage = await VariantStage.start()
})
afterEach(() => stage[Symbol.asyncDispose]())

const settings = (mode: string, extra = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  mode: "${mode}"\n${extra}`

const point = `apiVersion: v1
kind: ConfigMap
metadata:
  name: endpoints
  annotations:
    kpt.dev/config-injection: required
data:
  placeholder: "x"
`

describe('a variant of one upstream', () => {
  test('makes one draft with context, functions and injected data in one save', async () => {
    await stage.configMap('east', { db: '10.0.0.1' })
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one'), 'endpoints.yaml': point })
    await stage.apply('web', {
      labels: { team: 'net' },
      packageContext: { data: { site: 's1' } },
      pipeline: { mutators: [{ name: 'ns', image: 'set-namespace:v0.4', configMap: { namespace: 'prod' } }] },
      injectors: [{ name: 'east' }],
    })
    const variant = await stage.ready('web')
    const [draft, ...others] = await stage.downstream()
    expect(others).toEqual([])
    expect(draft).toMatchObject({
      metadata: {
        name: 'edge.web.packagevariant-1',
        labels: { team: 'net' },
        ownerReferences: [{ kind: 'PackageVariant', name: 'web', uid: variant.metadata.uid, controller: true }],
      },
      spec: {
        lifecycle: 'Draft',
        tasks: [{ type: 'clone', clone: { upstreamRef: { upstreamRef: { name: 'catalog.web.v1' } } } }],
        readinessGates: [{ conditionType: 'config.injection.ConfigMap.endpoints' }],
      },
    })
    const files = await stage.files('edge.web.packagevariant-1')
    expect(files['settings.yaml']).toContain('namespace: prod')
    expect(files['package-context.yaml']).toContain('site: s1')
    expect(files['endpoints.yaml']).toContain('db: 10.0.0.1')
    expect(files['endpoints.yaml']).not.toContain('placeholder')
    expect(files['Kptfile']).toContain('PackageVariant.web.ns.0')
    expect(variant.status).toMatchObject({
      upstream: { name: 'catalog.web.v1', revision: 1 },
      downstreamTargets: [{ name: 'edge.web.packagevariant-1', lifecycle: 'Draft', upstream: 'catalog.web.v1' }],
      injectionPoints: [{ kind: 'ConfigMap', name: 'endpoints', status: 'True', injectedResource: 'east' }],
    })
    expect(variant.status!.conditions!.map(({ type, status }) => [type, status]).sort()).toEqual([
      ['ConfigInjected', 'True'],
      ['GatesMet', 'True'],
      ['Merged', 'True'],
      ['Ready', 'True'],
      ['Rendered', 'True'],
      ['Stalled', 'False'],
      ['UpstreamResolved', 'True'],
    ])
  })

  test('waits for its upstream and its repositories', async () => {
    await stage.apply('web')
    const missing = await stage.ready('web', 'Error')
    expect(conditionOf(missing, 'Stalled')).toMatchObject({ status: 'True', reason: 'ValidationError' })
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
    await stage.ready('web')
  })

  test('follows a new upstream revision in a new draft, and keeps what users have edited', async () => {
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one', '  size: "1"\n') })
    await stage.apply('web')
    await stage.ready('web')
    const first = 'edge.web.packagevariant-1'
    await stage.packages.save(first, (files) => {
      files['settings.yaml'] = files['settings.yaml']!.replace('size: "1"', 'size: "5"')
    })
    await stage.approve(first)
    await stage.publish('web', 'v2', { 'settings.yaml': settings('two', '  size: "1"\n') }, 'catalog.web.v1')
    const second = await stage.revision('edge.web.packagevariant-2')
    expect(second.spec.tasks).toMatchObject([
      {
        type: 'upgrade',
        upgrade: {
          oldUpstreamRef: { name: 'catalog.web.v1' },
          newUpstreamRef: { name: 'catalog.web.v2' },
          localPackageRevisionRef: { name: first },
        },
      },
    ])
    const files = await stage.files(second.metadata.name!)
    expect(files['settings.yaml']).toContain('mode: "two"')
    expect(files['settings.yaml']).toContain('size: "5"')
    await stage.variant('web', ({ status }) => status?.publishedRevision === first)
  })

  test('rebases a draft in place with the edits of users, and names the conflicts', async () => {
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one', '  size: "1"\n  kept: "a"\n') })
    await stage.apply('web')
    await stage.ready('web')
    const draft = 'edge.web.packagevariant-1'
    await stage.packages.save(draft, (files) => {
      files['settings.yaml'] = files['settings.yaml']!.replace('size: "1"', 'size: "5"').replace('"a"', '"mine"')
    })
    await stage.publish(
      'web',
      'v2',
      { 'settings.yaml': settings('two', '  size: "2"\n  kept: "a"\n') },
      'catalog.web.v1',
    )
    const variant = await stage.variant(
      'web',
      (one) =>
        one.status?.downstreamTargets?.[0]?.upstream === 'catalog.web.v2' &&
        conditionOf(one, 'Ready')?.reason === 'MergeConflicts',
    )
    expect((await stage.downstream()).map(({ metadata }) => metadata.name)).toEqual([draft])
    const files = await stage.files(draft)
    expect(files['settings.yaml']).toContain('mode: "two"')
    expect(files['settings.yaml']).toContain('kept: "mine"')
    expect(files['settings.yaml']).toContain('size: "2"')
    expect(variant.status?.conflicts).toMatchObject([
      { file: 'settings.yaml', path: 'data.size', base: '"1"', ours: '"5"', theirs: '"2"', taken: 'upstream' },
    ])
    await stage.approve(draft)
    await stage.ready('web')
  })

  test('makes no draft where spec.onConflict is fail and both sides changed one thing', async () => {
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
    await stage.apply('web', { onConflict: 'fail' })
    await stage.ready('web')
    const first = 'edge.web.packagevariant-1'
    await stage.packages.save(first, (files) => {
      files['settings.yaml'] = files['settings.yaml']!.replace('one', 'mine')
    })
    await stage.approve(first)
    await stage.publish('web', 'v2', { 'settings.yaml': settings('two') }, 'catalog.web.v1')
    const variant = await stage.ready('web', 'MergeConflicts')
    expect(conditionOf(variant, 'Merged')?.message).toContain('no draft is made')
    expect(await stage.downstream()).toHaveLength(1)
  })

  test('leaves a proposed revision as it is, or returns it to draft where the spec says so', async () => {
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
    await stage.apply('web')
    await stage.ready('web')
    const draft = 'edge.web.packagevariant-1'
    await stage.packages.setLifecycle(draft, 'Proposed')
    await stage.publish('web', 'v2', { 'settings.yaml': settings('two') }, 'catalog.web.v1')
    await stage.ready('web', 'UpdatePending')
    expect((await stage.files(draft))['settings.yaml']).toContain('"one"')
    await stage.apply('web', { onProposed: 'returnToDraft' })
    await stage.ready('web')
    expect((await stage.downstream()).map(({ spec }) => spec.lifecycle)).toEqual(['Draft'])
    expect((await stage.files(draft))['settings.yaml']).toContain('"two"')
  })
})

describe('an injected object', () => {
  test('makes a new draft when it changes, and leaves other variants alone', async () => {
    await stage.configMap('east', { db: '10.0.0.1' })
    await stage.publish('web', 'v1', { 'endpoints.yaml': point })
    await stage.apply('web', { injectors: [{ name: 'east' }] })
    await stage.ready('web')
    await stage.approve('edge.web.packagevariant-1')
    await stage.variant('web', ({ status }) => status?.downstreamTargets?.[0]?.lifecycle === 'Published')
    await stage.configMap('east', { db: '10.0.0.2' })
    const draft = await stage.revision('edge.web.packagevariant-2')
    expect(draft.spec.tasks).toMatchObject([
      { type: 'edit', edit: { sourceRef: { name: 'edge.web.packagevariant-1' } } },
    ])
    expect((await stage.files(draft.metadata.name!))['endpoints.yaml']).toContain('10.0.0.2')
    await stage.configMap('east', { db: '10.0.0.3' })
    await stage.revision(
      'edge.web.packagevariant-2',
      ({ metadata }) => metadata.resourceVersion !== draft.metadata.resourceVersion,
    )
    expect((await stage.downstream()).map(({ metadata }) => metadata.name)).toHaveLength(2)
    expect((await stage.files(draft.metadata.name!))['endpoints.yaml']).toContain('10.0.0.3')
  })

  test('keeps its data in the package when it is deleted, and the variant is not ready', async () => {
    await stage.configMap('east', { db: '10.0.0.1' })
    await stage.publish('web', 'v1', { 'endpoints.yaml': point })
    // The name of the field in the design.
    await stage.apply('web', { injectionSelectors: [{ name: 'east' }] })
    await stage.ready('web')
    await stage.approve('edge.web.packagevariant-1')
    await stage.variant('web', ({ status }) => status?.downstreamTargets?.[0]?.lifecycle === 'Published')
    const east = { apiVersion: 'v1', kind: 'ConfigMap' }
    await stage.client.delete(east, 'team-a/east')
    await stage.ready('web', 'NoResourceSelected')
    expect(await stage.downstream()).toHaveLength(1)
    await stage.configMap('east', { db: '10.0.0.1' })
    await stage.ready('web')
    expect(await stage.downstream()).toHaveLength(1)
  })

  test('is required: the draft is made without it, gated, and the variant is not ready', async () => {
    await stage.publish('web', 'v1', { 'endpoints.yaml': point })
    await stage.apply('web', { injectors: [{ name: 'absent' }] })
    const variant = await stage.ready('web', 'GatesNotMet')
    expect(conditionOf(variant, 'ConfigInjected')).toMatchObject({ status: 'False', reason: 'NoResourceSelected' })
    await stage.configMap('absent', { db: '10.0.0.9' })
    await stage.ready('web')
    expect((await stage.files('edge.web.packagevariant-1'))['endpoints.yaml']).toContain('10.0.0.9')
  })
})

describe('the deletion of a variant', () => {
  const remove = (name: string): Promise<unknown> => stage.client.delete(PackageVariantKind, `team-a/${name}`)
  const isDeleted = (name: string): Promise<void> =>
    stage.client.waitForDeletion(PackageVariantKind, { namespace: 'team-a', name })

  test('deletes its drafts and proposes the deletion of what is published', async () => {
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
    await stage.apply('web')
    await stage.ready('web')
    await stage.approve('edge.web.packagevariant-1')
    await stage.apply('web', { packageContext: { data: { site: 's1' } } })
    await stage.revision('edge.web.packagevariant-2')
    await remove('web')
    await isDeleted('web')
    const left = await stage.downstream()
    expect(left.map(({ metadata, spec }) => [metadata.name, spec.lifecycle, metadata.ownerReferences ?? []])).toEqual([
      ['edge.web.packagevariant-1', 'DeletionProposed', []],
    ])
  })

  test('with the policy orphan leaves every revision', async () => {
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
    await stage.apply('web', { deletionPolicy: 'orphan' })
    await stage.ready('web')
    await remove('web')
    await isDeleted('web')
    const left = await stage.downstream()
    expect(left.map(({ spec, metadata }) => [spec.lifecycle, metadata.ownerReferences ?? []])).toEqual([['Draft', []]])
  })
})

describe('a downstream package that exists', () => {
  test('is adopted where the spec says so, and left alone otherwise', async () => {
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
    const clone = { type: 'clone', clone: { upstreamRef: { upstreamRef: { name: 'catalog.web.v1' } } } }
    const by = await stage.packages.create('edge', 'web', 'by-hand', clone)
    await stage.apply('web', { labels: { team: 'net' } })
    await stage.ready('web', 'Error')
    expect((await stage.downstream()).map(({ metadata }) => metadata.labels)).toEqual([undefined])
    await stage.apply('web', { labels: { team: 'net' }, adoptionPolicy: 'adoptExisting' })
    await stage.ready('web')
    const adopted = await stage.revision(by.metadata.name!)
    expect(adopted.metadata).toMatchObject({ labels: { team: 'net' }, ownerReferences: [{ name: 'web' }] })
    expect(await stage.downstream()).toHaveLength(1)
  })

  test('belongs to the older of two variants; the younger says so and takes over when the older is gone', async () => {
    await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
    await stage.apply('older', { deletionPolicy: 'orphan' })
    await stage.ready('older')
    await stage.apply('younger', { adoptionPolicy: 'adoptExisting' })
    const younger = await stage.ready('younger', 'Error')
    expect(conditionOf(younger, 'Stalled')).toMatchObject({ status: 'True', reason: 'DownstreamTaken' })
    expect(await stage.downstream()).toHaveLength(1)
    await stage.client.delete(PackageVariantKind, 'team-a/older')
    await stage.ready('younger')
    const [revision] = await stage.downstream()
    expect(revision!.metadata.ownerReferences).toMatchObject([{ name: 'younger' }])
  })
})
