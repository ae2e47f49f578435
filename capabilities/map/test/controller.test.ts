// The controller on an embedded server: behaviour beyond the cases, which are about one parent and its hooks.
import type { ApiServer } from '@fairlead/apiserver'
import { Client, HttpsTransport, parseKubeconfig } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { findCondition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import type { MapController } from '@fairlead/map'
import { map } from '@fairlead/map'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Stage } from '../../../examples/stage.ts'
import type { StageOptions } from '../../../examples/stage.ts'
import { ownAddress } from '../../../test/support/own-address.ts'
import { recorded } from '../../../test/support/recorded-client.ts'
import { TestHook, copyOf } from './hook.ts'
import { clusterRoleFor } from '../src/engine/grants.ts'

const mapControllers = { apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'MapController' }
const secrets = { apiVersion: 'v1', kind: 'Secret' }
const configMaps = { apiVersion: 'v1', kind: 'ConfigMap' }

const policies: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'policies.test.example.com' },
  spec: {
    group: 'test.example.com',
    scope: 'Namespaced',
    names: { kind: 'Policy', plural: 'policies', singular: 'policy' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

let stage: Stage
let hook: TestHook

beforeEach(async () => {
  hook = await TestHook.start()
})
afterEach(async () => {
  await stage[Symbol.asyncDispose]()
  await hook[Symbol.asyncDispose]()
})

function controller(spec: object = {}, hooks: object = { map: { webhook: { url: `${hook.url}/map` } } }): KubeObject {
  return {
    ...mapControllers,
    metadata: { name: 'copies' },
    spec: {
      parentResource: { apiVersion: 'test.example.com/v1', resource: 'policies' },
      inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
      outputResources: [{ apiVersion: 'v1', resource: 'secrets' }],
      hooks,
      ...spec,
    },
  }
}

const policy = (name = 'all', spec: object = { selector: { matchLabels: { copy: 'yes' } } }): KubeObject => ({
  apiVersion: 'test.example.com/v1',
  kind: 'Policy',
  metadata: { name, namespace: 'default' },
  spec,
})
const input = (name: string, data: object = {}): KubeObject => ({
  ...configMaps,
  metadata: { name, namespace: 'default', labels: { copy: 'yes' } },
  data,
})

async function set(options: StageOptions = {}, ...objects: KubeObject[]): Promise<void> {
  stage = await Stage.set(options)
  await stage.apply(policies)
  await stage.pass(1)
  await stage.apply(...objects)
  await stage.pass(2)
}

async function conditionOf(type: string): Promise<Pick<Condition, 'status' | 'reason' | 'message'> | undefined> {
  const { status } = (await stage.client.get(mapControllers, 'copies')) as KubeObject & {
    status?: { conditions: Condition[] }
  }
  const found = findCondition(status?.conditions, type)
  return found && { status: found.status, reason: found.reason, message: found.message }
}

async function names(kind: typeof secrets): Promise<string[]> {
  return (await stage.client.list(kind, { namespace: 'default' })).items
    .map(({ metadata }) => metadata.name ?? '')
    .filter((name) => name.endsWith('-copy'))
}

async function reasons(): Promise<string[]> {
  const { items } = await stage.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' })
  return items.map((event) => String(event.reason))
}

describe('a MapController', () => {
  test('is accepted as soon as the kinds that it names are served', async () => {
    stage = await Stage.set()
    await stage.apply(controller())
    await stage.pass(2)
    expect(await conditionOf('Accepted')).toEqual({
      status: 'False',
      reason: 'UnknownKind',
      message: expect.stringContaining('policies in test.example.com/v1'),
    })
    await stage.apply(policies)
    await stage.pass(2)
    await stage.apply(policy(), input('a'))
    await stage.pass(2)
    expect([await conditionOf('Accepted'), await conditionOf('Ready')]).toEqual([
      { status: 'True', reason: 'Accepted', message: 'The spec can be carried out' },
      { status: 'True', reason: 'Serving', message: 'Every group is served' },
    ])
    expect(await names(secrets)).toEqual(['a-copy'])
  })

  test('is accepted when discovery serves the definition late, as on a real server', async () => {
    let isListed = false
    const controllerClient = (server: ApiServer): Client => {
      const { client, transport } = recorded(server.client())
      transport.instead = ({ path }) =>
        isListed || path !== '/apis/test.example.com/v1'
          ? undefined
          : { status: 404, headers: {}, body: '404 page not found', warnings: [] }
      return client
    }
    stage = await Stage.set({ controllerClient })
    await stage.apply(controller())
    await stage.apply(policies)
    await stage.pass(3)
    expect((await conditionOf('Accepted'))?.reason).toBe('UnknownKind')
    isListed = true
    await stage.pass(5)
    expect((await conditionOf('Accepted'))?.reason).toBe('Accepted')
  })

  test('is not accepted with an expression that does not compile, and the message names the field', async () => {
    await set({}, controller({}, { map: { expression: 'input.metadata.nam(' } }))
    expect(await conditionOf('Accepted')).toEqual({
      status: 'False',
      reason: 'InvalidExpression',
      message: expect.stringContaining('spec.hooks.map.expression'),
    })
    await stage.apply(controller({}, { map: { expression: '"a string"' } }))
    await stage.pass(2)
    expect((await conditionOf('Accepted'))?.message).toContain('list')
  })

  test.each<[string, object, object | undefined, string]>([
    ['no hook', {}, { map: {} }, 'needs exactly one of: webhook, expression'],
    ['two hooks in one', {}, { map: { expression: '[]', webhook: { url: 'http://x/' } } }, 'needs exactly one of'],
    ['a webhook without an address', {}, { map: { webhook: { path: '/map' } } }, 'needs url, or service and path'],
    [
      'an output that is the parent',
      { outputResources: [{ apiVersion: 'test.example.com/v1', resource: 'policies' }] },
      undefined,
      'a parent cannot be its own output',
    ],
    [
      'an output that is the parent in another version',
      { outputResources: [{ apiVersion: 'test.example.com/v2', resource: 'policies' }] },
      undefined,
      'a parent cannot be its own output',
    ],
    [
      'a core kind twice in two versions',
      {
        inputResources: [
          { apiVersion: 'v1', resource: 'bs' },
          { apiVersion: 'v2', resource: 'bs' },
          { apiVersion: 'v1/v1', resource: 'bs' },
        ],
      },
      undefined,
      'listed once',
    ],
    [
      'one kind twice in two versions',
      {
        inputResources: [
          { apiVersion: 'a.io/v1', resource: 'bs' },
          { apiVersion: 'a.io/v2', resource: 'bs' },
        ],
      },
      undefined,
      'listed once',
    ],
    [
      'an unknown method',
      { outputResources: [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'RollingInPlace' } }] },
      undefined,
      'RollingInPlace',
    ],
    [
      'a selector that cannot be',
      {
        inputResources: [
          {
            apiVersion: 'v1',
            resource: 'configmaps',
            labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] },
          },
        ],
      },
      undefined,
      'In and NotIn need values',
    ],
    ['a period of nothing', { resyncPeriodSeconds: 0 }, undefined, 'greater than or equal to 1'],
    [
      'Basic as an authorization',
      {},
      {
        map: {
          webhook: {
            url: 'http://x/',
            authorization: { type: 'basic', secretRef: { name: 'a', namespace: 'b', key: 'c' } },
          },
        },
      },
      'use basicAuth',
    ],
  ])('is refused by its schema with %s', async (_title, spec, hooks, message) => {
    await set()
    await expect(stage.client.create(controller(spec, hooks))).rejects.toThrow(message)
  })

  test('calls the hook for every group when its spec changes, and keeps outputs when it is deleted', async () => {
    await set({}, controller(), policy(), input('a'))
    expect(hook.takeCalls()).toEqual(['a'])
    await stage.apply(controller({ resyncPeriodSeconds: 600 }))
    await stage.pass(2)
    expect(hook.takeCalls()).toEqual(['a'])
    await stage.client.delete(mapControllers, 'copies')
    await stage.pass(1)
    await stage.apply(input('b'))
    await stage.pass(1300)
    expect({ calls: hook.takeCalls(), outputs: await names(secrets) }).toEqual({ calls: [], outputs: ['a-copy'] })
    expect(await reasons()).toEqual(
      ['Starting', 'Started', 'Stopping', 'Stopped', 'Starting', 'Started', 'Stopping', 'Stopped'].filter(
        (reason, index, all) => all.indexOf(reason) === index,
      ),
    )
  })

  test('writes nothing and delays all calls after a restart without changes', async () => {
    await set({}, controller(), policy(), ...['a', 'b', 'c'].map((name) => input(name)))
    await stage.stopControllers()
    const before = (await stage.client.list(secrets)).items
    hook.takeCalls()
    await stage.startControllers()
    await stage.settle()
    expect(hook.takeCalls()).toEqual([])
    await stage.pass(60)
    expect(hook.takeCalls().toSorted()).toEqual(['a', 'b', 'c'])
    expect((await stage.client.list(secrets)).items).toEqual(before)
  })

  test('calls the hook at once after a restart for groups that changed meanwhile', async () => {
    await set(
      {},
      controller(
        {},
        { map: { webhook: { url: `${hook.url}/map` } }, tombstone: { webhook: { url: `${hook.url}/tombstone` } } },
      ),
      policy(),
      ...['changed', 'same', 'deleted'].map((name) => input(name)),
    )
    await stage.stopControllers()
    hook.takeCalls()
    await stage.apply(input('changed', { new: 'data' }), input('new'))
    await stage.client.delete(configMaps, 'default/deleted')
    hook.reply = ({ path, body }) => ({ body: { outputs: path === '/map' ? [copyOf(body.input)] : [] } })
    await stage.startControllers()
    await stage.settle()
    expect(hook.takeCalls().toSorted()).toEqual(['changed', 'new', 'tombstone'])
    expect((await names(secrets)).toSorted()).toEqual(['changed-copy', 'new-copy', 'same-copy'])
  })

  test('sends its hooks objects in the versions that its spec names', async () => {
    const { versions } = policies.spec as { versions: { name: string }[] }
    const both = {
      ...policies,
      spec: {
        ...(policies.spec as object),
        versions: [versions[0], { ...versions[0], name: 'v1beta1', storage: false }],
      },
    }
    await set({}, both)
    await stage.apply(
      controller({ parentResource: { apiVersion: 'test.example.com/v1beta1', resource: 'policies' } }),
      policy(),
      input('a'),
    )
    await stage.pass(2)
    expect(hook.calls.map(({ body }) => body.parent.apiVersion)).toEqual(['test.example.com/v1beta1'])
    expect(
      (await stage.client.list(secrets)).items.flatMap(
        ({ metadata }) => metadata.ownerReferences?.map(({ apiVersion }) => apiVersion) ?? [],
      ),
    ).toEqual(['test.example.com/v1beta1'])
  })

  test('ignores parents that its labelSelector does not match, and keeps the outputs of parents that no longer match', async () => {
    const picked = controller({
      parentResource: {
        apiVersion: 'test.example.com/v1',
        resource: 'policies',
        labelSelector: { matchLabels: { on: 'yes' } },
      },
    })
    await set(
      {},
      picked,
      { ...policy(), metadata: { name: 'all', namespace: 'default', labels: { on: 'yes' } } },
      policy('off'),
      input('a'),
    )
    expect(hook.calls.splice(0).map(({ body }) => body.parent.metadata.name)).toEqual(['all'])
    await stage.apply({ ...policy(), metadata: { name: 'all', namespace: 'default', labels: { on: 'no' } } })
    await stage.client.delete(configMaps, 'default/a')
    await stage.pass(120)
    expect({ calls: hook.takeCalls(), outputs: await names(secrets) }).toEqual({ calls: [], outputs: ['a-copy'] })
  })
})

describe('groups of a MapController', () => {
  test('are not delayed by a group whose hook is slow', async () => {
    let release = (): void => {}
    hook.reply = async ({ body }) => {
      if (body.input.metadata.name === 'slow') await new Promise<void>((resolve) => (release = resolve))
      return { body: { outputs: [copyOf(body.input)] } }
    }
    stage = await Stage.set()
    await stage.apply(policies)
    await stage.pass(1)
    for (const object of [controller(), policy(), input('slow'), ...['a', 'b', 'c'].map((name) => input(name))])
      await stage.during(stage.client.apply(object))
    for (let steps = 0; (await names(secrets)).length < 3 && steps < 2000; steps++) await stage.clock.advance(0)
    expect((await names(secrets)).toSorted()).toEqual(['a-copy', 'b-copy', 'c-copy'])
    release()
    await stage.settle()
    expect((await names(secrets)).toSorted()).toEqual(['a-copy', 'b-copy', 'c-copy', 'slow-copy'])
  })

  test('that wait for a hook that was down are retried as soon as it responds to one of them', async () => {
    let isDown = true
    hook.reply = ({ body }) => (isDown ? { status: 503 } : { body: { outputs: [copyOf(body.input)] } })
    await set({}, controller(), policy(), ...['a', 'b', 'c'].map((name) => input(name)))
    await stage.pass(300)
    expect(await conditionOf('Ready')).toEqual({
      status: 'False',
      reason: 'GroupsFailing',
      message: expect.stringContaining('3 of 3 groups fail'),
    })
    isDown = false
    hook.takeCalls()
    await stage.apply(input('d'))
    expect(hook.takeCalls().toSorted()).toEqual(['a', 'b', 'c', 'd'])
    await stage.pass(3)
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True', reason: 'Serving' })
  })

  test('that fail for reasons of their own are not retried because others succeed', async () => {
    hook.reply = ({ body }) =>
      body.input.metadata.name === 'bad' ? { status: 500, body: 'no' } : { body: { outputs: [] } }
    await set({}, controller(), policy(), input('bad'))
    await stage.pass(300)
    hook.takeCalls()
    await stage.apply(...['a', 'b', 'c', 'd'].map((name) => input(name)))
    expect(hook.takeCalls()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('are reconciled again after resyncAfterSeconds', async () => {
    hook.reply = () => ({ body: { outputs: [], resyncAfterSeconds: 7.5 } })
    await set({}, controller(), policy(), input('a'))
    hook.takeCalls()
    await stage.pass(5)
    expect(hook.takeCalls()).toEqual([])
    await stage.pass(1)
    expect(hook.takeCalls()).toEqual(['a'])
  })

  test('are reconciled only for changes of fieldPaths and of labels that select', async () => {
    const watched = { apiVersion: 'v1', resource: 'configmaps', fieldPaths: ['data.watched'] }
    await set({}, controller({ inputResources: [watched] }), policy(), input('a', { watched: '1', noise: '1' }))
    hook.takeCalls()
    await stage.apply(input('a', { watched: '1', noise: '2' }))
    expect(hook.takeCalls()).toEqual([])
    await stage.apply(input('a', { watched: '2', noise: '2' }))
    expect(hook.takeCalls()).toEqual(['a'])
  })
})

describe('the status of a parent', () => {
  const revisionsOf = (of: ApiServer): number[] => {
    const revisions: number[] = []
    of.store.watchAll(
      ({ entry }) => void (entry.resource === 'policies.test.example.com' && revisions.push(entry.revision)),
    )
    return revisions
  }

  test('is written at most once a second while counts change, and not at all when nothing changed', async () => {
    await set({}, controller(), policy())
    const written = revisionsOf(stage.server)
    for (let index = 0; index < 20; index++) {
      await stage.apply(input(`i${index}`))
      await stage.pass(0.1)
    }
    await stage.pass(2)
    expect(written.length).toBeGreaterThanOrEqual(2)
    expect(written.length).toBeLessThanOrEqual(4)
    written.length = 0
    await stage.apply(input('i0', { changed: 'yes' }))
    await stage.pass(5)
    expect(written).toEqual([])
  })

  test('keeps status fields of other managers', async () => {
    await set({}, controller(), policy(), input('a'))
    await stage.client.patch(policy(), 'default/all', { merge: { status: { theirs: 1 } } }, { subresource: 'status' })
    await stage.apply(input('b'))
    await stage.pass(3)
    const { status } = await stage.client.get(policy(), 'default/all')
    expect(status).toMatchObject({
      theirs: 1,
      inputs: { configmaps: { total: 2 } },
      outputs: { secrets: { total: 2 } },
    })
  })

  test('is given up with Ready NoStatus when the schema drops its fields', async () => {
    stage = await Stage.set()
    const strict = structuredClone(policies) as KubeObject & { spec: { versions: { schema: object }[] } }
    strict.spec.versions[0]!.schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          status: { type: 'object' },
        },
      },
    }
    await stage.apply(strict)
    await stage.pass(1)
    await stage.apply(controller(), policy(), input('a'))
    await stage.pass(3)
    expect(await conditionOf('Ready')).toEqual({
      status: 'True',
      reason: 'NoStatus',
      message: expect.stringContaining('drops status.inputs'),
    })
  })
})

describe('webhooks', () => {
  const service = (name: string, spec: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec,
  })
  const named = (): KubeObject =>
    controller({}, { map: { webhook: { service: { name: 'hook', namespace: 'default' }, path: '/map' } } })

  const unless = ownAddress === undefined ? ' (this machine has no IPv4 address but loopback)' : ''
  test.skipIf(ownAddress === undefined)(`are found through the endpoints of their Service${unless}`, async () => {
    await hook[Symbol.asyncDispose]()
    hook = await TestHook.start(ownAddress)
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'hook-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'hook' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [ownAddress!], conditions: { ready: true } }],
      ports: [{ name: 'http', port: hook.port, protocol: 'TCP' }],
    }
    await set(
      {},
      service('hook', { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }),
      slice,
      named(),
      policy(),
      input('a'),
    )
    expect(hook.calls.map(({ path, headers }) => [path, headers.host])).toEqual([['/map', 'hook.default']])
  })

  test('resolve through --resolve when there is no Service, and otherwise fail with advice', async () => {
    await set({ resolve: { 'hook.default': `127.0.0.1:${hook.port}` } }, named(), policy(), input('a'))
    expect(hook.takeCalls()).toEqual(['a'])
    await stage[Symbol.asyncDispose]()
    await set({}, named(), policy(), input('a'))
    expect((await conditionOf('Ready'))?.message).toContain('--resolve hook.default=HOST:PORT')
  })

  test('get credentials from a Secret, also after its rotation', async () => {
    const token = (text: string): KubeObject => ({
      ...secrets,
      metadata: { name: 'token', namespace: 'default' },
      data: { key: Buffer.from(`${text}\n`).toString('base64') },
    })
    const guarded = controller(
      {},
      {
        map: {
          webhook: {
            url: `${hook.url}/map`,
            authorization: { secretRef: { name: 'token', namespace: 'default', key: 'key' } },
          },
        },
      },
    )
    await set({}, token('one'), guarded, policy(), input('a'))
    await stage.apply(token('two'))
    await stage.pass(61)
    await stage.apply(input('b'))
    expect(hook.calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer one', 'Bearer two'])
  })

  test('get the credentials of their host from endpointConfigs, unless they have their own', async () => {
    const user: KubeObject = {
      ...secrets,
      metadata: { name: 'user', namespace: 'default' },
      data: { username: 'bWU=', password: 'cHc=' },
    }
    const endpointConfigs = [
      { host: `127.0.0.1:${hook.port}`, basicAuth: { secretRef: { name: 'user', namespace: 'default' } } },
    ]
    await set({}, user, controller({ endpointConfigs }), policy(), input('a'))
    expect(hook.calls.map(({ headers }) => headers.authorization)).toEqual([
      `Basic ${Buffer.from('me:pw').toString('base64')}`,
    ])
  })

  test('may respond 304 when their last response for the group is still valid', async () => {
    hook.reply = ({ headers, body }) =>
      headers['if-none-match'] === '"1"'
        ? { status: 304 }
        : { headers: { etag: '"1"' }, body: { outputs: [copyOf(body.input)] } }
    await set(
      {},
      controller({}, { map: { webhook: { url: `${hook.url}/map`, etag: { enabled: true } } } }),
      policy(),
      input('a'),
    )
    await stage.apply(input('a', { changed: 'yes' }), input('b'))
    expect(hook.calls.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"1"', undefined])
    expect((await names(secrets)).toSorted()).toEqual(['a-copy', 'b-copy'])
  })

  test('of version v2 fail for unknown fields in responses, and get objects keyed by namespace and name', async () => {
    hook.reply = ({ body }) => ({ body: { outputs: [copyOf(body.input)], extra: 1 } })
    await set({}, controller({}, { map: { version: 'v2', webhook: { url: `${hook.url}/map` } } }), policy(), input('a'))
    expect((await conditionOf('Ready'))?.message).toContain('unknown field extra')
    hook.reply = ({ body }) => ({ body: { outputs: [copyOf(body.input)] } })
    await stage.apply(input('a', { again: 'yes' }))
    hook.calls.length = 0
    await stage.apply(input('a', { again: 'and again' }))
    expect(hook.calls.map(({ body }) => body.outputs)).toEqual([
      { 'Secret.v1': { 'default/a-copy': expect.anything() } },
    ])
  })
})

describe('a MapController over HTTPS', () => {
  const transports: HttpsTransport[] = []
  const controllerClient = async (server: ApiServer): Promise<Client> => {
    const { kubeconfig } = await server.listen()
    const transport = new HttpsTransport(await parseKubeconfig(kubeconfig).connection())
    transports.push(transport)
    return new Client({ transport, clock: server.clock })
  }
  const eventually = async (holds: () => Promise<boolean>): Promise<void> => {
    for (let steps = 0; !(await holds()); steps++) {
      if (steps > 5000) throw new Error('The condition was not met in time')
      await stage.clock.advance(1)
    }
  }

  test('makes one call and one write for each change, and none for its own writes', async () => {
    stage = await Stage.set({ controllerClient })
    for (const object of [policies, controller(), policy(), input('a'), input('b')]) {
      await stage.during(stage.client.apply(object))
      if (object === policies) await stage.pass(1)
    }
    await eventually(async () => (await names(secrets)).length === 2)
    await stage.during(stage.client.apply(input('c')))
    await eventually(async () => (await names(secrets)).length === 3)
    await stage.during(stage.client.delete(configMaps, 'default/a'))
    await eventually(async () => (await names(secrets)).length === 2)
    expect(hook.takeCalls().toSorted()).toEqual(['a', 'b', 'c'])
    await stage.stopControllers()
    for (const transport of transports) await transport[Symbol.asyncDispose]()
  })
})

describe('a MapController with least privilege', () => {
  const controllerClient = (server: ApiServer): Client =>
    server.client({
      as: { name: 'system:serviceaccount:fairlead:map', groups: ['system:serviceaccounts', 'system:authenticated'] },
    })
  const role = (name: string, rules: unknown): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  })
  const binding = (name: string): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', namespace: 'fairlead', name: 'map' }],
  })

  test('reports which right is missing and how to grant it, deletes nothing meanwhile, and continues once it is granted', async () => {
    stage = await Stage.set({ server: { authorization: 'RBAC' } })
    await stage.stopControllers()
    await stage.apply(policies, role('map', map.rules), binding('map'))
    await stage.pass(1)
    await stage.startControllers({ controllerClient })
    await stage.apply(controller(), policy(), input('a'))
    await stage.pass(2)
    const refused = await conditionOf('Ready')
    expect(refused).toMatchObject({ status: 'False', reason: 'KindForbidden' })
    expect(refused?.message).toMatch(
      /cannot list resource "configmaps".*fairlead map rbac copies \| kubectl apply -f -/s,
    )
    expect(hook.takeCalls()).toEqual([])
    const granted = clusterRoleFor((await stage.client.get(mapControllers, 'copies')) as unknown as MapController)
    await stage.apply(granted, binding(granted.metadata.name ?? ''))
    await stage.pass(120)
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True', reason: 'Serving' })
    expect({ calls: hook.takeCalls(), outputs: await names(secrets) }).toEqual({ calls: ['a'], outputs: ['a-copy'] })
  })
})
