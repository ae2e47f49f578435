// Several replicas share the groups of one MapController: each group is the business of one of them, whoever comes and goes.
import { ApiServer } from '@fairlead/apiserver'
import { Client } from '@fairlead/client'
import { Manager, installDefinitions, shardOf } from '@fairlead/controller'
import { FakeClock, findCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { MapControllers, crds } from '@fairlead/map'
import type { MapController } from '@fairlead/map'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RecordingTransport } from '../../../test/support/recorded-client.ts'
import { turns } from '../../../test/support/until.ts'

const count = 4
const namespaces = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7']
const secrets = { apiVersion: 'v1', kind: 'Secret' }
const configMaps = { apiVersion: 'v1', kind: 'ConfigMap' }
const mapControllers = { apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'MapController' }

const definition = (scope: 'Cluster' | 'Namespaced', kind: string): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${kind.toLowerCase()}s.test.example.com` },
  spec: {
    group: 'test.example.com',
    scope,
    names: { kind, plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase() },
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
})

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

interface Replica {
  readonly manager: Manager
  readonly controllers: MapControllers
  readonly transport: RecordingTransport
}

let clock: FakeClock
let server: ApiServer
let admin: Client
let replicas: Map<string, Replica>

async function startReplica(identity: string): Promise<void> {
  const transport = new RecordingTransport(server.client().transport)
  let controllers: MapControllers | undefined
  const manager = await Manager.start({
    client: new Client({ transport, clock, random: () => 0.5 }),
    clock,
    shards: { namespace: 'default', name: 'map', count, identity },
    setup: (made) => {
      controllers = new MapControllers(made, { resolve: new Map() })
    },
  })
  replicas.set(identity, { manager, transport, controllers: controllers! })
}

/** Lets seconds pass, one by one. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1000)
    await turns()
  }
}

/** Who owns a namespace ('' for what is cluster-scoped). */
function ownerOf(namespace: string): string {
  const shard = shardOf(namespace, count)
  return [...replicas]
    .filter(([, { manager }]) => manager.shards!.owns(shard))
    .map(([identity]) => identity)
    .join()
}

/** Requests that write, as `METHOD path`, by replica; since the last call. */
function written(part: string): Record<string, string[]> {
  return Object.fromEntries(
    [...replicas].map(([identity, { transport }]) => [
      identity,
      transport
        .take()
        .filter((request) => !request.startsWith('GET') && request.includes(part))
        .toSorted(),
    ]),
  )
}

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
  replicas = new Map()
  await installDefinitions(admin, [...crds, definition('Cluster', 'Policy'), definition('Namespaced', 'Local')])
  for (const name of namespaces) await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await startReplica('a')
  await startReplica('b')
  await pass(8)
})

afterEach(async () => {
  for (const { manager, controllers, transport } of replicas.values()) {
    transport.instead = () => undefined
    await Promise.all([controllers.stop(), manager.stop(0)])
  }
  await server[Symbol.asyncDispose]()
})

describe('the groups of a cluster-scoped parent', () => {
  beforeEach(async () => {
    await admin.apply(controller('copies', 'policys'))
    await admin.apply(parent('Policy', 'p'))
    for (const namespace of namespaces) await admin.apply(input(namespace, '1'))
    await pass(5)
  })

  it('belong to the shards of the namespaces of their inputs, its status to shard 0', async () => {
    expect(await copies()).toEqual(Object.fromEntries(namespaces.map((namespace) => [`${namespace}/p-one`, '1'])))
    const expected: Record<string, string[]> = { a: [], b: [] }
    for (const namespace of namespaces)
      expected[ownerOf(namespace)]!.push(`PATCH /api/v1/namespaces/${namespace}/secrets/p-one`)
    expect(Object.values(expected).every((requests) => requests.length > 0)).toBe(true)
    expect(written('/secrets/')).toEqual(expected)
    await admin.apply(input('n1', '2', 'two'))
    await pass(3)
    const others = written('')
    const writer = ownerOf('n1')
    expect(others[writer]!.filter((request) => request.includes('/secrets/'))).toEqual([
      'PATCH /api/v1/namespaces/n1/secrets/p-two',
    ])
    const statusWriters = Object.keys(others).filter((who) =>
      others[who]!.some((one) => one.endsWith('/policys/p/status')),
    )
    expect(statusWriters).toEqual([ownerOf('')])
    const { status } = await admin.get({ apiVersion: 'test.example.com/v1', kind: 'Policy' }, 'p')
    expect(status).toMatchObject({ inputs: { configmaps: { total: 9 } }, outputs: { secrets: { total: 9 } } })
  })

  it('are deleted by the replica that made them when their inputs go', async () => {
    written('')
    await Promise.all(['n0', 'n1', 'n2', 'n3'].map((namespace) => admin.delete(configMaps, `${namespace}/one`)))
    await pass(3)
    const expected: Record<string, string[]> = { a: [], b: [] }
    for (const namespace of ['n0', 'n1', 'n2', 'n3'])
      expected[ownerOf(namespace)]!.push(`DELETE /api/v1/namespaces/${namespace}/secrets/p-one`)
    expect(written('/secrets/')).toEqual(expected)
  })

  it('are taken over from a replica that dies, with all that happened meanwhile', async () => {
    const victim = ownerOf('n0')
    const other = victim === 'a' ? 'b' : 'a'
    const its = namespaces.filter((namespace) => ownerOf(namespace) === victim)
    replicas.get(victim)!.transport.instead = () => ({ status: 503, headers: {}, body: 'cut off', warnings: [] })
    written('')
    await admin.apply(input(its[0]!, '2'))
    await admin.apply(input(its[0]!, '3', 'new'))
    await admin.apply(parent('Policy', 'second'))
    await pass(40)
    expect(namespaces.map(ownerOf)).toEqual(namespaces.map(() => other))
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
    expect(written('/secrets/')[other]!.filter((request) => !request.startsWith('PATCH'))).toEqual([])
    expect(await statusOf('copies')).toMatchObject({ ready: { status: 'True', reason: 'Serving' } })
  })

  it('that fail are counted by the replica of shard 0, in whose shard they may be', async () => {
    const namespace = namespaces.find((one) => ownerOf(one) !== ownerOf(''))!
    await admin.patch(configMaps, `${namespace}/one`, { merge: { data: { n: 'x' } } })
    await pass(5)
    const shard = shardOf(namespace, count)
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
    await pass(5)
    expect(await statusOf('copies')).toEqual({
      ready: { status: 'True', reason: 'Serving', message: 'Every group is served' },
      failing: 0,
      shards: undefined,
    })
  })
})

it('the groups and the status of a namespaced parent belong to the shard of its namespace', async () => {
  await admin.apply(controller('local', 'locals'))
  for (const namespace of namespaces) {
    await admin.apply(parent('Local', 'l', namespace))
    await admin.apply(input(namespace, '1'))
  }
  await pass(5)
  const [requests, expected] = [written('/namespaces/n'), { a: [], b: [] } as Record<string, string[]>]
  for (const namespace of namespaces)
    expected[ownerOf(namespace)]!.push(
      `PATCH /api/v1/namespaces/${namespace}/secrets/l-one`,
      `PATCH /apis/test.example.com/v1/namespaces/${namespace}/locals/l/status`,
    )
  const distinct = (of: Record<string, string[]>): unknown =>
    Object.fromEntries(Object.entries(of).map(([who, all]) => [who, [...new Set(all)].toSorted()]))
  expect(distinct(requests)).toEqual(distinct(expected))
})
