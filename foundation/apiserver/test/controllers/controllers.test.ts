// The controllers inside the server, on a whole server.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Client, ConfigMap, kind, KubeEvent, Namespace, ServiceAccount } from '@fairlead/client'
import type { KindLike } from '@fairlead/client'
import { AsyncDisposableStack, FakeClock } from '@fairlead/kube'
import type { Condition, JsonObject, KubeObject, OwnerReference } from '@fairlead/kube'
import { ApiServer, startControllers } from '@fairlead/apiserver'
import type { ControllersOptions, Registry, ResourceSource } from '@fairlead/apiserver'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { RecordingTransport } from '../../../../test/support/recorded-client.ts'
import { patience, turns } from '../../../../test/support/until.ts'
import { crd } from '../../../../test/support/crd.ts'

const admin = { name: 'admin', groups: ['system:masters'] }

let cleanup: AsyncDisposableStack
let client: Client

/** Starts a server with some of the controllers. */
async function serve(options: Partial<ControllersOptions> = {}): Promise<ApiServer> {
  const server = cleanup.use(await ApiServer.start({ controllers: false }))
  client = server.client()
  cleanup.use(
    await startControllers({
      client: server.client({ manager: 'kube-controller-manager' }),
      resources: server.registry as Registry,
      ...options,
    }),
  )
  return server
}

beforeEach(() => {
  cleanup = new AsyncDisposableStack()
})
afterEach(() => cleanup.disposeAsync())

function configMap(name: string, metadata: object = {}, data?: JsonObject): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name, ...metadata },
    ...(data === undefined ? {} : { data }),
  }
}

function ownedBy(owner: KubeObject, more: Partial<OwnerReference> = {}): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name!,
    uid: owner.metadata.uid!,
    ...more,
  }
}

/** Reads until the value passes, and returns it. */
async function eventually<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  const end = performance.now() + patience
  for (;;) {
    const value = await read()
    if (holds(value)) return value
    if (performance.now() > end) throw new Error(`still ${JSON.stringify(value)}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('garbage collection', () => {
  test('deletes an object in the background after its last owner', async () => {
    await serve({ controllers: ['gc'] })
    const one = await client.create(configMap('one'))
    const two = await client.create(configMap('two'))
    await client.create(configMap('dependent', { ownerReferences: [ownedBy(one), ownedBy(two)] }))
    await client.create(
      configMap('grandchild', { ownerReferences: [ownedBy(await client.get(ConfigMap, 'default/dependent'))] }),
    )
    await client.delete(ConfigMap, 'default/one')
    const left = await eventually(
      () => client.get(ConfigMap, 'default/dependent'),
      (dependent) => dependent.metadata.ownerReferences?.length === 1,
    )
    expect(left.metadata.ownerReferences).toEqual([ownedBy(two)])
    await client.delete(ConfigMap, 'default/two')
    await client.waitForDeletion(ConfigMap, 'default/dependent')
    await client.waitForDeletion(ConfigMap, 'default/grandchild')
  })

  test('deletes an object whose owner never existed or has another uid', async () => {
    await serve({ controllers: ['gc'] })
    const other = await client.create(configMap('other'))
    await client.create(
      configMap('absent', {
        ownerReferences: [ownedBy({ ...other, metadata: { ...other.metadata, name: 'nobody' } })],
      }),
    )
    await client.create(
      configMap('wrong', { ownerReferences: [ownedBy(other, { uid: '11111111-2222-3333-4444-555555555555' })] }),
    )
    await client.waitForDeletion(ConfigMap, 'default/absent')
    await client.waitForDeletion(ConfigMap, 'default/wrong')
    expect((await client.list(ConfigMap, { namespace: 'default' })).items.map(({ metadata }) => metadata.name)).toEqual(
      ['other'],
    )
  })

  test('looks up the owners of one object a few at a time', async () => {
    const server = cleanup.use(await ApiServer.start({ controllers: false }))
    const transport = new RecordingTransport(server.transport())
    let most = 0
    transport.before = () => {
      most = Math.max(most, transport.inFlight)
    }
    cleanup.use(
      await startControllers({
        client: new Client({ transport }),
        resources: server.registry as Registry,
        controllers: ['gc'],
      }),
    )
    client = server.client()
    const ownerReferences = Array.from({ length: 500 }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: `o${i}`,
      uid: `uid-${i}`,
    }))
    await client.create(configMap('ownerless', { ownerReferences }))
    await client.waitForDeletion(ConfigMap, 'default/ownerless')
    expect(transport.requests.filter((request) => /\/configmaps\/o\d+$/.test(request)).length).toBe(500)
    expect(most).toBeLessThan(100)
  })

  test('keeps an object with an owner of a kind that is not served', async () => {
    await serve({ controllers: ['gc'] })
    const reference = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      name: 'w',
      uid: '11111111-2222-3333-4444-555555555555',
    }
    await client.create(configMap('kept', { ownerReferences: [reference] }))
    const owner = await client.create(configMap('owner'))
    await client.create(configMap('canary', { ownerReferences: [ownedBy(owner)] }))
    await client.delete(ConfigMap, 'default/owner')
    await client.waitForDeletion(ConfigMap, 'default/canary')
    expect((await client.get(ConfigMap, 'default/kept')).metadata.ownerReferences).toEqual([reference])
  })

  test('deletes blocking dependents before their owner in the foreground', async () => {
    await serve({ controllers: ['gc'] })
    const owner = await client.create(configMap('owner'))
    await client.create(
      configMap('blocking', {
        finalizers: ['example.com/hold'],
        ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })],
      }),
    )
    await client.create(configMap('other', { ownerReferences: [ownedBy(owner)] }))
    await client.delete(ConfigMap, 'default/owner', { propagation: 'Foreground' })
    await client.waitForDeletion(ConfigMap, 'default/other')
    await eventually(
      () => client.get(ConfigMap, 'default/blocking'),
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    )
    expect((await client.get(ConfigMap, 'default/owner')).metadata.finalizers).toEqual(['foregroundDeletion'])
    await client.patch(ConfigMap, 'default/blocking', { merge: { metadata: { finalizers: null } } })
    await client.waitForDeletion(ConfigMap, 'default/owner')
    expect(await client.find(ConfigMap, 'default/blocking')).toEqual(undefined)
  })

  test('deletes dependents that have dependents in the foreground, too', async () => {
    await serve({ controllers: ['gc'] })
    const owner = await client.create(configMap('a'))
    const middle = await client.create(
      configMap('b', { ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })] }),
    )
    await client.create(
      configMap('c', {
        finalizers: ['example.com/hold'],
        ownerReferences: [ownedBy(middle, { blockOwnerDeletion: true })],
      }),
    )
    await client.delete(ConfigMap, 'default/a', { propagation: 'Foreground' })
    const held = await eventually(
      () => client.get(ConfigMap, 'default/b'),
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    )
    expect(held.metadata.finalizers).toEqual(['foregroundDeletion'])
    await eventually(
      () => client.get(ConfigMap, 'default/c'),
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    )
    await client.patch(ConfigMap, 'default/c', { merge: { metadata: { finalizers: null } } })
    await client.waitForDeletion(ConfigMap, 'default/a')
  })

  test('unblocks owners in a cycle of foreground deletions', async () => {
    await serve({ controllers: ['gc'] })
    const a = await client.create(configMap('a'))
    const b = await client.create(configMap('b', { ownerReferences: [ownedBy(a, { blockOwnerDeletion: true })] }))
    await client.patch(ConfigMap, 'default/a', {
      merge: { metadata: { ownerReferences: [ownedBy(b, { blockOwnerDeletion: true })] } },
    })
    await client.delete(ConfigMap, 'default/a', { propagation: 'Foreground' })
    await client.waitForDeletion(ConfigMap, 'default/a')
    await client.waitForDeletion(ConfigMap, 'default/b')
  })

  test('removes the owner reference of orphans and its manager', async () => {
    await serve({ controllers: ['gc'] })
    const owner = await client.create(configMap('owner'))
    await client.create(configMap('dependent', { ownerReferences: [ownedBy(owner)] }))
    await client.delete(ConfigMap, 'default/owner', { propagation: 'Orphan' })
    await client.waitForDeletion(ConfigMap, 'default/owner')
    const { metadata } = await client.get(ConfigMap, 'default/dependent')
    expect([metadata.ownerReferences, metadata.managedFields]).toEqual([undefined, undefined])
  })

  test('deletes a dependent with an owner in another namespace, and records an Event', async () => {
    await serve({ controllers: ['gc'] })
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } })
    const owner = await client.create(configMap('owner', { namespace: 'elsewhere' }))
    const dependent = await client.create(configMap('dependent', { ownerReferences: [ownedBy(owner)] }))
    await client.waitForDeletion(ConfigMap, 'default/dependent')
    const [event] = await eventually(
      async () => (await client.list(KubeEvent, { namespace: 'default' })).items,
      (items) => items.length > 0,
    )
    expect([event!.type, event!.reason, event!.note, event!.regarding?.['uid']]).toEqual([
      'Warning',
      'OwnerRefInvalidNamespace',
      `ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: ${owner.metadata.uid}] does not exist in namespace "default"`,
      dependent.metadata.uid,
    ])
  })

  test('keeps a cluster-scoped object with a namespaced owner, and records an Event', async () => {
    await serve({ controllers: ['gc'] })
    const owner = await client.create(configMap('owner'))
    await client.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'r', ownerReferences: [ownedBy(owner)] },
      rules: [],
    })
    await client.delete(ConfigMap, 'default/owner')
    const [event] = await eventually(
      async () => (await client.list(KubeEvent, { namespace: 'default' })).items,
      (items) => items.length > 0,
    )
    expect([event!.reason, event!.regarding?.['name']]).toEqual(['OwnerRefInvalidNamespace', 'r'])
    expect(
      (await client.get({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }, 'r')).metadata
        .ownerReferences,
    ).toHaveLength(1)
  })

  test('deletes a dependent after its delay, and not before', async () => {
    const clock = new FakeClock()
    const server = cleanup.use(await ApiServer.start({ controllers: false, clock }))
    client = server.client()
    cleanup.use(
      await startControllers({ client, resources: server.registry as Registry, controllers: ['gc'], delay: 100 }),
    )
    const owner = await client.create(configMap('owner'))
    await client.create(configMap('dependent', { ownerReferences: [ownedBy(owner)] }))
    await turns()
    // The check of the new dependent, which finds its owner.
    await clock.advance(100)
    await client.delete(ConfigMap, 'default/owner')
    await turns()
    await clock.advance(99)
    await turns()
    expect(await client.find(ConfigMap, 'default/dependent')).toBeDefined()
    await clock.advance(1)
    await client.waitForDeletion(ConfigMap, 'default/dependent')
  })

  test('collects objects that were ownerless before a restart', async () => {
    const server = cleanup.use(await ApiServer.start({ controllers: false }))
    client = server.client()
    const owner = await client.create(configMap('owner'))
    await client.create(configMap('dependent', { ownerReferences: [ownedBy(owner)] }))
    await client.create(configMap('late', { ownerReferences: [ownedBy(await client.create(configMap('stays')))] }))
    await client.delete(ConfigMap, 'default/owner')
    cleanup.use(await startControllers({ client, resources: server.registry as Registry, controllers: ['gc'] }))
    await client.waitForDeletion(ConfigMap, 'default/dependent')
    expect((await client.list(ConfigMap, { namespace: 'default' })).items.map(({ metadata }) => metadata.name)).toEqual(
      ['late', 'stays'],
    )
  })
})

describe('garbage collection of kinds that come and go', () => {
  const definition = crd({ group: 'example.com', kind: 'Widget', schema: { type: 'object' } })
  const Widget = kind('example.com/v1', 'Widget', { plural: 'widgets', namespaced: true })

  test('includes custom resources once they are served', async () => {
    const server = cleanup.use(await ApiServer.start({ controllers: ['crd'] }))
    client = server.client()
    const resources = server.registry as Registry
    cleanup.use(await startControllers({ client, resources, controllers: ['gc', 'namespace'] }))
    await client.create(definition)
    await eventually(
      () => Promise.resolve(server.registry.find('example.com', 'v1', 'widgets')),
      (found) => found !== undefined,
    )
    const widget = await client.create({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { namespace: 'default', name: 'w' },
    })
    await client.create(configMap('made', { ownerReferences: [ownedBy(widget)] }))
    await client.delete(Widget, 'default/w')
    await client.waitForDeletion(ConfigMap, 'default/made')
  })

  test('keeps dependents of a kind that cannot be listed', async () => {
    const server = cleanup.use(await ApiServer.start({ controllers: false }))
    client = server.client()
    const known = server.registry.definition('', 'configmaps')!
    const ghosts: ResourceDefinition = { ...known, group: 'example.com', plural: 'ghosts', kind: 'Ghost' }
    let definitions: Iterable<ResourceDefinition> = [...server.registry.definitions, ghosts]
    let changed = (): void => {}
    const resources: ResourceSource = {
      get definitions() {
        return definitions
      },
      onChange: (listener) => {
        changed = listener
        return { [Symbol.dispose]: () => {} }
      },
    }
    cleanup.use(await startControllers({ client, resources, controllers: ['gc'] }))
    const reference = {
      apiVersion: 'example.com/v1',
      kind: 'Ghost',
      name: 'g',
      uid: '11111111-2222-3333-4444-555555555555',
    }
    await client.create(configMap('of-a-ghost', { ownerReferences: [reference] }))
    await client.create(configMap('foreground'))
    await client.create(configMap('orphaning'))
    await client.delete(ConfigMap, 'default/foreground', { propagation: 'Foreground' })
    await client.delete(ConfigMap, 'default/orphaning', { propagation: 'Orphan' })
    const owner = await client.create(configMap('owner'))
    await client.create(configMap('canary', { ownerReferences: [ownedBy(owner)] }))
    await client.delete(ConfigMap, 'default/owner')
    await client.waitForDeletion(ConfigMap, 'default/canary')
    const names = async (): Promise<readonly string[]> =>
      (await client.list(ConfigMap, { namespace: 'default' })).items.map(({ metadata }) => metadata.name!)
    expect(await names()).toEqual(['foreground', 'of-a-ghost', 'orphaning'])
    definitions = server.registry.definitions
    changed()
    await client.waitForDeletion(ConfigMap, 'default/foreground')
    await client.waitForDeletion(ConfigMap, 'default/orphaning')
    expect(await names()).toEqual(['of-a-ghost'])
  })
})

describe('namespaces', () => {
  const conditions = async (name: string): Promise<readonly string[]> => {
    const { status } = (await client.get(Namespace, name)) as KubeObject & {
      status: { conditions?: readonly Condition[] }
    }
    return (status.conditions ?? []).map(({ type, status: value, message }) => `${type} ${value}: ${message}`)
  }

  test('are deleted with their content, and report what remains', async () => {
    await serve({ controllers: ['namespace'] })
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } })
    await client.create(configMap('held', { namespace: 'n', finalizers: ['example.com/f'] }))
    await client.create(configMap('free', { namespace: 'n' }))
    await client.delete(Namespace, 'n')
    const held = await eventually(
      () => conditions('n'),
      (found) => found.length > 0,
    )
    expect(held).toEqual([
      'NamespaceDeletionDiscoveryFailure False: All resources successfully discovered',
      'NamespaceDeletionGroupVersionParsingFailure False: All legacy kube types successfully parsed',
      'NamespaceDeletionContentFailure False: All content successfully deleted, may be waiting on finalization',
      'NamespaceContentRemaining True: Some resources are remaining: configmaps. has 1 resource instances',
      'NamespaceFinalizersRemaining True: Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances',
    ])
    expect(await client.find(ConfigMap, 'n/free')).toEqual(undefined)
    await client.patch(ConfigMap, 'n/held', { merge: { metadata: { finalizers: null } } })
    await client.waitForDeletion(Namespace, 'n')
  })

  test('stay until the finalizers of other controllers are removed', async () => {
    await serve({ controllers: ['namespace'] })
    await client.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'n' },
      spec: { finalizers: ['kubernetes', 'example.com/x'] },
    })
    await client.delete(Namespace, 'n')
    const left = await eventually(
      () => client.get(Namespace, 'n') as Promise<KubeObject & { spec: { finalizers?: string[] } }>,
      ({ spec }) => spec.finalizers?.length === 1,
    )
    expect(left.spec.finalizers).toEqual(['example.com/x'])
    expect(await conditions('n')).toHaveLength(5)
    expect(
      left.metadata.managedFields!.map(({ manager, subresource }) => `${manager} ${subresource ?? ''}`).toSorted(),
    ).toEqual(['fairlead ', 'kube-controller-manager finalize', 'kube-controller-manager status'])
  })

  test('get the default ServiceAccount and kube-root-ca.crt, again when these are deleted', async () => {
    await serve({ controllers: ['service-account'], rootCertificate: () => Promise.resolve('PEM') })
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } })
    await client.waitFor(ServiceAccount, 'n/default', () => true)
    const published = await client.waitFor(ConfigMap, 'n/kube-root-ca.crt', () => true)
    expect(published.data).toEqual({ 'ca.crt': 'PEM' })
    await client.delete(ServiceAccount, 'n/default')
    await client.waitFor(ServiceAccount, 'n/default', () => true)
    await client.patch(ConfigMap, 'n/kube-root-ca.crt', { merge: { data: { 'ca.crt': 'forged' } } })
    await client.waitFor(ConfigMap, 'n/kube-root-ca.crt', ({ data }) => data?.['ca.crt'] === 'PEM')
    await client.waitFor(ServiceAccount, 'default/default', () => true)
  })
})

describe('aggregated roles', () => {
  const ClusterRole = kind<KubeObject & { rules?: readonly object[] }>('rbac.authorization.k8s.io/v1', 'ClusterRole')
  const role = (name: string, more: JsonObject, labels: Record<string, string> = {}): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels },
    ...more,
  })
  const rule = (resource: string): JsonObject => ({ apiGroups: [''], resources: [resource], verbs: ['get'] })

  test('get the rules of all roles that they select', async () => {
    await serve({ controllers: ['role-aggregation'] })
    await client.create(
      role('all', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }, rules: [] }),
    )
    await client.create(role('one', { rules: [rule('pods')] }, { a: 'b' }))
    await client.create(role('two', { rules: [rule('secrets')] }, { a: 'b' }))
    await client.waitFor(ClusterRole, 'all', ({ rules }) => rules?.length === 2)
    await client.patch(ClusterRole, 'two', { merge: { metadata: { labels: { a: null } } } })
    const { rules } = await client.waitFor(ClusterRole, 'all', (found) => found.rules?.length === 1)
    expect(rules).toEqual([rule('pods')])
    await client.delete(ClusterRole, 'one')
    await client.waitFor(ClusterRole, 'all', (found) => (found.rules ?? []).length === 0)
  })
})

describe('expiry', () => {
  /** Starts a server with a manual clock. */
  async function serveAt(clock: FakeClock, controllers: ControllersOptions['controllers']): Promise<void> {
    const server = cleanup.use(await ApiServer.start({ controllers: false, clock }))
    client = server.client()
    cleanup.use(await startControllers({ client, resources: server.registry as Registry, controllers }))
  }

  const names = async (of: KindLike): Promise<readonly string[]> =>
    (await client.list(of, { namespace: 'default' })).items.map(({ metadata }) => metadata.name!)
  const event = (name: string): KubeEvent => ({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: 'default', name },
    eventTime: '2026-01-01T00:00:00.000000Z',
    type: 'Normal',
    reason: 'R',
    action: 'A',
    note: 'n',
    reportingController: 'c',
    reportingInstance: 'i',
    regarding: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'x' },
  })

  test('deletes Events an hour after their last write', async () => {
    const clock = new FakeClock('2026-01-01T00:00:00Z')
    await serveAt(clock, ['events'])
    await client.create(event('old'))
    await client.create(event('again'))
    await clock.advance(1_800_000)
    await client.patch(KubeEvent, 'default/again', {
      merge: { series: { count: 2, lastObservedTime: '2026-01-01T00:30:00.000000Z' } },
    })
    await clock.advance(1_801_000)
    await client.waitForDeletion(KubeEvent, 'default/old')
    expect(await names(KubeEvent)).toEqual(['again'])
    await clock.advance(1_800_000)
    await client.waitForDeletion(KubeEvent, 'default/again')
  })

  const Job = kind('batch/v1', 'Job', { plural: 'jobs', namespaced: true })
  const job = (name: string, spec: JsonObject): KubeObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { namespace: 'default', name },
    spec: { ...spec, template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
  })

  test('deletes finished Jobs after ttlSecondsAfterFinished', async () => {
    const clock = new FakeClock('2026-01-01T00:00:00Z')
    await serveAt(clock, ['job-ttl', 'gc'])
    await client.create(job('kept', {}))
    await client.create(job('short', { ttlSecondsAfterFinished: 10 }))
    await client.create(job('running', { ttlSecondsAfterFinished: 10 }))
    const times = { startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:00Z' }
    const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }))
    for (const name of ['kept', 'short']) {
      await client.patch(
        Job,
        `default/${name}`,
        { merge: { status: { ...times, conditions, succeeded: 1 } } },
        { subresource: 'status' },
      )
    }
    await clock.advance(9_000)
    expect(await names(Job)).toEqual(['kept', 'running', 'short'])
    await clock.advance(2_000)
    await client.waitForDeletion(Job, 'default/short')
    expect(await names(Job)).toEqual(['kept', 'running'])
  })

  test('records one Event per workload that nothing runs', async () => {
    const clock = new FakeClock('2026-01-01T00:00:00Z')
    await serveAt(clock, ['idle-workloads'])
    await client.create(job('idle', {}))
    await client.create(job('run', {}))
    await client.patch(
      Job,
      'default/run',
      { merge: { status: { startTime: '2026-01-01T00:00:00Z' } } },
      { subresource: 'status' },
    )
    await client.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name: 'pod' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    })
    await clock.advance(9_000)
    expect(await names(KubeEvent)).toEqual([])
    await clock.advance(2_000)
    const notices = await eventually(
      async () => (await client.list(KubeEvent, { namespace: 'default' })).items,
      (items) => items.length >= 2,
    )
    await client.patch(Job, 'default/idle', { merge: { metadata: { labels: { a: 'b' } } } })
    await clock.advance(60_000)
    const regardings = notices.map(({ regarding, reason }) => `${regarding?.['kind']} ${regarding?.['name']} ${reason}`)
    expect(regardings.toSorted()).toEqual(['Job idle NothingRunsThis', 'Pod pod NothingRunsThis'])
    expect(await names(KubeEvent)).toHaveLength(2)
  })
})

describe('many dependents of one owner', () => {
  test.each(['Background', 'Foreground'] as const)('are deleted with one request each: %s', async (propagation) => {
    const server = await serve({ controllers: ['gc'] })
    const reference = ownedBy(await client.create(configMap('owner')), { blockOwnerDeletion: true })
    await Promise.all(
      Array.from({ length: 1000 }, (_, index) =>
        client.create(configMap(`d${index}`, { ownerReferences: [reference] })),
      ),
    )
    const before = await requestsOf(server)
    await client.delete(ConfigMap, 'default/owner', { propagation })
    await eventually(
      async () => (await client.list(ConfigMap, { namespace: 'default', pageSize: 0 })).items.length,
      (count) => count === 0,
    )
    const after = await requestsOf(server)
    const made = (verb: string): number => (after[verb] ?? 0) - (before[verb] ?? 0)
    expect(made('DELETE')).toBe(1001)
    // GETs of the live owner, by each worker that did not know yet that it was deleted.
    expect(made('GET') + made('PATCH') + made('PUT')).toBeLessThan(100)
  })

  /** Counts the requests for ConfigMaps, without lists and watches, by verb. */
  async function requestsOf(server: ApiServer): Promise<Record<string, number>> {
    const { body } = await server.inject({ user: admin, method: 'GET', path: '/metrics' })
    const counts: Record<string, number> = {}
    for (const [, verb, count] of String(body).matchAll(
      /^apiserver_request_total\{verb="(\w+)"[^}]*resource="configmaps"[^}]*\} (\d+)$/gm,
    )) {
      if (verb !== 'LIST' && verb !== 'WATCH') counts[verb!] = (counts[verb!] ?? 0) + Number(count)
    }
    return counts
  }
})
