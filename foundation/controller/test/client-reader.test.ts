// The reader of relations over a client: found, missing and unreadable are three things, and requests are shared.
import { ApiServer } from '@fairlead/apiserver'
import { Client, ClientError } from '@fairlead/client'
import { ClientReader, ownerRelations } from '@fairlead/controller'
import type { ClientReaderOptions, ObjectRead } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RecordingTransport } from '../../../test/support/recorded-client.ts'

const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
const secret = { apiVersion: 'v1', kind: 'Secret' }
const rbac = 'rbac.authorization.k8s.io'

let server: ApiServer
let admin: Client
beforeAll(async () => {
  server = await ApiServer.start({ authorization: 'RBAC' })
  admin = server.client()
  for (const name of ['team-a', 'team-b']) {
    await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    await admin.create({ ...configMap, metadata: { name: 'a', namespace: name } })
  }
  const role = { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }
  const metadata = { name: 'reader', namespace: 'team-a' }
  await admin.create({ apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: [role] } as KubeObject)
  await admin.create({
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: rbac, kind: 'Role', name: 'reader' },
    subjects: [{ apiGroup: rbac, kind: 'User', name: 'ann' }],
  } as KubeObject)
})
afterAll(() => server[Symbol.asyncDispose]())

/** Returns a reader with the rights of ann, who may read the ConfigMaps of team-a, or of an administrator. */
function readerOf(user: 'ann' | 'admin', options: Partial<ClientReaderOptions> = {}) {
  const { transport } = user === 'admin' ? admin : server.client({ as: { name: 'ann', groups: [] } })
  const recorded = new RecordingTransport(transport)
  const signal = new AbortController().signal
  const read = new ClientReader(new Client({ transport: recorded }), { signal, namespace: 'team-a', ...options })
  return { read, recorded }
}

const outcome = (read: ObjectRead): string => (read.found === 'unknown' ? read.why.reason : read.found)

describe('a reader with the rights of a user', () => {
  test('tells found, missing, forbidden and not served objects apart', async () => {
    const { read } = readerOf('ann')
    const found = [
      await read.get(configMap, 'team-a/a'),
      await read.get(configMap, 'team-a/none'),
      await read.get(configMap, 'team-b/a'),
      await read.get({ apiVersion: 'nobody.dev/v1', kind: 'Thing' }, 'team-a/a'),
    ]
    expect(found.map(outcome)).toEqual(['yes', 'no', 'Forbidden', 'NotServed'])
    expect(read.unreadable.map(({ verb, resource, namespace, name }) => ({ verb, resource, namespace, name }))).toEqual(
      [
        { verb: 'get', resource: 'configmaps', namespace: 'team-b', name: 'a' },
        { verb: 'get', resource: 'Thing', namespace: undefined, name: 'a' },
      ],
    )
  })

  test('lists its own namespace where all may not be listed, and says that there may be more', async () => {
    const { read } = readerOf('ann')
    const { objects, why } = await read.list(configMap)
    expect(objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toContain('team-a/a')
    expect(objects.filter(({ metadata }) => metadata.namespace !== 'team-a')).toEqual([])
    expect(why).toMatchObject({ reason: 'Forbidden', verb: 'list', resource: 'configmaps' })
  })

  test('knows nothing of a kind that it may not list', async () => {
    const { read } = readerOf('ann')
    expect(await read.list(secret, 'team-a')).toMatchObject({ objects: [], why: { reason: 'Forbidden' } })
  })
})

describe('requests of a reader', () => {
  test('are sent once for each object and list, however often it is asked for', async () => {
    const { read, recorded } = readerOf('admin')
    await Promise.all([1, 2, 3].map(() => read.get(configMap, 'team-a/a')))
    await Promise.all([1, 2, 3].map(() => read.list(secret)))
    await read.list(secret, 'team-a')
    await read.get(secret, 'team-a/none')
    expect(recorded.requests).toEqual([
      'GET /api',
      'GET /apis',
      'GET /api/v1/namespaces/team-a/configmaps/a',
      'GET /api/v1/secrets',
    ])
  })

  test('list a namespace from which many objects are asked for', async () => {
    const { read, recorded } = readerOf('admin')
    for (let at = 0; at < 100; at++) await read.get(configMap, `team-a/${at}`)
    // Discovery, eight objects and their list.
    expect(recorded.requests.length).toBe(2 + 8 + 1)
    const atOnce = readerOf('admin')
    await Promise.all(Array.from({ length: 100 }, (_one, index) => atOnce.read.get(configMap, `team-a/${index}`)))
    expect(atOnce.recorded.requests.length).toBe(2 + 8 + 1)
    const withoutRight = readerOf('ann')
    const found = Array.from({ length: 20 }, (_one, index) => withoutRight.read.get(secret, `team-b/${index}`))
    expect(new Set((await Promise.all(found)).map(outcome))).toEqual(new Set(['Forbidden']))
    expect(recorded.requests.at(-1)).toBe('GET /api/v1/namespaces/team-a/configmaps')
  })

  test('end at their number, and what is asked for after it is unknown', async () => {
    const { read } = readerOf('admin', { maxRequests: 2 })
    const found = [await read.get(configMap, 'team-a/a'), await read.get(configMap, 'team-b/a')]
    expect(found.map(outcome)).toEqual(['yes', 'TooMany'])
  })

  test('end in the middle of a list, whose objects may be more', async () => {
    await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'large' } })
    const names = Array.from({ length: 501 }, (_one, index) => ({ name: `a-${index}`, namespace: 'large' }))
    for (const metadata of names) await admin.create({ ...secret, metadata })
    const { read: cut } = readerOf('admin', { maxRequests: 2 })
    const { objects, why } = await cut.list(secret, 'large')
    expect([objects.length, why?.reason]).toEqual([500, 'TooMany'])
    expect(outcome(await cut.get(secret, 'large/a-0'))).toBe('TooMany')
    const all = await readerOf('admin').read.list(secret, 'large')
    expect([all.objects.length, all.why]).toEqual([501, undefined])
  })

  test('that fail leave the object unknown', async () => {
    const { read, recorded } = readerOf('admin')
    recorded.instead = () => ({ status: 400, headers: {}, body: 'broken', warnings: [] })
    expect(outcome(await read.get(configMap, 'team-a/a'))).toBe('Failed')
    expect(await read.list(configMap)).toMatchObject({ objects: [], why: { reason: 'Failed' } })
    expect(await read.served()).toEqual([])
  })

  test('end with the first that does not reach the server', async () => {
    const { read, recorded } = readerOf('admin')
    await read.served()
    recorded.before = () => {
      throw new ClientError('ConnectionFailed', 'connect ECONNREFUSED')
    }
    const before = recorded.requests.length
    expect(outcome(await read.get(configMap, 'team-a/a'))).toBe('Failed')
    const sent = recorded.requests.length - before
    for (const kind of [configMap, secret]) expect(await read.list(kind)).toMatchObject({ why: { reason: 'Failed' } })
    expect(recorded.requests.length - before).toBe(sent)
  })

  test('end when they are cancelled', async () => {
    const stop = new AbortController()
    const { read } = readerOf('admin', { signal: stop.signal })
    stop.abort(new Error('interrupted'))
    await expect(read.get(configMap, 'team-a/a')).rejects.toThrow('interrupted')
  })
})

test('owner references lead to all kinds of a namespace, and to nothing that may not be read', async () => {
  const owner = await admin.get(configMap, 'team-a/a')
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: owner.metadata.uid!, controller: true },
  ]
  for (const kind of [secret, { apiVersion: 'v1', kind: 'ServiceAccount' }])
    await admin.create({ ...kind, metadata: { name: 'owned', namespace: 'team-a', ownerReferences } })
  const edgesOf = async (user: 'ann' | 'admin'): Promise<readonly string[]> => {
    const { read } = readerOf(user)
    const edges = await ownerRelations({ ...configMap, namespace: 'team-a', name: 'a' }).relations(owner, read)
    return edges.map(({ type, from, to }) => `${from.kind}/${from.name} ${type} ${to.kind}/${to.name}`).toSorted()
  }
  expect(await edgesOf('admin')).toEqual([
    'Secret/owned made-from ConfigMap/a',
    'ServiceAccount/owned made-from ConfigMap/a',
  ])
  expect(await edgesOf('ann')).toEqual([])
})
