// The field managers of stamped objects: races between owners, and objects that Cartographer stamped.
import type { ApiRequest } from '@fairlead/client'
import { controllerOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  Stage,
  conditionsOf,
  git,
  sourceTemplate,
  supplyChain,
  template,
  thing,
  workload,
  workloadOf,
} from './stage.ts'
import type { Thing } from './stage.ts'

let stage: Stage
beforeEach(async () => void (stage = await Stage.set()))
afterEach(() => stage[Symbol.asyncDispose]())

const only = (name: string, kind: 'ClusterTemplate' | 'ClusterSourceTemplate' = 'ClusterTemplate'): KubeObject =>
  supplyChain(name, name, [{ name: 'only', templateRef: { kind, name } }])

test('of two owners that stamp one name at the same time, one has the object whole and the other reports it', async () => {
  await stage.stopControllers()
  await stage.apply(
    template('ClusterTemplate', 'shared', {
      template: { ...thing, metadata: { name: 'shared' }, spec: { of: '$(workload.metadata.name)$' } },
    }),
    only('shared'),
    workloadOf('one', 'shared'),
    workloadOf('two', 'shared'),
  )
  // Both find no object; the second one creates it after the first one has.
  const found = Promise.withResolvers<void>()
  const created = stage.client.waitFor(thing, 'team-a/shared', () => true)
  let [reads, writes] = [0, 0]
  const pause = async ({ method, path }: ApiRequest): Promise<void> => {
    if (!path.endsWith('/things/shared')) return
    if (method === 'GET' && ++reads === 2) found.resolve()
    if (method !== 'PATCH') return
    await found.promise
    if (++writes === 2) await created
  }
  await stage.startControllers(undefined, { deletes: [], pause })
  const winner = controllerOf(await created)!.name
  const loser = winner === 'one' ? 'two' : 'one'
  await stage.ready(`team-a/${winner}`, 'True')
  const refused = await stage.ready(`team-a/${loser}`, 'False')
  expect(conditionsOf(refused)['Ready']?.[2]).toContain('Thing team-a/shared')
  await stage.settle()
  const { spec, metadata } = await stage.client.get<Thing>(thing, 'team-a/shared')
  expect([spec, metadata.ownerReferences?.map(({ name }) => name)]).toEqual([{ of: winner }, [winner]])
})

test('fields that a template loses are removed from objects that Cartographer stamped', async () => {
  await stage.stopControllers()
  await stage.apply(sourceTemplate, only('source', 'ClusterSourceTemplate'), workloadOf('app', 'source', git))
  const owner = await stage.client.get(workload, 'team-a/app')
  const { apiVersion, kind, metadata } = owner
  await stage.client.with({ manager: 'cartographer' }).create({
    ...thing,
    metadata: {
      name: 'app-source',
      namespace: 'team-a',
      labels: { 'carto.run/workload-name': 'app', 'carto.run/resource-name': 'only', old: 'yes' },
      ownerReferences: [
        { apiVersion, kind, name: 'app', uid: metadata.uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    spec: { url: git.source.git.url, dropped: true },
  } as KubeObject)
  // An operator of a user has the default name of our managers.
  for (const manager of ['someone', 'fairlead'])
    await stage.client.with({ manager }).apply({
      ...thing,
      metadata: { name: 'app-source', namespace: 'team-a' },
      spec: { [manager]: true },
    } as KubeObject)
  await stage.startControllers()
  const object = await stage.client.waitFor<Thing>(
    thing,
    'team-a/app-source',
    ({ spec }) => spec?.['dropped'] === undefined,
  )
  expect(object.spec).toEqual({ url: git.source.git.url, someone: true, fairlead: true })
  expect(object.metadata.labels?.['old']).toBeUndefined()
})

test('fields that a template loses are removed from an object with a generated name', async () => {
  const generated = (spec: object): KubeObject =>
    template('ClusterTemplate', 'generated', {
      template: { ...thing, metadata: { generateName: 'app-' }, spec } as never,
    })
  await stage.apply(generated({ kept: 1, dropped: 1 }), only('generated'), workloadOf('app', 'generated'))
  await stage.ready('team-a/app', 'True')
  await stage.settle()
  await stage.apply(generated({ kept: 1 }))
  await stage.until(async () => (await stage.things())[0]?.spec?.['dropped'] === undefined, 'the field is removed')
  expect((await stage.things()).map(({ spec }) => spec)).toEqual([{ kept: 1 }])
})
