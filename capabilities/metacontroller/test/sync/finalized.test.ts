// The finalizer of an object that its hook has finalized, when its children cannot be written.
import type { ApiServer } from '@fairlead/apiserver'
import { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { Disturbance, DisturbedTransport } from '../../../../test/support/disturbed-transport.ts'
import { RecordingTransport } from '../../../../test/support/recorded-client.ts'
import {
  composite,
  conditionOf,
  configMaps,
  controller,
  decorator,
  fleet,
  fleets,
  hook,
  live,
  requestOf,
  set,
  ship,
  ships,
  stage,
  useHook,
} from './fleet.ts'

useHook()

const matchLabels = { on: 'yes' }
const parentResource = { apiVersion: 'harbour.example.com/v1', resource: 'fleets', labelSelector: { matchLabels } }
const north = (on: string): KubeObject => fleet(['a'], {}, { labels: { on } })
const finalize = (): object => ({ finalize: { webhook: { url: `${hook.url}/finalize` } } })

/** Returns a controller of the fleets that are on, with a finalize hook. */
function controllerOf(kind: string): KubeObject {
  if (kind === composite.kind) return controller({ parentResource }, finalize())
  const { childResources, hooks } = controller({}, finalize()).spec as unknown as Record<string, unknown>
  const spec = { resources: [parentResource], attachments: childResources, hooks }
  return { ...decorator, metadata: { name: 'fleets' }, spec } as unknown as KubeObject
}

/** Lets the hook respond with one child, and finalize an object without any or with those given. */
function respond(kind: string, left: readonly KubeObject[] = []): void {
  const list = kind === composite.kind ? 'children' : 'attachments'
  hook.reply = (call) => {
    const { finalizing } = requestOf(call)
    return { body: { [list]: finalizing ? left : [ship('a')], finalized: finalizing } }
  }
}

const onStatus = { subresource: 'status' }
const kinds = [composite, decorator].map(({ kind }) => kind)
const finalizers = async (): Promise<number> => (await live()).metadata.finalizers?.length ?? 0
const disturbed =
  (disturbance: Disturbance) =>
  (server: ApiServer): Client =>
    new Client({
      transport: new DisturbedTransport(server.transport(), disturbance),
      clock: server.clock,
      random: () => 0.5,
    })

/** A change by another client just before the next request of a method; undefined once it was made. */
let change: (() => Promise<unknown>) | undefined
const raced =
  (raced: string) =>
  (server: ApiServer): Client => {
    const transport = new RecordingTransport(server.transport())
    transport.before = async ({ method }) => {
      const once = method === raced ? change : undefined
      if (once !== undefined) change = undefined
      await once?.()
    }
    return new Client({ transport, clock: server.clock, random: () => 0.5 })
  }

describe.each(kinds)('an object that a %s selects no more', (kind) => {
  test.each([403, 404] as const)('keeps its finalizer while a delete fails with %i', async (fault) => {
    const disturbance = new Disturbance()
    respond(kind)
    await set({ controllerClient: disturbed(disturbance) }, controllerOf(kind), north('yes'))
    disturbance.begin('delete configmaps', fault)
    await stage.apply(north('no'))
    await stage.pass(20)
    expect([await finalizers(), Object.keys(await ships())]).toEqual([1, ['a']])
    expect(await conditionOf('Ready', { ...composite, kind })).toMatchObject({ status: 'False' })
    disturbance.heal()
    await stage.pass(120)
    expect([await finalizers(), await ships()]).toEqual([0, {}])
    expect(await conditionOf('Ready', { ...composite, kind })).toMatchObject({ status: 'True' })
  })

  test('keeps its finalizer while a child that it keeps cannot be updated', async () => {
    const disturbance = new Disturbance()
    respond(kind, [ship('a', 'last')])
    await set({ controllerClient: disturbed(disturbance) }, controllerOf(kind), north('yes'))
    disturbance.begin('update configmaps', 500)
    await stage.apply(north('no'))
    await stage.pass(20)
    expect([await finalizers(), (await ships())['a']?.data]).toEqual([1, { flag: 'none' }])
    disturbance.heal()
    await stage.pass(120)
    expect([await finalizers(), (await ships())['a']?.data]).toEqual([0, { flag: 'last' }])
  })

  test('keeps its finalizer until a child that changes at the moment of its deletion is deleted', async () => {
    respond(kind)
    await set({ controllerClient: raced('DELETE') }, controllerOf(kind), north('yes'))
    change = () => stage.client.patch(configMaps, 'default/a', { merge: { data: { foreign: 'yes' } } })
    await stage.apply(north('no'))
    await stage.pass(120)
    expect([change, await finalizers(), await ships()]).toEqual([undefined, 0, {}])
  })
})

test('an object without attachments loses its finalizer though its ignored status changes at the same moment', async () => {
  hook.reply = (call) => ({ body: { attachments: [], finalized: requestOf(call).finalizing } })
  const { spec, ...rest } = controllerOf(decorator.kind) as KubeObject & { readonly spec: object }
  const resources = [{ ...parentResource, ignoreStatusChanges: true }]
  const ignoring = { ...rest, spec: { ...spec, resources } } as unknown as KubeObject
  await set({ controllerClient: raced('PUT') }, ignoring, north('yes'))
  change = () => stage.client.patch(fleets, 'default/north', { merge: { status: { by: 'other' } } }, onStatus)
  await stage.apply(north('no'))
  await stage.pass(60)
  expect([change, await finalizers(), (await live()).status]).toEqual([undefined, 0, { by: 'other' }])
})

test('a CompositeController writes the status of a parent whose ignored status changes at the same moment', async () => {
  hook.reply = (call) => ({ body: { status: { flag: requestOf(call).parent.spec.flag ?? '' }, children: [] } })
  const ignoring = { ...parentResource, ignoreStatusChanges: true }
  await set({ controllerClient: raced('PUT') }, controller({ parentResource: ignoring }), north('yes'))
  change = () => stage.client.patch(fleets, 'default/north', { merge: { status: { by: 'other' } } }, onStatus)
  await stage.apply(fleet([], { flag: 'red' }, { labels: matchLabels }))
  await stage.pass(60)
  const { metadata, status } = await live()
  expect([change, status]).toEqual([undefined, { flag: 'red', observedGeneration: metadata.generation }])
})

test('an object that is being deleted keeps its finalizer while an attachment cannot be deleted', async () => {
  const disturbance = new Disturbance()
  respond(decorator.kind)
  await set({ controllerClient: disturbed(disturbance) }, controllerOf(decorator.kind), north('yes'))
  disturbance.begin('delete configmaps', 500)
  await stage.client.delete(fleets, 'default/north')
  await stage.pass(20)
  expect([await finalizers(), Object.keys(await ships())]).toEqual([1, ['a']])
  disturbance.heal()
  await stage.pass(120)
  expect([await stage.client.find(fleets, 'default/north'), await ships()]).toEqual([undefined, {}])
})

test.each(kinds)('an object that a %s finalizes is not held by children that cannot be created', async (kind) => {
  const disturbance = new Disturbance()
  respond(kind, [ship('new')])
  await set({ controllerClient: disturbed(disturbance) }, controllerOf(kind), north('yes'))
  disturbance.begin('create configmaps', 403)
  await stage.client.delete(fleets, 'default/north')
  await stage.pass(20)
  expect(await stage.client.find(fleets, 'default/north')).toBeUndefined()
})

test('a sync hook that responds finalized without being asked to finalize keeps the finalizer, and is not called in a loop', async () => {
  hook.reply = () => ({ body: { children: [ship('a')], finalized: true } })
  await set({}, controller({}, finalize()), fleet(['a']))
  await stage.pass(5)
  expect(await finalizers()).toBe(1)
  expect(hook.calls.length).toBeLessThan(5)
})
