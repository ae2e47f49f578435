// The controller of Workloads on the embedded server: waiting, health, field managers, orphans, missing dependencies.
import { FakeClock, controllerOf } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { turns, until } from '../../../test/support/until.ts'
import {
  Stage,
  chain,
  conditionsOf,
  git,
  imageTemplate,
  readyStatus,
  resourcesOf,
  sourceTemplate,
  supplyChain,
  template,
  thing,
  workload,
  workloadOf,
} from './stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await Stage.set()
  await stage.apply(sourceTemplate, imageTemplate, chain, workloadOf('app', 'web', git))
})
afterEach(() => stage[Symbol.asyncDispose]())

describe('a supply chain', () => {
  test('stamps each resource once its inputs have values, whatever the order, and becomes ready', async () => {
    const waiting = await stage.owner('team-a/app', (owner) => owner.status?.resources?.length === 2)
    expect(conditionsOf(waiting)).toEqual({
      SupplyChainReady: ['True', 'Ready', ''],
      ResourcesSubmitted: ['Unknown', 'MissingValueAtPath', 'waiting for [source] of resource [source]'],
      ResourcesHealthy: ['Unknown', 'HealthyConditionRule', 'resource [image]: NoStampedObject (and 1 more)'],
      Ready: ['Unknown', 'MissingValueAtPath', 'waiting for [source] of resource [source]'],
    })
    expect(resourcesOf(waiting)['image']).toEqual({
      ResourceSubmitted: ['Unknown', 'MissingValueAtPath', 'waiting for [source] of resource [source]'],
      Healthy: ['Unknown', 'NoStampedObject', ''],
      Ready: ['Unknown', 'MissingValueAtPath', 'waiting for [source] of resource [source]'],
    })
    expect((await stage.things()).map(({ metadata }) => metadata.name)).toEqual(['app-source'])
    await stage.setStatus('team-a/app-source', readyStatus)
    await stage.client.waitFor(thing, 'team-a/app-image', () => true)
    await stage.setStatus('team-a/app-image', { image: 'registry/app:1' })
    const ready = await stage.ready('team-a/app', 'True')
    expect(conditionsOf(ready)).toEqual({
      SupplyChainReady: ['True', 'Ready', ''],
      ResourcesSubmitted: ['True', 'ResourceSubmissionComplete', ''],
      ResourcesHealthy: ['True', 'HealthyConditionRule', ''],
      Ready: ['True', 'Ready', ''],
    })
    expect(ready.status?.unhealthyResource).toBeUndefined()
    const image = await stage.client.get(thing, 'team-a/app-image')
    expect(image.spec).toEqual({ from: 'https://example.test/app.tgz@main@1' })
    expect(controllerOf(image)).toMatchObject({ kind: 'Workload', name: 'app', uid: ready.metadata.uid })
    expect(image.metadata.labels).toEqual({
      'carto.run/workload-name': 'app',
      'carto.run/workload-namespace': 'team-a',
      'carto.run/supply-chain-name': 'chain',
      'carto.run/resource-name': 'image',
      'carto.run/template-kind': 'ClusterImageTemplate',
      'carto.run/cluster-template-name': 'image',
      'carto.run/template-lifecycle': 'mutable',
    })
  })

  test('names the resource that is not healthy, and evaluates its object when the template cannot be stamped', async () => {
    await stage.client.waitFor(thing, 'team-a/app-source', () => true)
    await stage.setStatus('team-a/app-source', readyStatus)
    await stage.client.waitFor(thing, 'team-a/app-image', () => true)
    await stage.setStatus('team-a/app-image', { image: 'registry/app:1' })
    await stage.ready('team-a/app', 'True')
    await stage.setStatus('team-a/app-source', {
      conditions: [{ type: 'Ready', status: 'False', message: 'no such branch' }],
    })
    const failing = await stage.ready('team-a/app', 'False')
    expect(conditionsOf(failing)['Ready']).toEqual([
      'False',
      'HealthyConditionRule',
      'resource [source]: no such branch',
    ])
    expect(failing.status?.unhealthyResource).toBe('source')
    await stage.apply({
      ...sourceTemplate,
      spec: { ...sourceTemplate.spec, template: { ...thing, metadata: { name: '$(workload.nothing)$' } } },
    })
    const broken = await stage.owner(
      'team-a/app',
      (owner) => resourcesOf(owner)['source']?.['ResourceSubmitted']?.[1] === 'TemplateStampFailure',
    )
    expect(resourcesOf(broken)['source']?.['Healthy']).toEqual(['False', 'ReadyCondition', 'no such branch'])
    await stage.setStatus('team-a/app-source', { conditions: [{ type: 'Ready', status: 'True', message: 'fetched' }] })
    await stage.owner('team-a/app', (owner) => resourcesOf(owner)['source']?.['Healthy']?.[0] === 'True')
    expect(broken.status?.resources?.[1]?.stampedRef?.name).toBe('app-source')
    expect((await stage.things()).length).toBe(2)
  })

  test('writes nothing while nothing changes, and keeps fields of other managers', async () => {
    await stage.client.waitFor(thing, 'team-a/app-source', () => true)
    await stage.setStatus('team-a/app-source', readyStatus)
    await stage.client.patch(thing, 'team-a/app-source', {
      merge: { metadata: { annotations: { mine: 'yes' } }, spec: { other: 1 } },
    })
    await stage.client.waitFor(thing, 'team-a/app-image', () => true)
    await stage.settle()
    const { revision } = stage.server.store
    await stage.client.patch(workload, 'team-a/app', { merge: { metadata: { annotations: { touched: 'yes' } } } })
    await stage.settle()
    expect(stage.server.store.revision).toBe(revision + 1)
    const source = await stage.client.get(thing, 'team-a/app-source')
    expect([source.metadata.annotations, source.spec]).toEqual([{ mine: 'yes' }, { url: git.source.git.url, other: 1 }])
  })

  test('reverts changes of other managers to its fields', async () => {
    await stage.client.waitFor(thing, 'team-a/app-source', () => true)
    await stage.client.patch(thing, 'team-a/app-source', {
      merge: { spec: { url: 'other' }, metadata: { labels: { 'carto.run/workload-name': null } } },
    })
    const restored = await stage.client.waitFor(
      thing,
      'team-a/app-source',
      ({ spec }) => (spec as { url: string }).url === git.source.git.url,
    )
    expect(restored.metadata.labels?.['carto.run/workload-name']).toBe('app')
  })

  test('does not change an object of the same name that it did not create', async () => {
    await stage.apply(
      { ...thing, metadata: { name: 'other-source', namespace: 'team-a' }, spec: { url: 'mine' } } as never,
      workloadOf('other', 'web', git),
    )
    const owner = await stage.ready('team-a/other', 'False')
    const [, reason, message] = conditionsOf(owner)['ResourcesSubmitted']!
    expect([reason, message]).toEqual([
      'TemplateRejectedByAPIServer',
      expect.stringContaining('Thing team-a/other-source exists already'),
    ])
    expect((await stage.client.get(thing, 'team-a/other-source')).spec).toEqual({ url: 'mine' })
  })
})

describe('orphans', () => {
  beforeEach(async () => {
    await stage.client.waitFor(thing, 'team-a/app-source', () => true)
    await stage.setStatus('team-a/app-source', readyStatus)
    await stage.client.waitFor(thing, 'team-a/app-image', () => true)
    await stage.settle()
  })

  test('are deleted when the blueprint loses their resource, even after a restart', async () => {
    await stage.stopControllers()
    await stage.apply({ ...chain, spec: { ...chain.spec, resources: chain.spec.resources.slice(1) } })
    await stage.startControllers()
    await stage.client.waitForDeletion(thing, 'team-a/app-image')
    expect((await stage.things()).map(({ metadata }) => metadata.name)).toEqual(['app-source'])
  })

  test('are deleted when the name in the template changes', async () => {
    await stage.apply({
      ...imageTemplate,
      spec: {
        ...imageTemplate.spec,
        template: { ...thing, metadata: { name: 'renamed' }, spec: { from: 'elsewhere' } },
      },
    })
    await stage.client.waitForDeletion(thing, 'team-a/app-image')
    await stage.client.get(thing, 'team-a/renamed')
  })

  describe('of a deleted blueprint that named the account', () => {
    const ref = { name: 'builder', namespace: 'team-a' }
    const web = { ...chain, spec: { ...chain.spec, serviceAccountRef: ref } }
    let clock: FakeClock

    beforeEach(async () => {
      await stage.stopControllers()
      clock = new FakeClock()
      await stage.apply(web)
      await stage.client.patch(workload, 'team-a/app', { merge: { spec: { serviceAccountName: null } } })
      await stage.startControllers(clock)
      await stage.owner('team-a/app', ({ status }) => status?.serviceAccountRef?.name === 'builder')
      await stage.client.delete(chain, 'chain')
      await stage.owner('team-a/app', ({ status }) => status?.removalTime !== undefined)
      await stage.settle()
    })

    test('are deleted by that account after ten minutes, even after a restart', async () => {
      const owner = await stage.ready('team-a/app', 'False')
      expect(conditionsOf(owner)['Ready']).toEqual([
        'False',
        'SupplyChainNotFound',
        'no supply chain found where full selector is satisfied by labels: map[type:web]',
      ])
      await clock.advance(590_000)
      await stage.settle()
      expect(await stage.things()).toHaveLength(2)
      await stage.stopControllers()
      await stage.startControllers(clock)
      await stage.settle()
      await clock.advance(20_000)
      await stage.client.waitForDeletion(thing, 'team-a/app-image')
      await stage.client.waitForDeletion(thing, 'team-a/app-source')
      const { status } = await stage.owner('team-a/app', (one) => one.status?.resources === undefined)
      expect([status?.removalTime, status?.serviceAccountRef]).toEqual([undefined, undefined])
    })

    test('are kept when a blueprint selects the owner again in time', async () => {
      await stage.apply(web)
      await stage.owner('team-a/app', ({ status }) => status?.removalTime === undefined)
      await clock.advance(1_200_000)
      await stage.settle()
      expect(await stage.things()).toHaveLength(2)
    })

    test('are kept by the deletion policy Orphan of the owner', async () => {
      const annotations = { 'carto.run/deletion-policy': 'Orphan' }
      await stage.client.patch(workload, 'team-a/app', { merge: { metadata: { annotations } } })
      await stage.settle()
      await clock.advance(1_200_000)
      await stage.settle()
      expect(await stage.things()).toHaveLength(2)
      const { status } = await stage.owner('team-a/app', (one) => one.status?.removalTime === undefined)
      expect(status?.resources).toHaveLength(2)
    })

    test('stay in status, with a warning, while the account may not delete them', async () => {
      const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' }
      const rules = [{ apiGroups: ['test.run', ''], resources: ['*'], verbs: ['get', 'list', 'create', 'patch'] }]
      await stage.client.patch(role, 'team-a/builder', { merge: { rules: rules as never } })
      await clock.advance(610_000)
      await stage.settle()
      const { status } = await stage.owner('team-a/app', () => true)
      expect(status?.resources?.map(({ stampedRef }) => stampedRef?.name)).toEqual(['app-image', 'app-source'])
      const events = await stage.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace: 'team-a' })
      const warnings = events.items.filter((event) => (event as never as { type: string }).type === 'Warning')
      expect(warnings.map((event) => (event as never as { reason: string }).reason).toSorted()).toEqual([
        'Forbidden',
        'StampedObjectsWillBeRemoved',
      ])
    })
  })

  test('are kept by their deletion policy Orphan', async () => {
    const annotations = { 'carto.run/deletion-policy': 'Orphan' }
    await stage.client.patch(thing, 'team-a/app-image', { merge: { metadata: { annotations } } })
    await stage.settle()
    await stage.apply({ ...chain, spec: { ...chain.spec, resources: chain.spec.resources.slice(1) } })
    await stage.owner('team-a/app', ({ status }) => status?.resources?.length === 1)
    await stage.settle()
    expect((await stage.things()).map(({ metadata }) => metadata.name).toSorted()).toEqual(['app-image', 'app-source'])
  })

  test('are none when a template is missing or a second blueprint matches', async () => {
    await stage.client.delete(imageTemplate, 'image')
    const unready = await stage.ready('team-a/app', 'False')
    expect(conditionsOf(unready)['Ready']).toEqual([
      'False',
      'TemplatesNotFound',
      'did not find the template of the resource(s) [image]',
    ])
    await stage.apply(imageTemplate, supplyChain('second', 'web', chain.spec.resources))
    await stage.owner('team-a/app', (owner) => conditionsOf(owner)['Ready']?.[1] === 'MultipleSupplyChainMatches')
    await stage.settle()
    expect((await stage.things()).length).toBe(2)
  })
})

test('templates refer to fields of owners that are not set, as in Cartographer', async () => {
  await stage.apply(
    template('ClusterTemplate', 'unset', {
      template: {
        ...thing,
        metadata: { name: 'unset' },
        spec: {
          env: '$(workload.spec.build.env)$',
          branch: '$(workload.spec.source.git.ref)$',
          account: 'as $(workload.spec.serviceAccountName)$',
          all: '$(workload.spec)$',
        },
      },
    }),
    supplyChain('unset', 'unset', [{ name: 'unset', templateRef: { kind: 'ClusterTemplate', name: 'unset' } }], {
      serviceAccountRef: { name: 'builder', namespace: 'team-a' },
    }),
    { ...workloadOf('unset', 'unset'), spec: git as never },
  )
  await stage.ready('team-a/unset', 'True')
  expect((await stage.client.get(thing, 'team-a/unset')).spec).toMatchObject({ account: 'as ', all: git })
})

describe('a missing dependency', () => {
  test('requeues waiting owners when it is created: service account, CRD, template', async () => {
    const late = template('ClusterTemplate', 'late', {
      template: { apiVersion: 'late.test/v1', kind: 'Late', metadata: { name: 'late' }, spec: {} },
    })
    await stage.apply(
      supplyChain('late', 'late', [{ name: 'late', templateRef: { kind: 'ClusterTemplate', name: 'late' } }]),
    )
    await stage.apply({ ...workloadOf('late', 'late'), spec: { serviceAccountName: 'later' } })
    await stage.owner('team-a/late', (owner) => conditionsOf(owner)['Ready']?.[1] === 'TemplatesNotFound')
    await stage.apply(late)
    const missing = await stage.owner(
      'team-a/late',
      (owner) => conditionsOf(owner)['Ready']?.[1] === 'ServiceAccountError',
    )
    expect(conditionsOf(missing)).toEqual({
      SupplyChainReady: ['True', 'Ready', ''],
      ResourcesSubmitted: ['False', 'ServiceAccountError', 'service account [team-a/later] not found'],
      Ready: ['False', 'ServiceAccountError', 'service account [team-a/later] not found'],
    })
    await stage.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'later', namespace: 'team-a' } })
    const rejected = await stage.owner(
      'team-a/late',
      (owner) => conditionsOf(owner)['Ready']?.[1] === 'TemplateRejectedByAPIServer',
    )
    expect(conditionsOf(rejected)['Ready']?.[2]).toContain('the server serves no Late in late.test/v1')
  })
})

test('watches a kind until one minute after the last owner stopped stamping it', async () => {
  const deleteOwner = async (): Promise<void> => {
    await stage.client.delete(workload, 'team-a/app')
    await stage.client.waitForDeletion(thing, 'team-a/app-source')
    await turns()
  }
  const createOwner = async (): Promise<void> => {
    await stage.apply(workloadOf('app', 'web', git))
    await stage.client.waitFor(thing, 'team-a/app-source', () => true)
  }
  await stage.client.waitFor(thing, 'team-a/app-source', () => true)
  await deleteOwner()
  await stage.stopControllers()
  const clock = new FakeClock()
  const { informers } = await stage.startControllers(clock)
  // The first access review starts informers of RBAC kinds, which stay.
  await createOwner()
  await deleteOwner()
  await clock.advance(60_000)
  await until('everything is listed', () => informers.syncing().length === 0)
  const before = informers.size
  await createOwner()
  await deleteOwner()
  await clock.advance(59_000)
  expect(informers.size).toBeGreaterThan(before)
  await clock.advance(1000)
  expect(informers.size).toBe(before)
})
