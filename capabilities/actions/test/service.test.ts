import { isDeepStrictEqual } from 'node:util'
import { actions, crds } from '@fairlead/actions'
import type { ActionService, Caller } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { ClientReader, Manager } from '@fairlead/controller'
import type { Relation } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { patience } from '../../../test/support/until.ts'
import { kam, map, trader } from './objects.ts'

const kamKind = { apiVersion: 'actions.kappnav.io/v1', kind: 'KindActionMapping' }
const ref = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'stocktrader', name: 'trader' }
const query = { ...ref }

let server: ApiServer
let service: ActionService
let relations: (object: KubeObject) => Promise<readonly Relation[]>
let admin: Client
let caller: Caller
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  server = stack.use(await ApiServer.start())
  admin = server.client({ manager: 'kubectl' })
  const manager = stack.use(await Manager.start({ client: server.client(), crds }))
  const instance = await actions.setup(manager, { resolve: new Map(), signal: new AbortController().signal })
  stack.defer(() => instance.stop())
  for (const route of instance.routes ?? []) server.serve(route)
  service = instance.service
  const source = await actions.relations!()
  relations = (object) => source.relations(object, new ClientReader(admin, { signal: new AbortController().signal }))
  caller = { client: admin, user: { name: 'admin', groups: [] } }
  for (const name of ['kappnav', 'stocktrader'])
    await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  const template = { metadata: { labels: { app: 'trader' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const { uid: _uid, ...metadata } = trader.metadata
  await admin.create({ ...trader, metadata, spec: { ...(trader.spec as JsonObject), template } })
  await admin.create(
    kam(
      'kinds',
      [
        { apiVersion: 'apps/v1', kind: 'Deployment', mapname: 'by-kind' },
        { apiVersion: 'apps/v1', kind: 'Deployment', mapname: '${nope}' },
      ],
      { namespace: 'kappnav' },
    ),
  )
  await ready('kinds')
})

afterAll(() => stack.disposeAsync())

async function ready(
  name: string,
  holds: (object: KubeObject) => boolean = ({ status }) => status !== undefined,
): Promise<KubeObject> {
  return admin.waitFor(kamKind, `kappnav/${name}`, holds)
}

async function menuNames(): Promise<readonly string[]> {
  return (await service.menu(caller, ref)).actions.map(({ name }) => name)
}

const urls = (...names: readonly string[]): JsonObject => ({
  'url-actions': names.map((name) => ({ name, 'url-pattern': 'https://x/${resource.$.metadata.name}' })),
})

describe('the actions service', () => {
  test('updates menus when a map is created, changed and deleted', async () => {
    expect(await menuNames()).toEqual([])
    await admin.create(map('by-kind', urls('one')))
    await eventually(menuNames, ['one'])
    await admin.apply(map('by-kind', urls('one', 'two')), { force: true })
    await eventually(menuNames, ['one', 'two'])
    await admin.delete({ apiVersion: 'v1', kind: 'ConfigMap' }, 'kappnav/by-kind')
    await eventually(menuNames, [])
    await admin.create(map('by-kind', urls('one')))
    await eventually(menuNames, ['one'])
  })

  test('refuses patterns in requests', async () => {
    for (const [path, more] of [
      ['/kappnav/resource/trader/Deployment', {}],
      ['/api/actions', {}],
      ['/api/actions/one/url', {}],
    ] as const) {
      const answer = await admin.sendRaw({
        method: 'GET',
        path,
        query: { ...query, ...more, 'action-pattern': '${func.kubectlGet(secrets,-A,-o,json)}' },
      })
      expect(answer).toMatchObject({ status: 400, body: { error: 'pattern-error' } })
    }
  })

  test.each([
    ['GET', '/api/actions', {}, 400, 'input-error'],
    ['GET', '/api/actions', { kind: 'Deployment', name: 'nope' }, 404, 'not-found'],
    ['GET', '/api/actions', { kind: 'Nope', name: 'x' }, 404, 'not-found'],
    ['POST', '/api/actions', query, 405, 'input-error'],
    ['GET', '/api/actions/nope/url', query, 404, 'not-found'],
    ['POST', '/api/actions/nope/run', query, 404, 'not-found'],
    ['GET', '/api/actions/one/run', query, 405, 'input-error'],
    [
      'POST',
      '/kappnav/resource/app/trader/Deployment/execute/command/nope',
      { namespace: 'stocktrader' },
      404,
      'not-found',
    ],
    ['DELETE', '/kappnav/resource/command/nope', {}, 404, 'not-found'],
  ] as const)('responds to %s %s %j with %i', async (method, path, parameters, status, error) => {
    expect(await admin.sendRaw({ method, path, query: parameters })).toMatchObject({
      status,
      body: { code: status, error },
    })
  })

  test('refuses bodies that are not JSON or not an object', async () => {
    await admin.apply(map('by-kind', { 'cmd-actions': [{ name: 'go', image: 'i', 'cmd-pattern': 'x' }] }), {
      force: true,
    })
    await eventually(menuNames, ['one', 'go'])
    const answer = await server.inject({
      method: 'POST',
      path: `/api/actions/go/run?${new URLSearchParams(query).toString()}`,
      headers: { 'content-type': 'application/json' },
      body: '{',
      user: { name: 'admin', groups: ['system:masters'] },
    } as Parameters<ApiServer['inject']>[0])
    expect(answer.status).toBe(400)
    expect(
      await admin.sendRaw({ method: 'POST', path: '/api/actions/go/run', query, body: [] as unknown as JsonObject }),
    ).toMatchObject({ status: 422, body: { error: 'validation-error' } })
  })

  test('lists more than 60 runs, newest first', async () => {
    for (let index = 0; index < 70; index++) await service.run(caller, ref, 'go')
    const runs = await service.runs.list(caller, { name: 'trader' })
    expect(runs.length).toBe(70)
    expect(runs[0]).toMatchObject({
      action: 'go',
      user: 'admin',
      state: 'Waiting',
      target: { kind: 'Deployment', namespace: 'stocktrader', name: 'trader' },
    })
    const { body } = await admin.sendRaw({ method: 'GET', path: '/kappnav/resource/commands' })
    expect((body as { commands: unknown[] }).commands.length).toBe(70)
  })

  test('creates no Job on a dry run', async () => {
    const before = (await service.runs.list(caller)).length
    expect(
      await admin.sendRaw({ method: 'POST', path: '/api/actions/go/run', query: { ...query, dryRun: 'All' } }),
    ).toMatchObject({ status: 200 })
    expect((await service.runs.list(caller)).length).toBe(before)
  })

  test('refuses javascript: addresses of url actions', async () => {
    await admin.apply(map('by-kind', { 'url-actions': [{ name: 'evil', 'url-pattern': 'javascript:alert(1)' }] }), {
      force: true,
    })
    await eventually(menuNames, ['evil'])
    expect(await admin.sendRaw({ method: 'GET', path: '/api/actions/evil/url', query })).toMatchObject({
      status: 422,
      body: { error: 'pattern-error' },
    })
  })
})

describe('the controllers of actions', () => {
  test('report used and unused rules in the status', async () => {
    expect(
      (await ready('kinds', ({ status }) => (status as { maps?: { found: unknown[] } }).maps?.found.length === 1))
        .status,
    ).toMatchObject({
      rules: 1,
      problems: [{ field: 'spec.mappings[1].mapname', code: 'UnknownVariable' }],
      maps: { found: ['kappnav/by-kind'], missing: [] },
      conditions: [
        { type: 'Accepted', status: 'True' },
        { type: 'Ready', status: 'False', reason: 'UnknownVariable' },
      ],
    })
  })

  test('relate mappings to the maps that they name', async () => {
    const mapping = await ready('kinds', ({ status }) => JSON.stringify(status ?? {}).includes('kappnav/by-kind'))
    const edge: Relation = {
      type: 'refers-to',
      from: { ...kamKind, namespace: 'kappnav', name: 'kinds', uid: mapping.metadata.uid! },
      to: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'kappnav', name: 'by-kind' },
    }
    expect(await relations(mapping)).toEqual([edge])
    await eventually(async () => relations(map('by-kind', {})), [edge])
    expect(await relations(map('other', {}))).toEqual([])
    expect(await relations(trader)).toEqual([])
  })

  test('reject mappings that violate the schema', async () => {
    for (const [rule, message] of [
      [{ kind: 'X', mapname: 'm' }, /apiVersion: Required value/],
      [{ apiVersion: 'v1', kind: 'Dep*', mapname: 'm' }, /partial wildcards are not supported/],
      [{ apiVersion: 'v1', kind: 'X', mapname: 'm', owner: {} }, /must have kind, apiVersion or uid/],
    ] as const)
      await expect(admin.create(kam('bad', [rule]))).rejects.toThrow(message)
    await expect(admin.create(kam('bad', [], { precedence: 10 }))).rejects.toThrow(/less than or equal to 9/)
  })

  test('emit one event per problem of a map', async () => {
    await admin.create(map('lenient', { 'url-actions': '[{name: "x", "url-pattern": "${nope.x}"},]' }))
    const events = async (): Promise<readonly string[]> =>
      (await admin.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace: 'kappnav' })).items
        .filter(({ regarding }) => (regarding as { name?: string }).name === 'lenient')
        .map(({ reason }) => String(reason))
        .toSorted()
    await eventually(events, ['InvalidAction', 'LenientJson'])
  })

  test('create, update and delete the embedded mapping of a map', async () => {
    const carrying = (name: string, mapname: string): KubeObject =>
      map('carrier', {
        'kam-defs': {
          apiVersion: 'actions.kappnav.io/v1beta1',
          kind: 'KindActionMapping',
          metadata: { name },
          spec: { mappings: [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname }] },
        },
      })
    await admin.apply(carrying('carried', 'a'), { force: true })
    const made = await ready('carried')
    expect(made.metadata.labels).toEqual({ 'kappnav.kam.auto-created': 'true' })
    expect(made.metadata.ownerReferences).toMatchObject([{ kind: 'ConfigMap', name: 'carrier', controller: true }])
    const carrier = await admin.get({ apiVersion: 'v1', kind: 'ConfigMap' }, 'kappnav/carrier')
    const edge: Relation = {
      type: 'made-from',
      from: { ...kamKind, namespace: 'kappnav', name: 'carried', uid: made.metadata.uid! },
      to: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'kappnav', name: 'carrier', uid: carrier.metadata.uid! },
    }
    await eventually(async () => relations(made), [edge])
    await eventually(async () => relations(carrier), [edge])
    await admin.apply(carrying('carried', 'b'), { force: true })
    await ready('carried', ({ spec }) => JSON.stringify(spec).includes('"mapname":"b"'))
    await admin.apply(carrying('renamed', 'b'), { force: true })
    await ready('renamed')
    await admin.waitForDeletion(kamKind, 'kappnav/carried')
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
    const label = { metadata: { labels: { 'kappnav.io/map-type': null } } }
    await admin.patch(configMap, 'kappnav/carrier', { merge: label })
    await admin.waitForDeletion(kamKind, 'kappnav/renamed')
    await admin.apply(carrying('renamed', 'b'), { force: true })
    await ready('renamed')
    await admin.delete(configMap, 'kappnav/carrier')
    await admin.waitForDeletion(kamKind, 'kappnav/renamed')
  })

  test('do not change a mapping that a map embeds but does not own', async () => {
    await admin.apply(map('thief', { 'kam-defs': { metadata: { name: 'kinds' }, spec: { mappings: [] } } }), {
      force: true,
    })
    const reasons = async (): Promise<readonly string[]> =>
      (await admin.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace: 'kappnav' })).items
        .filter(({ regarding }) => (regarding as { name?: string }).name === 'thief')
        .map(({ reason }) => String(reason))
    await eventually(reasons, ['NotOurs'])
    expect(((await admin.get(kamKind, 'kappnav/kinds')).spec as { mappings: unknown[] }).mappings.length).toBe(2)
    await admin.delete({ apiVersion: 'v1', kind: 'ConfigMap' }, 'kappnav/thief')
    expect((await admin.get(kamKind, 'kappnav/kinds')).metadata.deletionTimestamp).toBeUndefined()
  })
})

/** Reads until the value is as wanted; fails with the last one. */
async function eventually<T>(read: () => Promise<T>, wanted: T): Promise<void> {
  const deadline = systemClock.monotonic() + patience
  let value = await read()
  while (!isDeepStrictEqual(value, wanted) && systemClock.monotonic() < deadline) {
    await new Promise(setImmediate)
    value = await read()
  }
  expect(value).toEqual(wanted)
}
