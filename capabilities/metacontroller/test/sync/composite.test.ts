// CompositeControllers on an embedded server with a real hook.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { lastAppliedAnnotation } from '../../src/children/merge.ts'
import {
  conditionOf,
  configMaps,
  controller,
  fleet,
  fleetDefinition,
  fleetResponse,
  fleets,
  hook,
  live,
  composite,
  requestOf,
  set,
  ship,
  ships,
  stage,
  useHook,
} from './fleet.ts'
import { crd } from '../../../../test/support/crd.ts'

useHook()

const takeRequests = (): ReturnType<typeof requestOf>[] => hook.calls.splice(0).map(requestOf)
const reasons = async (): Promise<string[]> =>
  (await stage.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' })).items.map(({ reason }) => String(reason))

describe('the children of a CompositeController', () => {
  test('are created with owner and last applied configuration, and the parent gets the status of the response', async () => {
    await set({}, controller(), fleet(['a', 'b'], { flag: 'red' }))
    const parent = await live()
    const { a } = await ships()
    expect(Object.keys(await ships())).toEqual(['a', 'b'])
    expect(a?.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'harbour.example.com/v1',
        kind: 'Fleet',
        name: 'north',
        uid: parent.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ])
    expect(a?.metadata.annotations?.[lastAppliedAnnotation]).toBe(
      '{"apiVersion":"v1","data":{"flag":"red"},"kind":"ConfigMap","metadata":{"labels":{"fleet":"north"},"name":"a","namespace":"default"}}',
    )
    expect(parent.status).toEqual({ ships: 2, observedGeneration: parent.metadata.generation })
    const [first, second] = takeRequests()
    expect({ children: first?.children, related: first?.related, finalizing: first?.finalizing }).toEqual({
      children: { 'ConfigMap.v1': {} },
      related: {},
      finalizing: false,
    })
    expect(Object.keys(second?.children['ConfigMap.v1'] ?? {})).toEqual(['a', 'b'])
    await stage.pass(60)
    expect(takeRequests().length).toBeLessThanOrEqual(1)
  })

  test('are changed in place, keep fields of others, and are deleted when the hook leaves them out', async () => {
    await set({}, controller(), fleet(['a', 'b']))
    await stage.client.patch(configMaps, 'default/a', { merge: { data: { foreign: 'yes' } } })
    await stage.apply(fleet(['a'], { flag: 'blue' }))
    await stage.pass(2)
    const after = await ships()
    expect(Object.fromEntries(Object.entries(after).map(([name, { data }]) => [name, data]))).toEqual({
      a: { flag: 'blue', foreign: 'yes' },
    })
  })

  test.each([
    ['OnDelete', 'none', true],
    ['Recreate', 'blue', false],
  ])('that differ are treated as %s says', async (method, flag, isSame) => {
    const childResources = [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method } }]
    await set({}, controller({ childResources }), fleet(['a']))
    const before = (await ships())['a']
    await stage.apply(fleet(['a'], { flag: 'blue' }))
    await stage.pass(2)
    const after = (await ships())['a']
    expect([after?.data?.['flag'], after?.metadata.uid === before?.metadata.uid]).toEqual([flag, isSame])
  })

  test('are adopted and released as the selector of the parent says', async () => {
    await set({}, controller({ childResources: [{ apiVersion: 'v1', resource: 'configmaps' }] }))
    hook.reply = (call) => {
      const { children } = requestOf(call)
      return {
        body: {
          children: Object.values(children['ConfigMap.v1'] ?? {}).map(({ metadata: { name, labels } }) =>
            ship(name ?? '', 'none', labels),
          ),
        },
      }
    }
    await stage.apply({ ...ship('orphan'), metadata: { ...ship('orphan').metadata, namespace: 'default' } })
    await stage.apply(fleet([]))
    await stage.pass(2)
    expect((await ships())['orphan']?.metadata.ownerReferences?.[0]?.name).toBe('north')
    await stage.client.patch(configMaps, 'default/orphan', { merge: { metadata: { labels: { fleet: 'south' } } } })
    await stage.pass(2)
    expect((await ships())['orphan']?.metadata.ownerReferences).toBeUndefined()
  })

  test('of another namespace that name the uid of a parent are no children', async () => {
    await set({}, controller(), fleet(['a']))
    const { uid = '' } = (await live()).metadata
    const owner = { apiVersion: fleets.apiVersion, kind: fleets.kind, name: 'north', uid, controller: true }
    const forged = {
      ...ship('b'),
      metadata: { ...ship('b').metadata, namespace: 'kube-public', ownerReferences: [owner] },
    }
    hook.calls.length = 0
    // The garbage collector deletes it, as it would in a cluster: the owner does not exist there.
    await stage.during(stage.client.create(forged))
    await stage.apply(fleet(['a'], { flag: 'red' }))
    await stage.pass(3)
    const sent = takeRequests().flatMap(({ children }) => Object.values(children['ConfigMap.v1'] ?? {}))
    expect(new Set(sent.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))).toEqual(
      new Set(['default/a']),
    )
  })

  test('carry the label controller-uid when the selector is generated', async () => {
    await set({}, controller({ generateSelector: true }), fleet(['a'], { selector: {} }))
    expect((await ships())['a']?.metadata.labels).toEqual({
      fleet: 'north',
      'controller-uid': (await live()).metadata.uid,
    })
  })

  test('of a cluster-scoped parent are keyed by namespace and name in requests', async () => {
    const definition = crd({ group: 'harbour.example.com', kind: 'Ocean', status: true, scope: 'Cluster' })
    hook.reply = () => ({
      body: { children: [{ ...ship('a'), metadata: { ...ship('a').metadata, namespace: 'default' } }] },
    })
    await set({}, definition)
    await stage.pass(1)
    await stage.apply(controller({ parentResource: { apiVersion: 'harbour.example.com/v1', resource: 'oceans' } }), {
      apiVersion: 'harbour.example.com/v1',
      kind: 'Ocean',
      metadata: { name: 'north' },
      spec: { selector: { matchLabels: { fleet: 'north' } } },
    })
    await stage.pass(2)
    expect(Object.keys(takeRequests().at(-1)?.children['ConfigMap.v1'] ?? {})).toEqual(['default/a'])
  })

  test('are left as they are when the parent is deleted with orphaning', async () => {
    await set({}, controller(), fleet(['a']))
    await stage.client.delete(fleets, 'default/north', { propagation: 'Orphan' })
    await stage.pass(5)
    expect(Object.keys(await ships())).toEqual(['a'])
  })

  test('are neither created nor deleted while their kind cannot be listed', async () => {
    await set({}, controller(), fleet(['a', 'b']))
    hook.reply = () => ({ body: { children: null } })
    hook.calls.length = 0
    await stage.stopControllers()
    await stage.apply(fleet(['a'], { flag: 'new' }))
    const { client, transport } = await import('../../../../test/support/recorded-client.ts').then(({ recorded }) =>
      recorded(stage.server.client()),
    )
    transport.instead = ({ path }) =>
      path.startsWith('/api/v1/configmaps')
        ? {
            status: 403,
            headers: {},
            body: {
              kind: 'Status',
              apiVersion: 'v1',
              metadata: {},
              status: 'Failure',
              reason: 'Forbidden',
              code: 403,
              message: 'configmaps is forbidden: User "x" cannot list resource "configmaps"',
            },
            warnings: [],
          }
        : undefined
    await stage.startControllers({ controllerClient: () => client })
    await stage.pass(10)
    expect([Object.keys(await ships()), hook.calls.length]).toEqual([['a', 'b'], 0])
    expect(await conditionOf('Ready')).toMatchObject({ reason: 'KindForbidden' })
  })
})

describe('a kind that a customize hook asks for and that may not be listed', () => {
  test('is reported on the parent and its controller, and the parent is synced once the right is granted', async () => {
    hook.reply = (call) => ({
      body:
        call.path === '/customize'
          ? { relatedResources: [{ apiVersion: 'v1', resource: 'secrets' }] }
          : fleetResponse(requestOf(call)),
    })
    await set({}, fleet(['a']))
    await stage.stopControllers()
    const { recorded } = await import('../../../../test/support/recorded-client.ts')
    const { client, transport } = recorded(stage.server.client())
    const message =
      'secrets is forbidden: User "x" cannot list resource "secrets" in API group "" in the namespace "default"'
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Forbidden', code: 403 }
    transport.instead = ({ path }) =>
      path.includes('/secrets') ? { status: 403, headers: {}, body: { ...status, message }, warnings: [] } : undefined
    await stage.startControllers({ controllerClient: () => client })
    await stage.apply(controller({}, { customize: { webhook: { url: `${hook.url}/customize` } } }))
    await stage.pass(10)
    expect(Object.keys(await ships())).toEqual([])
    expect(await conditionOf('Ready')).toEqual({
      status: 'False',
      reason: 'Forbidden',
      message: `1 of 1 parents fail: Fleet.harbour.example.com/default/north: Secret cannot be read: ${message}; the customize hook asks for it: grant get, list and watch by a ClusterRole with the label rbac.fairlead.dev/aggregate-to-metacontroller: "true"`,
    })
    const { items } = await stage.client.list<KubeObject & { reason: string; note: string }>({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
    })
    expect(items.filter(({ reason }) => reason === 'SyncError').map(({ note }) => note)).toEqual([
      `Sync error: Secret cannot be read: ${message}`,
    ])
    transport.instead = () => undefined
    await stage.apply({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'more' } })
    await stage.pass(3)
    expect(Object.keys(await ships())).toEqual(['a'])
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True', reason: 'Serving' })
  })
})

describe('the children of a Metacontroller that was stopped', () => {
  test('are neither written nor made anew, are changed afterwards, and keep fields of others', async () => {
    await set({}, fleet(['a'], { flag: '<red>' }))
    const { uid } = (await live()).metadata
    const made = await stage.server.client({ manager: 'metacontroller' }).create({
      ...ship('a', '<red>'),
      metadata: {
        name: 'a',
        namespace: 'default',
        labels: { fleet: 'north' },
        annotations: {
          [lastAppliedAnnotation]:
            '{"apiVersion":"v1","data":{"flag":"\\u003cred\\u003e"},"kind":"ConfigMap","metadata":{"labels":{"fleet":"north"},"name":"a","namespace":"default"}}',
        },
        ownerReferences: [
          {
            apiVersion: 'harbour.example.com/v1',
            kind: 'Fleet',
            name: 'north',
            uid: uid ?? '',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
    } as unknown as KubeObject)
    await stage.client.patch(configMaps, 'default/a', { merge: { data: { foreign: 'yes' } } })
    const before = (await ships())['a']
    await stage.apply(controller())
    await stage.pass(3)
    const taken = (await ships())['a']
    expect([hook.calls.length > 0, taken?.metadata.uid, taken?.metadata.resourceVersion]).toEqual([
      true,
      made.metadata.uid,
      before?.metadata.resourceVersion,
    ])
    await stage.apply(fleet(['a'], { flag: 'blue' }))
    await stage.pass(2)
    const after = (await ships())['a']
    expect([after?.metadata.uid, after?.data]).toEqual([made.metadata.uid, { flag: 'blue', foreign: 'yes' }])
  })
})

describe('a response that is wrong', () => {
  test.each<[string, object, string]>([
    [
      'a child that the selector does not match',
      { children: [ship('a', 'x', { fleet: 'south' })] },
      "don't match parent selector",
    ],
    ['a kind that is not declared', { children: [{ ...ship('a'), kind: 'Secret' }] }, 'childResources does not list'],
    [
      'another namespace',
      { children: [{ ...ship('a'), metadata: { name: 'a', namespace: 'other' } }] },
      'cannot own across namespaces',
    ],
    ['a list that is none', { children: 'none' }, 'children in the response of the sync hook must be a list'],
  ])('with %s writes nothing and is reported', async (_title, body, message) => {
    await set({}, controller(), fleet(['a']))
    hook.reply = () => ({ body })
    await stage.apply(fleet(['a', 'b']))
    await stage.pass(2)
    expect(Object.keys(await ships())).toEqual(['a'])
    expect(await conditionOf('Ready')).toMatchObject({ status: 'False', message: expect.stringContaining(message) })
    expect(await reasons()).toContain('SyncError')
  })

  test('in many children is reported with the first five, each by its name', async () => {
    const wrong = (at: number): object => ({ ...ship(`s-${at}`), data: { flag: at } })
    await set({}, controller(), fleet(['a']))
    hook.reply = () => ({ body: { children: [ship('a'), ...Array.from({ length: 400 }, (_, at) => wrong(at))] } })
    await stage.apply(fleet(['a'], { flag: 'new' }))
    await stage.pass(2)
    const cause =
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string'
    const named = [0, 1, 2, 3, 4].map((at) => `ConfigMap/default/s-${at}: ${cause}`)
    expect(await conditionOf('Ready')).toEqual({
      status: 'False',
      reason: 'ParentsFailing',
      message: `1 of 1 parents fail: Fleet.harbour.example.com/default/north: ${named.join('; ')}; and 395 more`,
    })
  })

  test('with null children deletes them in loose mode, and is refused in strict mode', async () => {
    await set({}, controller({}, { sync: { version: 'v2', webhook: { url: `${hook.url}/sync` } } }), fleet(['a']))
    hook.reply = () => ({ body: { children: null } })
    await stage.apply(fleet(['a'], { flag: 'x' }))
    await stage.pass(2)
    expect(Object.keys(await ships())).toEqual(['a'])
    await stage.apply(controller())
    await stage.pass(3)
    expect(await ships()).toEqual({})
  })
})

describe('a parent of a CompositeController', () => {
  test('is synced again after resyncAfterSeconds, and after its own status write', async () => {
    // As in Metacontroller's own test: the status write is the reason for the second call, the resync for the third.
    let asked = false
    hook.reply = (call) => {
      const { parent } = requestOf(call)
      if ((parent as KubeObject & { status?: JsonObject }).status === undefined) return { body: { status: {} } }
      if (!asked) {
        asked = true
        return { body: { status: null, resyncAfterSeconds: 30 } }
      }
      return { body: { status: { done: true } } }
    }
    await set({}, controller(), fleet([]))
    expect(hook.calls.length).toBe(2)
    await stage.pass(20)
    expect((await live()).status).not.toHaveProperty('done')
    await stage.pass(15)
    expect((await live()).status).toMatchObject({ done: true })
  })

  test('waits as long as a 429 asks for, without an event', async () => {
    hook.reply = () => ({ status: 429, headers: { 'retry-after': '20' } })
    await set({}, controller(), fleet(['a']))
    await stage.pass(10)
    expect([hook.calls.length, await reasons()]).toEqual([1, expect.not.arrayContaining(['SyncError'])])
    hook.reply = (call) => ({ body: fleetResponse(requestOf(call)) })
    await stage.pass(15)
    expect(Object.keys(await ships())).toEqual(['a'])
  })

  test('keeps a finalizer until its finalize hook has responded finalized', async () => {
    let isFinalized = false
    hook.reply = (call) => {
      const request = requestOf(call)
      return {
        body: request.finalizing
          ? { children: isFinalized ? [] : [ship('last')], finalized: isFinalized }
          : fleetResponse(request),
      }
    }
    await set({}, controller({}, { finalize: { webhook: { url: `${hook.url}/finalize` } } }), fleet(['a']))
    expect((await live()).metadata.finalizers).toEqual(['metacontroller.io/compositecontroller-fleets'])
    await stage.client.delete(fleets, 'default/north')
    await stage.pass(2)
    expect(Object.keys(await ships())).toEqual(['last'])
    isFinalized = true
    await stage.client.patch(fleets, 'default/north', { merge: { metadata: { labels: { now: 'yes' } } } })
    await stage.pass(2)
    await expect(live()).rejects.toThrow('not found')
    expect(hook.calls.at(-1)?.path).toBe('/finalize')
  })

  test('is finalized when its labels match no more, and loses the finalizer when the controller or its hook goes', async () => {
    hook.reply = (call) => {
      const request = requestOf(call)
      return { body: request.finalizing ? { children: [], finalized: true } : fleetResponse(request) }
    }
    const finalize = { finalize: { webhook: { url: `${hook.url}/finalize` } } }
    const parentResource = {
      apiVersion: 'harbour.example.com/v1',
      resource: 'fleets',
      labelSelector: { matchLabels: { on: 'yes' } },
    }
    await set({}, controller({ parentResource }, finalize), fleet(['a'], {}, { labels: { on: 'yes' } }))
    await stage.apply(fleet(['a'], {}, { labels: { on: 'no' } }))
    await stage.pass(2)
    expect([(await live()).metadata.finalizers, await ships()]).toEqual([undefined, {}])
    await stage.apply(fleet(['a'], {}, { labels: { on: 'yes' } }))
    await stage.pass(2)
    expect((await live()).metadata.finalizers).toHaveLength(1)
    await stage.client.delete(composite, 'fleets')
    await stage.pass(2)
    expect((await live()).metadata.finalizers).toBeUndefined()
  })

  test('is called for namespaces only when its customize rules select others than before', async () => {
    const namespaces = { apiVersion: 'v1', kind: 'Namespace' }
    const namespaceSelector = { matchLabels: { tier: 'gold' } }
    const rule = { apiVersion: 'v1', resource: 'secrets', namespaceSelector }
    hook.reply = (call) => ({
      body: call.path === '/customize' ? { relatedResources: [rule] } : { children: [] },
    })
    const customize = { customize: { version: 'v2', webhook: { url: `${hook.url}/customize` } } }
    await set({}, { ...namespaces, metadata: { name: 'team' } }, controller({}, customize), fleet([]))
    const callsAfter = async (metadata: JsonObject): Promise<number> => {
      hook.calls.length = 0
      await stage.during(stage.client.patch(namespaces, 'team', { merge: { metadata } }))
      await stage.pass(2)
      return hook.calls.length
    }
    expect([
      await callsAfter({ labels: { tier: 'silver' } }),
      await callsAfter({ labels: { tier: 'gold' } }),
      await callsAfter({ annotations: { note: 'x' } }),
      await callsAfter({ labels: { tier: null } }),
    ]).toEqual([0, 1, 0, 1])
  })

  test('gets the related objects that its customize hook asks for, once for each generation, and is woken by them', async () => {
    hook.reply = (call) => {
      if (call.path === '/customize')
        return { body: { relatedResources: [{ apiVersion: 'v1', resource: 'secrets', names: ['chart'] }] } }
      const { related } = requestOf(call)
      return { body: { status: { charts: Object.keys(related['Secret.v1'] ?? {}) }, children: [] } }
    }
    const customize = { customize: { webhook: { url: `${hook.url}/customize` } } }
    await set({}, controller({}, customize), fleet([]))
    const secret = (name: string): KubeObject =>
      ({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' } }) as KubeObject
    hook.calls.length = 0
    await stage.apply(secret('other'))
    await stage.pass(1)
    expect(hook.calls.length).toBe(0)
    await stage.apply(secret('chart'))
    await stage.pass(1)
    expect((await live()).status).toMatchObject({ charts: ['chart'] })
    expect(hook.calls.map(({ path }) => path)).not.toContain('/customize')
    await stage.apply(fleet([], { flag: 'x' }))
    await stage.pass(1)
    expect(hook.calls.filter(({ path }) => path === '/customize').length).toBe(1)
  })

  test('with an empty selector fails and loses no child', async () => {
    await set({}, controller(), fleet(['a']))
    await stage.apply(fleet([], { selector: { matchLabels: {} } }), {
      ...fleet([], { selector: null }),
    })
    await stage.pass(2)
    expect(Object.keys(await ships())).toEqual(['a'])
    expect((await conditionOf('Ready'))?.message).toContain('.spec.selector must have either')
  })
})

describe('the finalizer of a controller', () => {
  const finalize = (): object => ({ finalize: { webhook: { url: `${hook.url}/finalize` } } })

  test('that was deleted while nothing ran is removed at the next start, and that of a live one stays', async () => {
    await set({}, controller({}, finalize()), fleet(['a']))
    const other = 'metacontroller.io/compositecontroller-other'
    const foreign = 'example.com/foreign'
    const metadata = { finalizers: ['metacontroller.io/compositecontroller-fleets', other, foreign] }
    await stage.client.patch(fleets, 'default/north', { merge: { metadata } })
    await stage.stopControllers()
    await stage.startControllers()
    await stage.pass(2)
    expect((await live()).metadata.finalizers).toEqual(['metacontroller.io/compositecontroller-fleets', foreign])
    await stage.stopControllers()
    await stage.client.delete(composite, 'fleets')
    await stage.client.delete(fleets, 'default/north')
    await stage.startControllers()
    await stage.pass(2)
    expect((await live()).metadata.finalizers).toEqual([foreign])
    expect(Object.keys(await ships())).toEqual(['a'])
  })
})

describe('a CompositeController', () => {
  test('calls its hook once for a change, and once more for all writes of a sync together', async () => {
    await set({}, controller(), fleet(['a', 'b', 'c']))
    hook.calls.length = 0
    await stage.apply(fleet(['a', 'b', 'd', 'e'], { flag: 'blue' }))
    await stage.pass(5)
    expect(takeRequests().map(({ children }) => Object.keys(children['ConfigMap.v1'] ?? {}))).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'd', 'e'],
      // The second call changed the count in the status: the third sees it stored.
      ['a', 'b', 'd', 'e'],
    ])
    await stage.client.patch(configMaps, 'default/a', { merge: { data: { foreign: 'yes' } } })
    await stage.pass(5)
    expect(takeRequests()).toHaveLength(1)
  })

  test('is not accepted when its parent has no status subresource or is of an unknown kind', async () => {
    await set({}, crd({ group: 'harbour.example.com', kind: 'Buoy' }))
    await stage.pass(1)
    await stage.apply(controller({ parentResource: { apiVersion: 'harbour.example.com/v1', resource: 'buoys' } }))
    await stage.pass(2)
    expect(await conditionOf('Accepted')).toMatchObject({
      status: 'False',
      reason: 'NoStatusSubresource',
      message: expect.stringContaining("does not have subresource 'Status' enabled"),
    })
    await stage.apply(controller({ parentResource: { apiVersion: 'harbour.example.com/v1', resource: 'nowheres' } }))
    await stage.pass(2)
    expect(await conditionOf('Accepted')).toMatchObject({ status: 'False', reason: 'UnknownKind' })
    expect(hook.calls).toEqual([])
  })

  test('is accepted with the hosts of endpointConfigs that no webhook uses', async () => {
    const secretRef = { name: 'user', namespace: 'default' }
    await set({}, controller({ endpointConfigs: [{ host: 'elsewhere.test', basicAuth: { secretRef } }] }), fleet(['a']))
    expect(await conditionOf('Accepted')).toEqual({
      status: 'True',
      reason: 'Accepted',
      message: 'The spec can be carried out; no webhook uses the endpointConfigs of elsewhere.test',
    })
  })

  test('writes nothing after a restart when nothing changed', async () => {
    await set({}, controller(), fleet(['a', 'b']))
    const before = [await ships(), await live()]
    await stage.stopControllers()
    hook.calls.length = 0
    await stage.startControllers()
    await stage.pass(5)
    expect([await ships(), await live()]).toEqual(before)
    expect(hook.calls.length).toBe(1)
  })

  test('writes no status within a second of its creation, which clients may change without reading it again', async () => {
    await set({})
    await stage.apply(controller())
    const created = await stage.client.get(composite, 'fleets')
    await stage.settle()
    await stage.client.update({ ...created, metadata: { ...created.metadata, labels: { changed: 'yes' } } })
    await stage.pass(2)
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True' })
  })

  test('reports parents and failures', async () => {
    await set({}, controller(), fleet(['a']))
    const { status } = (await stage.client.get(composite, 'fleets')) as KubeObject & { status?: JsonObject }
    expect(status).toMatchObject({ parents: 1, failingParents: 0 })
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True', reason: 'Serving' })
    expect(fleetDefinition.kind).toBe('CustomResourceDefinition')
  })

  test('is run by the process whose target label selector matches it, and left alone by others', async () => {
    await set({ settings: { 'target-label-selector': 'berth=east', workers: '2' } }, controller(), fleet(['a']))
    expect([await ships(), hook.calls, (await stage.client.get(composite, 'fleets')).status]).toEqual([
      {},
      [],
      undefined,
    ])
    const label = (berth: string): Promise<KubeObject> =>
      stage.client.patch(composite, 'fleets', { merge: { metadata: { labels: { berth } } } })
    await label('east')
    await stage.pass(2)
    expect(Object.keys(await ships())).toEqual(['a'])
    await label('west')
    await stage.apply(fleet(['a', 'b']))
    await stage.pass(2)
    expect(Object.keys(await ships())).toEqual(['a'])
  })
})
