// Several replicas share the groups of one MapController: each group is reconciled by one of them, also when replicas
// start and stop.
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { installDefinitions, shardOf } from '@fairlead/controller'
import type { Condition, KubeObject } from '@fairlead/kube'
import { FakeClock, findCondition } from '@fairlead/kube'
import type { MapController } from '@fairlead/metacontroller'
import { MapControllers, crds } from '@fairlead/metacontroller'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Replicas, shardCount } from '../../../test/support/replicas.ts'
import { crd } from '../../../test/support/crd.ts'

const namespaces = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7']
const secrets = { apiVersion: 'v1', kind: 'Secret' }
const configMaps = { apiVersion: 'v1', kind: 'ConfigMap' }
const mapControllers = { apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'MapController' }

const definition = (scope: 'Cluster' | 'Namespaced', kind: string): KubeObject =>
  crd({ group: 'test.example.com', kind, scope, status: true })

const controller = (name: string, parents: string): KubeObject => ({
  ...mapControllers,
  metadata: { name },
  spec: {
    parentResource: { apiVersion: 'test.example.com/v1', resource: parents },
    inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
    outputResources: [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' } }],
    hooks: {
      map: {
        expression: `[{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': parent.metadata.name + '-' + input.metadata.name, 'namespace': input.metadata.namespace}, 'stringData': {'n': string(int(input.data.n))}}]`,
      },
    },
  },
})

const parent = (kind: string, name: string, namespace?: string): KubeObject => ({
  apiVersion: 'test.example.com/v1',
  kind,
  metadata: { name, ...(namespace && { namespace }) },
  spec: { selector: { matchLabels: { copy: 'yes' } } },
})

const input = (namespace: string, n: string, name = 'one'): KubeObject => ({
  ...configMaps,
  metadata: { name, namespace, labels: { copy: 'yes' } },
  data: { n },
})

let clock: FakeClock
let server: ApiServer
let admin: Client
let replicas: Replicas

async function copies(): Promise<Record<string, string>> {
  const { items } = await admin.list<KubeObject & { readonly data?: { readonly n: string } }>(secrets)
  return Object.fromEntries(
    items.map(({ metadata, data }) => [
      `${metadata.namespace}/${metadata.name}`,
      Buffer.from(data?.n ?? '', 'base64').toString(),
    ]),
  )
}

async function statusOf(name: string): Promise<{ ready: Partial<Condition>; failing: number; shards: unknown }> {
  const { status } = await admin.get<MapController & KubeObject>(mapControllers, name)
  const { status: isReady, reason, message } = findCondition(status?.conditions as readonly Condition[], 'Ready')!
  return { ready: { status: isReady, reason, message }, failing: status!.failingGroups!, shards: status!.shards }
}

beforeEach(async () => {
  clock = new FakeClock('2026-01-01T00:00:00Z')
  server = await ApiServer.start({ controllers: ['crd', 'gc'] })
  admin = server.client({ manager: 'kubectl' })
  await installDefinitions(admin, [...crds, definition('Cluster', 'Policy'), definition('Namespaced', 'Local')])
  for (const name of namespaces) await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  replicas = await Replicas.start(
    clock,
    () => server.client().transport,
    (manager) => {
      const controllers = new MapControllers(manager, { resolve: new Map() })
      return () => controllers.stop()
    },
  )
})

afterEach(async () => {
  await replicas[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

describe('the groups of a cluster-scoped parent', () => {
  beforeEach(async () => {
    await admin.apply(controller('copies', 'policys'))
    await admin.apply(parent('Policy', 'p'))
    for (const namespace of namespaces) await admin.apply(input(namespace, '1'))
    await replicas.pass(5)
  })

  test('belong to the shards of the namespaces of their inputs, its status to shard 0', async () => {
    expect(await copies()).toEqual(Object.fromEntries(namespaces.map((namespace) => [`${namespace}/p-one`, '1'])))
    const expected: Record<string, string[]> = { a: [], b: [] }
    for (const namespace of namespaces)
      expected[replicas.ownerOf(namespace)]!.push(`PATCH /api/v1/namespaces/${namespace}/secrets/p-one`)
    expect(Object.values(expected).every((requests) => requests.length > 0)).toBe(true)
    expect(replicas.written('/secrets/')).toEqual(expected)
    await admin.apply(input('n1', '2', 'two'))
    await replicas.pass(3)
    const others = replicas.written('')
    const writer = replicas.ownerOf('n1')
    expect(others[writer]!.filter((request) => request.includes('/secrets/'))).toEqual([
      'PATCH /api/v1/namespaces/n1/secrets/p-two',
    ])
    const statusWriters = Object.keys(others).filter((who) =>
      others[who]!.some((one) => one.endsWith('/policys/p/status')),
    )
    expect(statusWriters).toEqual([replicas.ownerOf('')])
    const { status } = await admin.get({ apiVersion: 'test.example.com/v1', kind: 'Policy' }, 'p')
    expect(status).toMatchObject({ inputs: { configmaps: { total: 9 } }, outputs: { secrets: { total: 9 } } })
  })

  test('are deleted by the replica that created them when their inputs are deleted', async () => {
    replicas.written('')
    await Promise.all(['n0', 'n1', 'n2', 'n3'].map((namespace) => admin.delete(configMaps, `${namespace}/one`)))
    await replicas.pass(3)
    const expected: Record<string, string[]> = { a: [], b: [] }
    for (const namespace of ['n0', 'n1', 'n2', 'n3'])
      expected[replicas.ownerOf(namespace)]!.push(`DELETE /api/v1/namespaces/${namespace}/secrets/p-one`)
    expect(replicas.written('/secrets/')).toEqual(expected)
  })

  test('are taken over from a replica that crashes, with all changes since', async () => {
    const victim = replicas.ownerOf('n0')
    const other = victim === 'a' ? 'b' : 'a'
    const its = namespaces.filter((namespace) => replicas.ownerOf(namespace) === victim)
    replicas.cut(victim)
    replicas.written('')
    await admin.apply(input(its[0]!, '2'))
    await admin.apply(input(its[0]!, '3', 'new'))
    await admin.apply(parent('Policy', 'second'))
    await replicas.pass(40)
    expect(namespaces.map((namespace) => replicas.ownerOf(namespace))).toEqual(namespaces.map(() => other))
    expect(await copies()).toEqual({
      ...Object.fromEntries(
        namespaces.flatMap((one) => [
          [`${one}/p-one`, '1'],
          [`${one}/second-one`, '1'],
        ]),
      ),
      [`${its[0]}/p-one`]: '2',
      [`${its[0]}/second-one`]: '2',
      [`${its[0]}/p-new`]: '3',
      [`${its[0]}/second-new`]: '3',
    })
    expect(replicas.written('/secrets/')[other]!.filter((request) => !request.startsWith('PATCH'))).toEqual([])
    expect(await statusOf('copies')).toMatchObject({ ready: { status: 'True', reason: 'Serving' } })
  })

  test('that fail are counted by the replica of shard 0, whichever shard they are in', async () => {
    const namespace = namespaces.find((one) => replicas.ownerOf(one) !== replicas.ownerOf(''))!
    await admin.patch(configMaps, `${namespace}/one`, { merge: { data: { n: 'x' } } })
    await replicas.pass(5)
    const shard = shardOf(namespace, shardCount)
    expect(await statusOf('copies')).toEqual({
      ready: {
        status: 'False',
        reason: 'GroupsFailing',
        message: expect.stringMatching(new RegExp(`^1 of 8 groups fail: ConfigMap/${namespace}/one: `)),
      },
      failing: 1,
      shards: [{ shard, failingGroups: 1, message: expect.stringContaining(`ConfigMap/${namespace}/one: `) }],
    })
    await admin.patch(configMaps, `${namespace}/one`, { merge: { data: { n: '7' } } })
    await replicas.pass(5)
    expect(await statusOf('copies')).toEqual({
      ready: { status: 'True', reason: 'Serving', message: 'Every group is served' },
      failing: 0,
      shards: undefined,
    })
  })
})

test('the groups and the status of a namespaced parent belong to the shard of its namespace', async () => {
  await admin.apply(controller('local', 'locals'))
  for (const namespace of namespaces) {
    await admin.apply(parent('Local', 'l', namespace))
    await admin.apply(input(namespace, '1'))
  }
  await replicas.pass(5)
  const [requests, expected] = [replicas.written('/namespaces/n'), { a: [], b: [] } as Record<string, string[]>]
  for (const namespace of namespaces)
    expected[replicas.ownerOf(namespace)]!.push(
      `PATCH /api/v1/namespaces/${namespace}/secrets/l-one`,
      `PATCH /apis/test.example.com/v1/namespaces/${namespace}/locals/l/status`,
    )
  const distinct = (of: Record<string, string[]>): unknown =>
    Object.fromEntries(Object.entries(of).map(([who, all]) => [who, [...new Set(all)].toSorted()]))
  expect(distinct(requests)).toEqual(distinct(expected))
})
