// The client against servers; the same table over every transport to the embedded one, and against a real one where
// there is one.
import {
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Namespace,
  appliedFields,
  isApplied,
  kind,
} from '@fairlead/client'
import type { Client, WatchChange } from '@fairlead/client'
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeClusters } from '../../../test/support/clusters.ts'
import type { Cluster } from '../../../test/support/clusters.ts'
import { crd } from '../../../test/support/crd.ts'

describeClusters(({ open }) => {
  let cluster: Cluster
  let client: Client
  let count = 0
  let namespace: string

  beforeAll(async () => {
    cluster = await open({ controllers: ['crd'], authorization: 'RBAC' })
    ;({ client } = cluster)
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  const fresh = async (): Promise<Client> => {
    namespace = `${cluster.namespace}-${++count}`
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    return client.with({ namespace })
  }
  const configMap = (name: string, data: Record<string, string> = {}, labels?: Record<string, string>): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...(labels && { labels }) },
    data,
  })

  test('creates, reads, replaces, patches and deletes, in the namespace of the client', async () => {
    const own = await fresh()
    const made = await own.create(configMap('a', { x: '1' }))
    expect([made.metadata.namespace, Object.isFrozen(made), Object.isFrozen(made.metadata)]).toEqual([
      namespace,
      true,
      true,
    ])
    expect(await own.get(ConfigMap, 'a')).toEqual(made)
    const replaced = await own.update({ ...made, data: { x: '2' } })
    expect(replaced.data).toEqual({ x: '2' })
    const patched = await own.patch(ConfigMap, `${namespace}/a`, { merge: { data: { y: '3' } } })
    expect(patched.data).toEqual({ x: '2', y: '3' })
    expect((await own.patch(ConfigMap, 'a', { json: [{ op: 'remove', path: '/data/x' }] })).data).toEqual({ y: '3' })
    expect((await own.patch(ConfigMap, 'a', { strategic: { data: { z: '4' } } }, { dryRun: true })).data).toEqual({
      y: '3',
      z: '4',
    })
    expect(await own.delete(ConfigMap, 'a')).toBe(undefined)
    expect(await own.find(ConfigMap, 'a')).toBe(undefined)
  })

  test('throws a Status of the server as a StatusError that its predicates recognize', async () => {
    const own = await fresh()
    const made = await own.create(configMap('a'))
    const fails = (promise: Promise<unknown>): Promise<unknown> =>
      promise.then(
        () => 'no error',
        (error: unknown) => error,
      )
    expect(isNotFound(await fails(own.get(ConfigMap, 'none')))).toBe(true)
    expect(isAlreadyExists(await fails(own.create(configMap('a'))))).toBe(true)
    expect(isConflict(await fails(own.update({ ...made, metadata: { ...made.metadata, resourceVersion: '1' } })))).toBe(
      true,
    )
    expect(isInvalid(await fails(own.create(configMap('not a name'))))).toBe(true)
    expect(isConflict(await fails(own.delete(ConfigMap, 'a', { preconditions: { uid: 'other' } })))).toBe(true)
    expect(await fails(own.get(kind('nothing.example.com/v1', 'Nothing'), 'a'))).toMatchObject({
      code: 'UnknownKind',
      message:
        'The server serves no kind Nothing in nothing.example.com/v1; install its CustomResourceDefinition or check the spelling',
    })
    expect(await fails(own.get(ConfigMap, ''))).toMatchObject({ code: 'InvalidRequest' })
  })

  test('passes the warnings of the server on, such as those about misspelled fields', async () => {
    const warnings: string[] = []
    const scoped = (await fresh()).with({
      onWarning: (warning, { method }) => void warnings.push(`${method}: ${warning}`),
    })
    const misspelled = { ...configMap('misspelled'), dta: {} } as ConfigMap
    await scoped.create(misspelled)
    expect(warnings).toEqual(['POST: unknown field "dta"'])
  })

  test('says what a call without types lacks', async () => {
    const own = await fresh()
    const refused = async (call: Promise<unknown>): Promise<unknown> => {
      const error: unknown = await call.then(
        () => undefined,
        (failure: unknown) => failure,
      )
      const { name, code, message } = error as Error & { readonly code: string }
      return [name, code, message]
    }
    const invalid = (message: string): unknown => ['ClientError', 'InvalidRequest', message]
    const noKind = invalid('An object or a kind needs apiVersion, a string')
    const nothing = invalid('An object or a kind needs apiVersion and kind, a string each')
    const noName = invalid('A name is needed to address one ConfigMap')
    const object = { apiVersion: 'v1', kind: 'ConfigMap' } as KubeObject
    expect(await refused(own.apply({ kind: 'ConfigMap', metadata: { name: 'a' } } as KubeObject))).toEqual(noKind)
    expect(await refused(own.apply(JSON.parse('null') as KubeObject))).toEqual(nothing)
    expect(await refused(own.create(JSON.parse('[]') as KubeObject))).toEqual(nothing)
    expect(await refused(own.apply(object))).toEqual(noName)
    expect(await refused(own.update(object))).toEqual(noName)
    expect(await refused(own.patch(ConfigMap, 'a', JSON.parse('{}') as { merge: JsonObject }))).toEqual(
      invalid('A patch needs one of merge, json and strategic'),
    )
  })

  test('lists every page, at one revision, by selectors; deletes a collection', async () => {
    const own = await fresh()
    for (let i = 0; i < 7; i++) await own.create(configMap(`c${i}`, {}, { odd: String(i % 2 === 1) }))
    const names = (objects: readonly KubeObject[]): string[] => objects.map((object) => object.metadata.name!)
    // A cluster may put objects of its own into every namespace.
    const labelSelector = 'odd'
    const sizes: number[] = []
    for await (const page of own.pages(ConfigMap, { namespace, labelSelector, pageSize: 3 }))
      sizes.push(page.items.length)
    expect(sizes).toEqual([3, 3, 1])
    const all = await own.list(ConfigMap, { namespace, labelSelector, pageSize: 2 })
    expect([names(all.items), all.items[0]?.kind, Number(all.resourceVersion) > 0]).toEqual([
      ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6'],
      'ConfigMap',
      true,
    ])
    expect(
      names((await own.list(ConfigMap, { namespace, labelSelector: { matchLabels: { odd: 'true' } } })).items),
    ).toEqual(['c1', 'c3', 'c5'])
    expect(
      names(
        (await own.list(ConfigMap, { namespace, labelSelector: 'odd=false', fieldSelector: 'metadata.name!=c0' }))
          .items,
      ),
    ).toEqual(['c2', 'c4', 'c6'])
    await own.deleteCollection(ConfigMap, { namespace, labelSelector: 'odd=true' })
    expect(names((await own.list(ConfigMap, { namespace, labelSelector })).items)).toEqual(['c0', 'c2', 'c4', 'c6'])
  })

  test('apply creates, changes and removes fields, reports conflicts, and forces', async () => {
    const own = await fresh()
    const [one, two] = [own.with({ manager: 'one' }), own.with({ manager: 'two' })]
    const first = await one.applyRaw(configMap('a', { x: '1', y: '1' }))
    expect([first.created, (await one.applyRaw(configMap('a', { x: '2' }))).created]).toEqual([true, false])
    expect((await own.get(ConfigMap, 'a')).data).toEqual({ x: '2' })
    const conflict = await two.apply(configMap('a', { x: '3' })).catch((error: unknown) => error)
    expect([isConflict(conflict), (conflict as Error).message]).toEqual([
      true,
      expect.stringContaining('conflict with "one"'),
    ])
    const forced = await two.apply(configMap('a', { x: '3', z: '1' }), { force: true })
    expect([
      forced.data,
      isApplied(forced, configMap('a', { x: '3', z: '1' }), 'two'),
      isApplied(forced, configMap('a', { x: '3' }), 'two'),
      isApplied(forced, configMap('a', { x: '3', z: '2' }), 'two'),
    ]).toEqual([{ x: '3', z: '1' }, true, false, false])
    expect(appliedFields(forced, 'two')).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace },
      data: { x: '3', z: '1' },
    })
  })

  test('apply sends nothing for an applied configuration with lists by key', async () => {
    const own = (await fresh()).with({ manager: 'me' })
    const deployment = (image: string, names: readonly string[]): Deployment => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a', namespace },
      spec: {
        selector: { matchLabels: { app: 'a' } },
        template: {
          metadata: { labels: { app: 'a' } },
          spec: {
            containers: names.map((name) => ({
              name,
              image,
              args: ['x', 'y'],
              ports: [{ containerPort: 80, protocol: 'TCP' }],
            })),
          },
        },
      },
    })
    const live = await own.apply(deployment('i', ['a', 'b']))
    const cases: [Deployment, boolean][] = [
      [deployment('i', ['a', 'b']), true],
      [deployment('i', ['b', 'a']), false],
      [deployment('i', ['a']), false],
      [deployment('i', ['a', 'b', 'c']), false],
      [deployment('j', ['a', 'b']), false],
    ]
    expect(cases.map(([configuration]) => isApplied(live, configuration, 'me'))).toEqual(
      cases.map(([, expected]) => expected),
    )
    expect(isApplied(live, deployment('i', ['a', 'b']), 'other')).toBe(false)
    expect((await own.apply(appliedFields(live, 'me') as unknown as Deployment)).metadata.resourceVersion).toBe(
      live.metadata.resourceVersion,
    )
  })

  test('watch reports changes from an empty scope to the current state', async () => {
    const own = await fresh()
    const mine = { mine: '1' }
    await own.create(configMap('a', {}, mine))
    const stop = new AbortController()
    const told: string[] = []
    const arrived = Promise.withResolvers<void>()
    const following = (async () => {
      for await (const change of own.watch(ConfigMap, { namespace, labelSelector: 'mine=1', signal: stop.signal })) {
        told.push(
          'object' in change
            ? `${change.type} ${(change as WatchChange<ConfigMap> & { object: ConfigMap }).object.metadata.name}`
            : change.type,
        )
        if (change.type === 'synced') {
          await own.create(configMap('b', {}, mine))
          await own.patch(ConfigMap, 'a', { merge: { data: { x: '1' } } })
          await own.delete(ConfigMap, 'b')
        }
        if (told.length === 5) arrived.resolve()
      }
    })()
    await arrived.promise
    stop.abort()
    await following
    expect(told).toEqual(['added a', 'synced', 'added b', 'changed a', 'removed b'])
  })

  test('waitFor resolves when the predicate holds, or reports the last state', async () => {
    const own = await fresh()
    const waiting = own.waitFor(ConfigMap, 'a', (object) => object.data?.x === '2')
    await own.create(configMap('a', { x: '1' }))
    await own.patch(ConfigMap, 'a', { merge: { data: { x: '2' } } })
    expect((await waiting).data).toEqual({ x: '2' })
    const gone = own.waitForDeletion(ConfigMap, 'a')
    await own.delete(ConfigMap, 'a')
    await gone
    await expect(own.waitFor(ConfigMap, 'a', () => true, { timeout: 1 })).rejects.toMatchObject({
      code: 'WaitTimeout',
      message: 'ConfigMap a is not as expected after 0.001 s: it does not exist',
    })
    const stop = new AbortController()
    const aborted = own.waitFor(ConfigMap, 'a', () => true, { signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
  })

  test('reads and sets the scale', async () => {
    const own = await fresh()
    const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'a' }] } }
    await own.create({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: { replicas: 2, selector: { matchLabels: { app: 'a' } }, template },
    })
    expect((await own.scale(Deployment, 'a')).spec?.replicas).toBe(2)
    expect((await own.scale(Deployment, 'a', 5)).spec?.replicas).toBe(5)
    expect((await own.get(Deployment, 'a')).spec.replicas).toBe(5)
  })

  test('discovery follows definitions that are created and deleted', async () => {
    const group = `${cluster.namespace}.example.com`
    const Widget = kind(`${group}/v1`, 'Widget')
    expect(await client.discovery.resource(Widget).catch((error: { code: string }) => error.code)).toBe('UnknownKind')
    const definition = crd({ group, kind: 'Widget', scope: 'Cluster', schema: { type: 'object' } })
    await client.apply(definition)
    await client.waitFor(Widget, 'a', () => true, { timeout: 1 }).catch(() => {})
    await client.waitFor(CustomResourceDefinition, `widgets.${group}`, (crd) =>
      (crd.status?.conditions ?? []).some((one) => one.type === 'Established' && one.status === 'True'),
    )
    expect(await client.discovery.resource(Widget)).toMatchObject({ plural: 'widgets', namespaced: false })
    expect(await client.discovery.kindOf(`${group}/v1`, 'widgets')).toMatchObject({
      kind: 'Widget',
      apiVersion: `${group}/v1`,
    })
    const made = await client.apply({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } })
    expect(await client.get(Widget, 'a')).toEqual(made)
    await client.delete(CustomResourceDefinition, `widgets.${group}`)
  })

  test('drops fields that are undefined, as JSON does', async () => {
    const own = await fresh()
    const made = await own.create({
      ...configMap('a', { x: '1' }),
      metadata: { name: 'a', namespace: undefined, labels: undefined },
      immutable: undefined,
    } as ConfigMap)
    expect(Object.keys(made).toSorted()).toEqual(['apiVersion', 'data', 'kind', 'metadata'])
  })

  test('client.as impersonates another user', async () => {
    const jane = client.as({ user: 'jane', groups: ['devs'] })
    const review = await jane.create({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
      metadata: {},
    })
    expect((review as KubeObject).status).toMatchObject({ userInfo: { username: 'jane' } })
    await expect(jane.get(Namespace, 'default')).rejects.toThrow('User "jane" cannot get resource "namespaces"')
  })
})
