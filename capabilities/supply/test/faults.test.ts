// Owners while something is unknown, fails or is late: nothing is deleted, the status says so, and the others go on.
import type { ApiRequest } from '@fairlead/client'
import { FakeClock, failure } from '@fairlead/kube'
import type { StatusError } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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
import { Disturbance } from '../../../test/support/disturbed-transport.ts'
import type { Faults } from './faulty-transport.ts'

let stage: Stage
let faults: Faults

beforeEach(async () => {
  stage = await Stage.set()
  faults = { deletes: [] }
  await stage.apply(sourceTemplate, imageTemplate, chain, workloadOf('app', 'web', git))
  await stage.client.waitFor(thing, 'team-a/app-source', () => true)
  await stage.setStatus('team-a/app-source', readyStatus)
  await stage.client.waitFor(thing, 'team-a/app-image', () => true)
  await stage.setStatus('team-a/app-image', { image: 'registry/app:1' })
  await stage.ready('team-a/app', 'True')
  await stage.stopControllers()
})
afterEach(() => stage[Symbol.asyncDispose]())

const names = async (): Promise<unknown[]> => (await stage.things()).map(({ metadata }) => metadata.name).toSorted()
const reading = (plural: string, request: ApiRequest): boolean =>
  request.method === 'GET' && request.path.endsWith(`/${plural}`)
const writing = (name: string, request: ApiRequest): boolean =>
  request.method === 'PATCH' && request.path.endsWith(`/things/${name}`)
const unavailable = failure(500, 'InternalError', 'failed calling webhook "check.test": connection refused')

describe('a kind that cannot be read after a restart', () => {
  const failures: Record<string, StatusError | 'hang'> = {
    'is forbidden': failure(403, 'Forbidden', 'forbidden'),
    'is absent': failure(404, undefined, '404 page not found'),
    fails: unavailable,
    hangs: 'hang',
  }
  const kinds = ['clustersupplychains', 'clustersourcetemplates', 'clusterimagetemplates', 'serviceaccounts', 'things']
  for (const plural of kinds) {
    for (const [how, fault] of Object.entries(failures)) {
      test(`deletes nothing: ${plural} ${how}`, async () => {
        faults.fail = (request) => (reading(plural, request) ? fault : undefined)
        const clock = new FakeClock()
        await stage.startControllers(clock, faults)
        for (let round = 0; round < 4; round++) {
          await clock.advance(6000)
          await stage.settle()
        }
        expect(faults.deletes).toEqual([])
        expect(await names()).toEqual(['app-image', 'app-source'])
        const isSettled = fault === failures['is forbidden'] || fault === failures['is absent']
        // While the blueprints are still being listed, the controller does not start.
        if (plural !== 'clustersupplychains' || isSettled) {
          const owner = await stage.owner('team-a/app', (one) => conditionsOf(one)['Ready']?.[0] !== 'True')
          const references = owner.status?.resources?.map(({ stampedRef }) => stampedRef?.name)
          expect(references).toEqual(['app-image', 'app-source'])
          expect(owner.status?.supplyChainRef?.name).toBe('chain')
        }
        // Runs in progress wait for lists by the same clock.
        const stopped = stage.stopControllers()
        await clock.advance(60_000)
        await stopped
      })
    }
  }

  test('is used as soon as it can be read', async () => {
    faults.fail = (request) =>
      reading('clustersupplychains', request) ? (failures['is forbidden'] as StatusError) : undefined
    const clock = new FakeClock()
    await stage.startControllers(clock, faults)
    const unknown = await stage.ready('team-a/app', 'Unknown')
    expect(conditionsOf(unknown)['SupplyChainReady']?.[1]).toBe('KindForbidden')
    faults.fail = undefined
    await clock.advance(600_000)
    await stage.ready('team-a/app', 'True')
  })
})

describe('a kind that can no longer be read while the controllers run', () => {
  const kinds = [
    'clustersupplychains.carto.run',
    'clustersourcetemplates.carto.run',
    'clusterimagetemplates.carto.run',
    'serviceaccounts',
    'things.test.run',
    'workloads.carto.run',
  ]
  for (const plural of kinds) {
    for (const fault of [403, 404, 500, 'hang'] as const) {
      test(`makes the status unknown until it is read again: ${plural} ${fault}`, async () => {
        const disturbance = new Disturbance()
        const clock = new FakeClock()
        await stage.startControllers(clock, disturbance)
        await stage.ready('team-a/app', 'True')
        await stage.settle()
        for (const verb of ['watch', 'list']) {
          disturbance.begin(`${verb} ${plural}`, fault)
          disturbance.interrupt(`${verb} ${plural}`)
          for (let second = 0; second < 10; second++) {
            await clock.advance(1000)
            await stage.settle()
          }
          const { status } = await stage.owner('team-a/app', (one) => conditionsOf(one)['Ready']?.[0] !== 'True')
          expect(status?.resources?.map(({ stampedRef }) => stampedRef?.name)).toEqual(['app-image', 'app-source'])
          const [submitted, healthy] = ['ResourcesSubmitted', 'ResourcesHealthy'].map(
            (type) => conditionsOf({ status })[type]?.[0],
          )
          // The kind of the objects themselves says nothing about what was submitted before.
          expect([submitted, healthy]).toEqual(
            plural === 'things.test.run' ? [expect.any(String), 'Unknown'] : ['Unknown', 'Unknown'],
          )
          disturbance.heal()
          for (let minute = 0; minute < 10; minute++) {
            await clock.advance(60_000)
            await stage.settle()
          }
          await stage.ready('team-a/app', 'True')
          disturbance.refusesStreaming = true
        }
        expect(disturbance.deletions).toEqual([])
      })
    }
  }
})

describe('with events that are late', () => {
  beforeEach(async () => {
    faults.late = 20
    await stage.startControllers(undefined, faults)
    await stage.client.patch(workload, 'team-a/app', { merge: { spec: { params: [{ name: 'a', value: 1 }] } } })
    await stage.ready('team-a/app', 'True')
  })

  const renamed = (): object => ({
    ...chain,
    spec: { ...chain.spec, resources: [{ ...chain.spec.resources[0]!, name: 'build' }, chain.spec.resources[1]!] },
  })

  test('an object stays when the name of its resource changes', async () => {
    const { uid } = (await stage.client.get(thing, 'team-a/app-image')).metadata
    await stage.apply(renamed() as never)
    await stage.client.waitFor(
      thing,
      'team-a/app-image',
      ({ metadata }) => metadata.labels?.['carto.run/resource-name'] === 'build',
    )
    await stage.owner('team-a/app', ({ status }) => status?.resources?.[0]?.name === 'build')
    expect(faults.deletes).toEqual([])
    expect((await stage.client.get(thing, 'team-a/app-image')).metadata.uid).toBe(uid)
  })

  test('an object stays when the name of its resource changes while that resource waits', async () => {
    await stage.setStatus('team-a/app-source', {
      conditions: [{ type: 'Ready', status: 'True', message: '' }],
      url: null,
    })
    await stage.ready('team-a/app', 'Unknown')
    await stage.apply(renamed() as never)
    await stage.owner('team-a/app', ({ status }) => status?.resources?.[0]?.name === 'build')
    expect(faults.deletes).toEqual([])
  })

  test('an object stays when its labels are edited', async () => {
    const { uid } = (await stage.client.get(thing, 'team-a/app-image')).metadata
    await stage.client.patch(thing, 'team-a/app-image', {
      merge: { metadata: { labels: { 'carto.run/resource-name': null } } },
    })
    const restored = await stage.client.waitFor(
      thing,
      'team-a/app-image',
      ({ metadata }) => metadata.labels?.['carto.run/resource-name'] === 'image',
    )
    expect([restored.metadata.uid, faults.deletes]).toEqual([uid, []])
  })

  test('an orphan is deleted as the cache knows it: by uid and resourceVersion', async () => {
    await stage.apply({ ...chain, spec: { ...chain.spec, resources: chain.spec.resources.slice(1) } })
    await stage.client.waitForDeletion(thing, 'team-a/app-image')
    expect(await names()).toEqual(['app-source'])
  })
})

describe('an error of the API server', () => {
  test('is the status of its resource alone, which is retried', async () => {
    faults.fail = (request) => (writing('app-image', request) ? unavailable : undefined)
    await stage.startControllers(undefined, faults)
    await stage.apply({
      ...imageTemplate,
      spec: { ...imageTemplate.spec, template: { ...thing, metadata: { name: 'app-image' }, spec: { from: 'new' } } },
    })
    const owner = await stage.owner('team-a/app', (one) => conditionsOf(one)['Ready']?.[0] === 'Unknown')
    expect(resourcesOf(owner)['image']?.['ResourceSubmitted']).toEqual([
      'Unknown',
      'TemplateRejectedByAPIServer',
      expect.stringContaining('failed calling webhook "check.test"'),
    ])
    expect(resourcesOf(owner)['image']?.['Healthy']).toEqual(['True', 'OutputsAvailable', ''])
    expect(resourcesOf(owner)['source']?.['Ready']?.[0]).toBe('True')
    faults.fail = undefined
    await stage.ready('team-a/app', 'True')
    expect((await stage.client.get(thing, 'team-a/app-image')).spec).toEqual({ from: 'new' })
  })

  const refusals = {
    admission: 'things.test.run "other-source" is forbidden: ValidatingAdmissionPolicy "p" denied request: no',
    RBAC: 'things.test.run is forbidden: User "system:serviceaccount:team-a:builder" cannot patch resource "things"',
  }
  for (const [who, message] of Object.entries(refusals)) {
    test(`is retried when ${who} refused and no event says that it accepts`, async () => {
      faults.fail = (request) => (writing('other-source', request) ? failure(403, 'Forbidden', message) : undefined)
      const clock = new FakeClock()
      await stage.startControllers(clock, faults)
      await stage.apply(workloadOf('other', 'web', git))
      const refused = await stage.ready('team-a/other', 'False')
      expect(conditionsOf(refused)['Ready']?.[1]).toBe('TemplateRejectedByAPIServer')
      await stage.settle()
      faults.fail = undefined
      await clock.advance(200_000)
      await stage.client.waitFor(thing, 'team-a/other-source', () => true)
    })
  }
})

test('a kind that cannot be listed holds up only the owners that stamp it', async () => {
  faults.fail = (request) => (reading('configmaps', request) ? 'hang' : undefined)
  await stage.startControllers(undefined, faults)
  await stage.apply(
    template('ClusterTemplate', 'map', {
      template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '$(workload.metadata.name)$' }, data: {} },
    }),
    supplyChain('map', 'map', [{ name: 'map', templateRef: { kind: 'ClusterTemplate', name: 'map' } }]),
    ...Array.from({ length: 20 }, (_, index) => workloadOf(`map-${index}`, 'map')),
    workloadOf('other', 'web', git),
  )
  await stage.client.waitFor(thing, 'team-a/other-source', () => true)
  for (let index = 0; index < 20; index++) {
    const owner = await stage.ready(`team-a/map-${index}`, 'False')
    expect(conditionsOf(owner)['Ready']?.slice(1)).toEqual([
      'FailedToListCreatedObjects',
      expect.stringContaining('ConfigMap in v1 is still being listed'),
    ])
  }
})
