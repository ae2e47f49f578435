// Children that are written by server-side apply (Metacontroller's --apply-strategy), on an embedded server.
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { recorded } from '../../../../test/support/recorded-client.ts'
import { lastAppliedAnnotation } from '../../src/children/merge.ts'
import { configMaps, controller, fleet, hook, requestOf, set, ship, ships, stage, useHook } from './fleet.ts'

useHook()

const settings = { 'apply-strategy': 'server-side-apply' }
const quotas = { apiVersion: 'v1', kind: 'ResourceQuota' }

/** Returns the managers of an object with their operations. */
function managersOf(object: KubeObject | undefined): readonly string[] {
  return (object?.metadata.managedFields ?? []).map(({ manager, operation }) => `${manager} ${operation}`)
}

/** The hook returns this data for the ship a. */
function respondWith(data: Readonly<Record<string, string>>): void {
  hook.reply = () => ({ body: { children: [{ ...ship('a'), data }] } })
}

test('applies children, removes what the hook returns no longer, keeps fields of others, and is silent then', async () => {
  respondWith({ flag: 'red', rudder: 'left' })
  await set({ settings }, controller(), fleet([]))
  await stage.client.patch(configMaps, 'default/a', { merge: { data: { foreign: 'yes' } } })
  const before = (await ships())['a']
  expect([before?.metadata.annotations, managersOf(before).includes('metacontroller Apply')]).toEqual([undefined, true])
  respondWith({ flag: 'blue' })
  await stage.apply(fleet([], { flag: 'blue' }))
  await stage.pass(2)
  const after = (await ships())['a']
  expect([after?.metadata.uid, after?.data]).toEqual([before?.metadata.uid, { flag: 'blue', foreign: 'yes' }])
  hook.calls.length = 0
  await stage.pass(60)
  const { resourceVersion } = (await ships())['a']?.metadata ?? {}
  expect([hook.calls.length, resourceVersion]).toEqual([0, after?.metadata.resourceVersion])
})

test('takes children of the default strategy over: the annotation goes, and what the hook returns no longer', async () => {
  respondWith({ flag: 'red', rudder: 'left' })
  await set({}, controller(), fleet([]))
  const before = (await ships())['a']
  expect(before?.metadata.annotations).toHaveProperty([lastAppliedAnnotation])
  await stage.stopControllers()
  respondWith({ flag: 'red' })
  await stage.startControllers({ settings: { ...settings, 'apply-strategy-ssa-field-manager': 'harbour' } })
  await stage.pass(3)
  const after = (await ships())['a']
  expect([after?.metadata.uid, after?.metadata.annotations, after?.data, managersOf(after)]).toEqual([
    before?.metadata.uid,
    undefined,
    { flag: 'red' },
    ['harbour Apply'],
  ])
})

test.each(['InPlace', 'Recreate', 'RollingInPlace', 'RollingRecreate'])(
  'neither writes nor recreates a child whose values the server stores in another form (%s), also after a restart',
  async (method) => {
    const childResources = [{ apiVersion: 'v1', resource: 'resourcequotas', updateStrategy: { method } }]
    const quota = (cpu: string): object => ({
      ...quotas,
      metadata: { name: 'q', labels: { fleet: 'north' } },
      spec: { hard: { cpu } },
    })
    hook.reply = (call) => ({ body: { children: [quota(requestOf(call).parent.spec.flag ?? '')] } })
    await set({ settings }, controller({ childResources }), fleet([], { flag: '1000m' }))
    const before = await stage.client.get(quotas, 'default/q')
    await stage.stopControllers()
    await stage.startControllers({ settings })
    await stage.pass(10)
    const same = await stage.client.get(quotas, 'default/q')
    expect([same.metadata.uid, same.metadata.resourceVersion]).toEqual([
      before.metadata.uid,
      before.metadata.resourceVersion,
    ])
    await stage.apply(fleet([], { flag: '2000m' }))
    await stage.pass(4)
    const after = (await stage.client.get(quotas, 'default/q')) as KubeObject & { spec: object }
    expect([after.spec, after.metadata.uid === before.metadata.uid]).toEqual([
      { hard: { cpu: '2' } },
      !method.includes('Recreate'),
    ])
  },
)

test('of two parents that want one name the first gets it, and a foreign object stays as it is', async () => {
  let arrived = 0
  const both = Promise.withResolvers<void>()
  hook.reply = async (call) => {
    if (++arrived === 2) both.resolve()
    await both.promise
    return { body: { children: [ship('a', requestOf(call).parent.metadata.name), ship('foreign')] } }
  }
  await set()
  await stage.stopControllers()
  const { client, transport } = recorded(stage.server.client())
  await stage.startControllers({ settings, controllerClient: () => client })
  const foreign = { ...ship('foreign', 'theirs', {}), metadata: { name: 'foreign', namespace: 'default' } }
  await stage.apply(foreign, fleet([]), fleet([], {}, { name: 'south' }), controller())
  await stage.pass(5)
  const { foreign: left } = await ships()
  const applies = transport.requests.filter((request) => /^PATCH .*\/configmaps\//.test(request))
  expect([applies, left?.data, managersOf(left).length]).toEqual([
    ['PATCH /api/v1/namespaces/default/configmaps/a'],
    { flag: 'theirs' },
    1,
  ])
})
