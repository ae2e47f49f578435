// Rolling updates of CompositeControllers on an embedded server with a real hook.
import type { KubeObject } from '@fairlead/kube'
import { findCondition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { crd } from '../../../../test/support/crd.ts'
import type { SyncRequest } from './fleet.ts'
import { controller, fleet, fleetDefinition, fleets, hook, requestOf, set, ship, stage, useHook } from './fleet.ts'

useHook()

const revisions = { apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'ControllerRevision' }
const boats = { apiVersion: 'harbour.example.com/v1', kind: 'Boat' }
const boatDefinition = crd({ group: 'harbour.example.com', kind: 'Boat', status: true })

/** A controller whose children are Boats, which have a status. */
function rollingController(method: string, spec: object = {}, hooks: object = {}): KubeObject {
  const statusChecks = { conditions: [{ type: 'Afloat', status: 'True' }] }
  const boatsRoll = { apiVersion: boats.apiVersion, resource: 'boats', updateStrategy: { method, statusChecks } }
  return controller({ childResources: [boatsRoll], ...spec }, hooks)
}

function boat(name: string, flag: string | undefined, namespace?: string): KubeObject {
  const place = namespace === undefined ? {} : { namespace }
  return { ...boats, metadata: { name, ...place, labels: { fleet: 'north' } }, spec: { flag } } as KubeObject
}

function boatResponse({ parent }: SyncRequest, namespace?: string): object {
  return { status: { of: 'hook' }, children: parent.spec.ships.map((name) => boat(name, parent.spec.flag, namespace)) }
}

type Boat = KubeObject & { readonly spec: { readonly flag: string } }

async function flags(): Promise<Record<string, string>> {
  const { items } = await stage.client.list(boats)
  return Object.fromEntries(items.map((item) => [item.metadata.name ?? '', (item as Boat).spec.flag]))
}

async function float(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const status = { conditions: [{ type: 'Afloat', status: 'True' }] }
    await stage.client.patch(boats, `default/${name}`, { merge: { status } }, { subresource: 'status' })
  }
  await stage.pass(2)
}

async function updated(of = fleets, key = 'default/north'): Promise<string> {
  const { status } = (await stage.client.get(of, key)) as KubeObject & { status?: { conditions: Condition[] } }
  const found = findCondition(status?.conditions, 'Updated')
  return `${found?.reason}: ${found?.message.replace(/-[0-9a-f]{40}$/, '')}`
}

/** Returns the children on each revision, by the flag of the revision. */
async function recorded(): Promise<Record<string, unknown>> {
  const { items } = await stage.client.list(revisions)
  return Object.fromEntries(
    items.map((item) => {
      const { parentPatch, children } = item as unknown as {
        parentPatch: { spec: { flag?: string } }
        children?: { names: string[] }[]
      }
      return [parentPatch.spec.flag ?? 'none', children?.flatMap(({ names }) => names) ?? []]
    }),
  )
}

test('RollingInPlace moves one child at a time to the new revision, and waits for its status checks', async () => {
  hook.reply = (call) => ({ body: boatResponse(requestOf(call)) })
  await set({}, boatDefinition, rollingController('RollingInPlace'), fleet(['a', 'b', 'c'], { flag: 'red' }))
  expect(await updated()).toBe('OnLatestRevision: latest ControllerRevision: fleets.harbour.example.com')
  await float('a', 'b', 'c')
  await stage.apply(fleet(['a', 'b', 'c'], { flag: 'blue' }))
  await stage.pass(2)
  // All are afloat: nothing holds the rollout back.
  expect([await flags(), await updated(), await recorded()]).toEqual([
    { a: 'blue', b: 'blue', c: 'blue' },
    'OnLatestRevision: latest ControllerRevision: fleets.harbour.example.com',
    { blue: ['a', 'b', 'c'] },
  ])
  await stage.client.patch(boats, 'default/a', { merge: { status: { conditions: [] } } }, { subresource: 'status' })
  await stage.apply(fleet(['a', 'b', 'c'], { flag: 'green' }))
  await stage.pass(2)
  expect([await flags(), await updated(), await recorded()]).toEqual([
    { a: 'green', b: 'blue', c: 'blue' },
    'RolloutWaiting: child Boat a failed status check: required condition type missing: "Afloat"',
    { blue: ['b', 'c'], green: ['a'] },
  ])
  await float('a')
  expect([await flags(), await recorded()]).toEqual([
    { a: 'green', b: 'green', c: 'green' },
    { green: ['a', 'b', 'c'] },
  ])
})

test('RollingRecreate deletes and creates one child at a time', async () => {
  hook.reply = (call) => ({ body: boatResponse(requestOf(call)) })
  await set({}, boatDefinition, rollingController('RollingRecreate'), fleet(['a', 'b'], { flag: 'red' }))
  await float('a', 'b')
  const uidOf = async (name: string): Promise<string | undefined> =>
    (await stage.client.get(boats, `default/${name}`)).metadata.uid
  const before = [await uidOf('a'), await uidOf('b')]
  await stage.apply(fleet(['a', 'b'], { flag: 'blue' }))
  await stage.pass(2)
  expect([await flags(), await updated()]).toEqual([
    { a: 'blue', b: 'red' },
    'RolloutWaiting: child Boat a failed status check: required condition type missing: "Afloat"',
  ])
  await float('a')
  const after = [await uidOf('a'), await uidOf('b')]
  expect([await flags(), after[0] === before[0], after[1] === before[1]]).toEqual([
    { a: 'blue', b: 'blue' },
    false,
    false,
  ])
})

test('a rollout of a cluster-scoped parent keeps its revisions in the namespace default', async () => {
  hook.reply = (call) => ({ body: boatResponse(requestOf(call), 'default') })
  const oceans = { apiVersion: 'harbour.example.com/v1', kind: 'Ocean' }
  const ocean = (flag: string): KubeObject => {
    const spec = { selector: { matchLabels: { fleet: 'north' } }, ships: ['a', 'b'], flag }
    return { ...oceans, metadata: { name: 'north' }, spec } as KubeObject
  }
  const parentResource = { apiVersion: 'harbour.example.com/v1', resource: 'oceans' }
  await set({}, boatDefinition, crd({ group: 'harbour.example.com', kind: 'Ocean', status: true, scope: 'Cluster' }))
  await stage.pass(1)
  await stage.apply(rollingController('RollingInPlace', { parentResource }), ocean('red'))
  await stage.pass(2)
  await stage.apply(ocean('blue'))
  await stage.pass(2)
  expect([await flags(), await updated(oceans, 'north'), await recorded()]).toEqual([
    { a: 'blue', b: 'red' },
    'RolloutWaiting: child Boat default/a failed status check: required condition type missing: "Afloat"',
    { red: ['default/b'], blue: ['default/a'] },
  ])
  await float('a')
  expect([await flags(), await recorded()]).toEqual([{ a: 'blue', b: 'blue' }, { blue: ['default/a', 'default/b'] }])
  expect((await stage.client.list(revisions)).items.map(({ metadata: { namespace } }) => namespace)).toEqual([
    'default',
  ])
})

test('fields outside of revisionHistory.fieldPaths make no revision, and change all children at once', async () => {
  hook.reply = (call) => ({ body: boatResponse(requestOf(call)) })
  const parentResource = {
    apiVersion: 'harbour.example.com/v1',
    resource: 'fleets',
    revisionHistory: { fieldPaths: ['spec.port'] },
  }
  await set({}, boatDefinition, rollingController('RollingInPlace', { parentResource }))
  await stage.apply(fleet(['a', 'b'], { flag: 'red', port: 'x' }))
  await stage.pass(2)
  await stage.apply(fleet(['a', 'b'], { flag: 'blue', port: 'x' }))
  await stage.pass(2)
  const { items } = await stage.client.list(revisions)
  expect([await flags(), items.map((item) => (item as { parentPatch?: unknown }).parentPatch)]).toEqual([
    { a: 'blue', b: 'blue' },
    [{ spec: { port: 'x' } }],
  ])
})

test('a child that the parent does not want any more is deleted at once, and its revision with it', async () => {
  hook.reply = (call) => ({ body: boatResponse(requestOf(call)) })
  await set({}, boatDefinition, rollingController('RollingInPlace'), fleet(['a', 'b'], { flag: 'red' }))
  await stage.apply(fleet(['a', 'b'], { flag: 'blue' }))
  await stage.pass(2)
  // a was moved; it never floats, so b stays on the old revision.
  expect(await recorded()).toEqual({ red: ['b'], blue: ['a'] })
  await stage.apply(fleet(['a'], { flag: 'blue' }))
  await stage.pass(2)
  expect([await flags(), await recorded()]).toEqual([{ a: 'blue' }, { blue: ['a'] }])
})

test('a rollout goes on after a restart in the middle of it', async () => {
  hook.reply = (call) => ({ body: boatResponse(requestOf(call)) })
  await set({}, boatDefinition, rollingController('RollingInPlace'), fleet(['a', 'b'], { flag: 'red' }))
  await float('b')
  await stage.apply(fleet(['a', 'b'], { flag: 'blue' }))
  await stage.pass(2)
  await stage.stopControllers()
  await stage.startControllers()
  await stage.pass(2)
  await float('a')
  await stage.pass(2)
  await float('a', 'b')
  expect([await flags(), await recorded()]).toEqual([{ a: 'blue', b: 'blue' }, { blue: ['a', 'b'] }])
})

test('a ControllerRevision is written as Metacontroller writes it', async () => {
  hook.reply = (call) => ({ body: boatResponse(requestOf(call)) })
  await set({}, boatDefinition, rollingController('RollingInPlace', { generateSelector: true }), fleet(['a']))
  const parent = await stage.client.get(fleets, 'default/north')
  const [revision] = (await stage.client.list(revisions)).items
  const { uid = '' } = parent.metadata
  const { name, namespace, labels, ownerReferences } = revision?.metadata ?? {}
  expect({ name: name?.replace(/[0-9a-f]{40}$/, '<sha1>'), namespace, labels, ownerReferences }).toEqual({
    name: 'fleets.harbour.example.com-<sha1>',
    namespace: 'default',
    labels: {
      'controller-uid': uid,
      'metacontroller.k8s.io/apiGroup': 'harbour.example.com',
      'metacontroller.k8s.io/resource': 'fleets',
    },
    ownerReferences: [
      { apiVersion: fleets.apiVersion, kind: 'Fleet', name: 'north', uid, controller: true, blockOwnerDeletion: true },
    ],
  })
  expect((revision as { children?: unknown } | undefined)?.children).toEqual([
    { apiGroup: 'harbour.example.com', kind: 'Boat', names: ['a'] },
  ])
})

test('nothing is written once a rollout is over', async () => {
  hook.reply = (call) => ({ body: boatResponse(requestOf(call)) })
  await set({}, boatDefinition, rollingController('RollingInPlace'), fleet(['a', 'b'], { flag: 'red' }))
  await stage.pass(5)
  const { revision } = stage.server.store
  await stage.pass(60)
  expect(stage.server.store.revision - revision).toBe(0)
})

test('a finalizer is removed only when every revision is finalized', async () => {
  let isFinalized = false
  hook.reply = (call) => {
    const request = requestOf(call)
    if (!request.finalizing) return { body: boatResponse(request) }
    return { body: { ...boatResponse(request), finalized: isFinalized || request.parent.spec.flag === 'blue' } }
  }
  const finalize = { finalize: { webhook: { url: `${hook.url}/finalize` } } }
  await set({}, boatDefinition, rollingController('RollingInPlace', {}, finalize))
  await stage.apply(fleet(['a', 'b'], { flag: 'red' }))
  await stage.pass(2)
  await float('b')
  await stage.apply(fleet(['a', 'b'], { flag: 'blue' }))
  await stage.pass(2)
  await stage.client.delete(fleets, 'default/north')
  await stage.pass(2)
  const isThere = async (): Promise<boolean> => (await stage.client.find(fleets, 'default/north')) !== undefined
  expect(await isThere()).toBe(true)
  isFinalized = true
  await stage.client.patch(fleets, 'default/north', { merge: { metadata: { labels: { go: 'on' } } } })
  await stage.pass(2)
  expect(await isThere()).toBe(false)
})

test('children of a kind that does not roll change at once beside children that do', async () => {
  hook.reply = (call) => {
    const { parent } = requestOf(call)
    return {
      body: { children: [boat('a', parent.spec.flag), boat('b', parent.spec.flag), ship('c', parent.spec.flag)] },
    }
  }
  const childResources = [
    { apiVersion: boats.apiVersion, resource: 'boats', updateStrategy: { method: 'RollingInPlace' } },
    { apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } },
  ]
  await set({}, boatDefinition, fleetDefinition, controller({ childResources }), fleet([], { flag: 'red' }))
  await stage.apply(fleet([], { flag: 'blue' }))
  await stage.pass(2)
  expect([await flags(), await recorded()]).toEqual([{ a: 'blue', b: 'blue' }, { blue: ['a', 'b'] }])
})
