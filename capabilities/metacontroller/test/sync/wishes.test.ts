// What users of Metacontroller asked for (specs/metacontroller.md §5), for parents with children.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { crd } from '../../../../test/support/crd.ts'
import { until } from '../../../../test/support/until.ts'
import { runCommand } from '../run-command.ts'
import type { SyncRequest } from './fleet.ts'
import {
  composite,
  conditionOf,
  configMaps,
  controller,
  decorator,
  fleet,
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

const boats = { apiVersion: 'harbour.example.com/v1', kind: 'Boat' }
const takePaths = (): string[] => hook.calls.splice(0).map(({ path }) => path)

/** Runs `fairlead metacontroller sync`; returns what it prints. */
async function requestSync(...args: readonly string[]): Promise<readonly string[]> {
  const { out, err } = await stage.during(runCommand('sync', { arguments: args, client: stage.client }))
  return [out, err].filter((text) => text !== '')
}

async function eventsOf(name: string): Promise<readonly string[]> {
  const { items } = await stage.client.list<KubeObject & { note?: string; type?: string }>({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
  })
  return items
    .filter((event) => (event['regarding'] as { name?: string } | undefined)?.name === name)
    .map(({ type, reason, note }) => `${type} ${String(reason)}: ${note}`)
}

describe('events in a response', () => {
  const events = [
    { reason: 'Sailed', message: 'left the harbour' },
    { type: 'Warning', reason: 'Storm', message: 'wind 9' },
    { type: 'Warning', reason: 'not one word', message: 'x' },
  ]

  test('are recorded on the parent, and a wrong one is left out', async () => {
    hook.reply = () => ({ body: { children: [], events } })
    await set({}, controller(), fleet([]))
    await stage.pass(5)
    expect((await eventsOf('north')).toSorted()).toEqual(['Normal Sailed: left the harbour', 'Warning Storm: wind 9'])
  })

  test('are refused as a whole when the hook is strict', async () => {
    hook.reply = () => ({ body: { children: [], events } })
    await set({}, controller({}, { sync: { version: 'v2', webhook: { url: `${hook.url}/sync` } } }), fleet([]))
    expect(await conditionOf('Ready')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('events[2] needs a reason (one CamelCase word), a message'),
    })
  })
})

test('a sync is requested by an annotation of the parent or of the controller, and asks the customize hook again', async () => {
  hook.reply = ({ path }) => ({ body: path === '/customize' ? { relatedResources: [] } : { children: [] } })
  const customize = { webhook: { url: `${hook.url}/customize` } }
  await set({}, controller({}, { customize }), fleet([]), fleet([], {}, { name: 'south' }))
  await stage.pass(5)
  takePaths()
  expect(await requestSync('fleets', 'default/north')).toEqual(['Fleet default/north: sync requested'])
  await stage.pass(2)
  expect(takePaths()).toEqual(['/customize', '/sync'])
  expect((await requestSync('fleets', 'west'))[0]).toContain(
    'There is no parent west of fleets (fleets); name one as namespace/name',
  )
  expect(await requestSync('fleets')).toEqual(['CompositeController fleets: sync requested'])
  await stage.pass(2)
  expect(takePaths().toSorted()).toEqual(['/customize', '/customize', '/sync', '/sync'])
  await stage.pass(10)
  expect(takePaths()).toEqual([])
})

test('a change of webhook.revision calls the hook again for everything', async () => {
  await set({}, controller(), fleet([]))
  await stage.pass(5)
  takePaths()
  await stage.apply(controller({}, { sync: { webhook: { url: `${hook.url}/sync`, revision: '2' } } }))
  await stage.pass(3)
  expect(takePaths()).toEqual(['/sync'])
})

test.each([
  ['nothing', {}, ['/sync'], ['/sync']],
  ['changes of the status', { ignoreStatusChanges: true }, [], []],
  ['all but one field', { fieldPaths: ['status.phase'] }, ['/sync'], []],
])('a child kind that ignores %s', async (_title, ignored, afterPhase, afterOther) => {
  const childResources = [{ apiVersion: boats.apiVersion, resource: 'boats', ...ignored }]
  hook.reply = () => ({ body: { children: [{ ...boats, metadata: { name: 'b', labels: { fleet: 'north' } } }] } })
  await set({}, crd({ group: 'harbour.example.com', kind: 'Boat', status: true }))
  await stage.apply(controller({ childResources }), fleet([]))
  await stage.pass(3)
  const paths: string[][] = []
  for (const status of [{ phase: 'Afloat' }, { other: 1 }] as readonly JsonObject[]) {
    takePaths()
    await stage.client.patch(boats, 'default/b', { merge: { status } }, { subresource: 'status' })
    await stage.pass(2)
    paths.push(takePaths())
  }
  expect(paths).toEqual([afterPhase, afterOther])
})

test('children of ownership Owner have another controller, are deleted with their parent and wake it', async () => {
  const childResources = [
    { apiVersion: 'v1', resource: 'configmaps', ownership: 'Owner', updateStrategy: { method: 'InPlace' } },
  ]
  await set({}, controller({ childResources }), fleet(['a']))
  const { uid = '' } = (await live()).metadata
  const mine = { apiVersion: 'harbour.example.com/v1', kind: 'Fleet', name: 'north', uid, controller: false }
  const owners = async (): Promise<unknown> => (await ships())['a']?.metadata.ownerReferences
  expect(await owners()).toEqual([{ ...mine, blockOwnerDeletion: false }])
  const other = await stage.apply({ ...configMaps, metadata: { name: 'z', namespace: 'default' } } as KubeObject)
  expect(other).toBeUndefined()
  const captain = await stage.client.get(configMaps, 'default/z')
  const theirs = { ...configMaps, name: 'z', uid: captain.metadata.uid ?? '', controller: true }
  await stage.client.patch(configMaps, 'default/a', {
    merge: { metadata: { ownerReferences: [{ ...mine, blockOwnerDeletion: false }, theirs] } },
  })
  await stage.pass(3)
  takePaths()
  await stage.client.patch(configMaps, 'default/a', { merge: { data: { flag: 'changed' } } })
  await stage.pass(3)
  expect([takePaths().length > 0, (await ships())['a']?.data?.['flag'], await owners()]).toEqual([
    true,
    'none',
    [{ ...mine, blockOwnerDeletion: false }, theirs],
  ])
  await stage.apply(fleet([]))
  await stage.pass(3)
  expect(Object.keys(await ships())).toEqual(['z'])
})

test.each([composite.kind, decorator.kind])(
  'a child that is wanted no longer stays without its owner where deletionPolicy is Orphan, and is taken over again (%s)',
  async (kind) => {
    const [child] = (controller().spec as unknown as { childResources: object[] }).childResources
    const children = [{ ...child, deletionPolicy: 'Orphan' }]
    const { hooks } = controller().spec as unknown as { hooks: object }
    const resources = [{ apiVersion: 'harbour.example.com/v1', resource: 'fleets' }]
    const decorates = { ...decorator, metadata: { name: 'fleets' }, spec: { resources, attachments: children, hooks } }
    const isComposite = kind === composite.kind
    hook.reply = (call) => {
      const { parent, object } = requestOf(call)
      const { ships: wanted } = ((parent ?? object) as SyncRequest['parent']).spec
      return { body: { [isComposite ? 'children' : 'attachments']: wanted.map((name) => ship(name)) } }
    }
    const runs = isComposite ? controller({ childResources: children }) : (decorates as unknown as KubeObject)
    await set({}, runs, fleet(['a', 'b']))
    const before = (await ships())['a']?.metadata.uid
    const found = async (): Promise<unknown> =>
      Object.fromEntries(
        Object.entries(await ships()).map(([name, { metadata }]) => [
          name,
          metadata.ownerReferences?.map((owner) => owner.name),
        ]),
      )
    await stage.apply(fleet(['b']))
    await stage.pass(3)
    expect(await found()).toEqual({ a: undefined, b: ['north'] })
    hook.calls.length = 0
    await stage.pass(60)
    expect(hook.calls).toEqual([])
    await stage.apply(fleet(['a', 'b']))
    await stage.pass(3)
    expect([await found(), (await ships())['a']?.metadata.uid]).toEqual([{ a: ['north'], b: ['north'] }, before])
  },
)

test('an object that asks for it by its annotation is adopted, by the parent that it names only', async () => {
  const decorate = {
    ...decorator,
    metadata: { name: 'pilots' },
    spec: {
      resources: [{ apiVersion: 'harbour.example.com/v1', resource: 'fleets' }],
      attachments: [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }],
      hooks: { sync: { webhook: { url: `${hook.url}/decorate` } } },
    },
  }
  hook.reply = () => ({ body: { attachments: [ship('a'), ship('b')] } })
  const theirs = (name: string, asks: string): KubeObject =>
    ({
      ...configMaps,
      metadata: { name, namespace: 'default', annotations: { 'metacontroller.k8s.io/adopt-by': asks } },
      data: { foreign: 'yes' },
    }) as unknown as KubeObject
  await set({}, theirs('a', 'pilots/south'), theirs('b', 'pilots/north'), fleet([]), decorate as unknown as KubeObject)
  await stage.pass(3)
  const before = await ships()
  expect([before['a']?.metadata.ownerReferences, before['b']?.metadata.ownerReferences?.[0]?.name]).toEqual([
    undefined,
    'north',
  ])
  expect([before['b']?.data, before['b']?.metadata.annotations]).toEqual([
    { foreign: 'yes', flag: 'none' },
    expect.not.objectContaining({ 'metacontroller.k8s.io/adopt-by': expect.anything() }),
  ])
  await stage.client.patch(configMaps, 'default/a', {
    merge: { metadata: { annotations: { 'metacontroller.k8s.io/adopt-by': 'pilots/north' } } },
  })
  await stage.pass(3)
  expect((await ships())['a']?.data).toEqual({ foreign: 'yes', flag: 'none' })
})

test('no more calls are in flight than maxConcurrentCalls', async () => {
  const released = Promise.withResolvers<void>()
  let inFlight = 0
  let most = 0
  hook.reply = async () => {
    most = Math.max(most, ++inFlight)
    await released.promise
    inFlight--
    return { body: { children: [] } }
  }
  await set()
  const fleets = Array.from({ length: 8 }, (_, at) => fleet([], {}, { name: `fleet-${at}` }))
  for (const one of [...fleets, controller({ maxConcurrentCalls: 2 })]) await stage.during(stage.client.apply(one))
  const passed = stage.pass(3)
  await until('two calls are in flight', () => inFlight === 2)
  released.resolve()
  await passed
  expect([most, new Set(hook.calls.map((call) => requestOf(call).parent.metadata.name)).size]).toEqual([2, 8])
})
