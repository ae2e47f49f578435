// Backup and restore of a running server, over its route.
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ApiServer, backupPath, memory, readBackup } from '@fairlead/apiserver'
import type { ApiServerOptions, UserInfo } from '@fairlead/apiserver'
import { CustomResourceDefinition, HttpsTransport, parseKubeconfig } from '@fairlead/client'
import { isConditionTrue } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { crd } from '../../../../test/support/crd.ts'

const masters: UserInfo = { name: 'admin', groups: ['system:masters'] }
const ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap' }

const configMap = (name: string, data: Record<string, string> = {}, namespace = 'default'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
})

const widgets: KubeObject = crd({ group: 'example.com', kind: 'Widget', schema: { type: 'object' } })

function start(options: ApiServerOptions = {}): Promise<ApiServer> {
  return ApiServer.start({ storage: memory(), authorization: 'RBAC', ...options })
}

/** Resolves when the controllers have created the default objects of every namespace. */
async function settled(server: ApiServer): Promise<void> {
  const admin = server.client()
  const { items } = await admin.list({ apiVersion: 'v1', kind: 'Namespace' })
  for (const { metadata } of items) {
    await admin.waitFor({ apiVersion: 'v1', kind: 'ServiceAccount' }, `${metadata.name}/default`, () => true)
    await admin.waitFor(ConfigMap, `${metadata.name}/kube-root-ca.crt`, () => true)
  }
}

async function backupOf(server: ApiServer): Promise<Uint8Array> {
  const { status, bytes } = await server.inject({ method: 'GET', path: backupPath, user: masters })
  expect(status).toBe(200)
  return bytes
}

/** Returns the lines of a restore, or the code and message of its Status. */
async function restore(server: ApiServer, body: Uint8Array, query = ''): Promise<JsonValue> {
  const answer = await server.inject({ method: 'POST', path: `${backupPath}${query}`, user: masters, body })
  if (answer.status !== 200) return { code: answer.status, message: (answer.json() as { message: string }).message }
  return answer.body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonValue)
}

async function identities(server: ApiServer): Promise<string[]> {
  const found: string[] = []
  for await (const { resource, key, object } of server.store.snapshot()) {
    const { uid, creationTimestamp } = object['metadata'] as { uid: string; creationTimestamp: string }
    found.push(`${resource} ${key} ${uid} ${creationTimestamp}`)
  }
  return found
}

async function* oneByOne(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}

test('a restore into a new server keeps uid and creationTimestamp of every object', async () => {
  await using source = await start()
  const admin = source.client()
  await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
  await admin.create(configMap('a', { k: 'v' }, 'team'))
  await admin.create(widgets)
  await admin.waitFor(CustomResourceDefinition, 'widgets.example.com', ({ status }) =>
    isConditionTrue(status?.conditions, 'Established'),
  )
  admin.discovery.invalidate()
  const owner = await admin.create<KubeObject>({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'owner', namespace: 'team' },
  })
  await admin.create({
    ...configMap('owned', {}, 'team'),
    metadata: {
      name: 'owned',
      namespace: 'team',
      ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'owner', uid: owner.metadata.uid! }],
    },
  })
  await settled(source)
  const bytes = await backupOf(source)
  const { entries, header } = await readBackup(oneByOne(bytes))

  await using target = await start()
  await settled(target)
  expect(await restore(target, bytes, '?dryRun=true')).toEqual([{ plan: expect.objectContaining({ delete: 0 }) }])
  expect(await target.client().find(ConfigMap, 'team/a')).toBeUndefined()
  expect(await restore(target, bytes)).toEqual([
    { plan: { create: expect.any(Number), replace: expect.any(Number), keep: expect.any(Number), delete: 0 } },
    { restored: { objects: entries.length, revision: target.store.revision } },
  ])
  expect(target.store.revision).toBeGreaterThan(header.revision)
  expect(new Set(await identities(target))).toEqual(new Set(await identities(source)))
  // The controllers of the target continue: the definition is served, the garbage collector knows the owner.
  const restored = target.client()
  await restored.waitFor({ apiVersion: 'example.com/v1', kind: 'Widget' }, 'team/owner', () => true)
  await restored.delete({ apiVersion: 'example.com/v1', kind: 'Widget' }, 'team/owner')
  await restored.waitForDeletion(ConfigMap, 'team/owned')
})

test('a restore into a server with objects of users is rejected with its plan, and runs with force', async () => {
  await using server = await start({ controllers: false })
  const admin = server.client()
  const before = await admin.create(configMap('same'))
  await admin.create(configMap('gone'))
  const changed = await admin.create(configMap('changed', { k: 'old' }))
  const bytes = await backupOf(server)
  await admin.delete(ConfigMap, 'default/gone')
  await admin.create(configMap('gone', { other: 'object' }))
  await admin.update({ ...changed, data: { k: 'new' } })
  await admin.create(configMap('later'))

  const refused = await restore(server, bytes)
  expect(refused).toEqual({
    code: 409,
    message:
      'The server is not empty: it holds configmaps default/changed, configmaps default/gone, configmaps default/later and 1 more. ' +
      'Restoring would create 0, replace 2 and delete 1 objects; force it to do that.',
  })
  expect((await admin.get(ConfigMap, 'default/changed'))['data']).toEqual({ k: 'new' })

  const events: string[] = []
  using _watch = server.store.watch('configmaps.', server.store.revision, ({ type, entry }) =>
    events.push(`${type} ${entry.key}`),
  )
  expect(await restore(server, bytes, '?force=true')).toMatchObject([
    { plan: { create: 0, replace: 2, delete: 1 } },
    { restored: {} },
  ])
  expect(events).toEqual(['delete default/later', 'put default/changed', 'delete default/gone', 'put default/gone'])
  const found = (await admin.list(ConfigMap, { namespace: 'default' })).items
  expect(found.map(({ metadata, data }) => [metadata.name, data])).toEqual([
    ['changed', { k: 'old' }],
    ['gone', undefined],
    ['same', undefined],
  ])
  expect(found.find(({ metadata }) => metadata.name === 'same')).toEqual(before)
})

test('a restore of an invalid backup changes nothing', async () => {
  await using server = await start({ controllers: false })
  const sound = await backupOf(server)
  const { revision } = server.store
  for (const [body, message] of [
    [sound.subarray(0, sound.length - 30), /^This backup is not complete: .* Nothing was restored\./],
    [Buffer.from('kind: List\n'), /^This is not a backup: .* Nothing was restored\./],
    [
      gzipSync('{"product":"fairlead","format":99}\n'),
      /^This backup was written by a newer Fairlead: it has format 99 and this version reads up to 1\. Nothing was restored\. Use that version\.$/,
    ],
  ] as const)
    expect(await restore(server, body, '?force=true')).toEqual({ code: 400, message: expect.stringMatching(message) })
  expect(server.store.revision).toBe(revision)
})

test('a restore keeps or recreates the objects of the server itself, whatever the backup lacks', async () => {
  await using old = await ApiServer.start({ storage: memory(), controllers: false })
  await old.client().create(configMap('a'))
  const bytes = await backupOf(old)
  let restores = 0
  await using server = await start({ onRestored: async () => void restores++ })
  await settled(server)
  const admin = server.client({ manager: 'fairlead-up' })
  await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fairlead-system' } })
  await admin.create(configMap('marker', { k: 'v' }, 'fairlead-system'))
  expect(await restore(server, bytes)).toMatchObject([{ plan: { delete: 0 } }, { restored: {} }])
  expect(restores).toBe(1)
  expect(await admin.find(ConfigMap, 'fairlead-system/marker')).toBeDefined()
  expect(await admin.find({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }, 'admin')).toBeDefined()
})

test('backup and restore require an administrator: permission for the path is not enough', async () => {
  await using server = await start()
  const admin = server.client()
  const rbac = 'rbac.authorization.k8s.io/v1'
  for (const [name, rules] of [
    ['paths', [{ nonResourceURLs: ['*'], verbs: ['*'] }]],
    [
      'everything',
      [
        { nonResourceURLs: ['*'], verbs: ['*'] },
        { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      ],
    ],
  ] as const) {
    await admin.create({ apiVersion: rbac, kind: 'ClusterRole', metadata: { name }, rules })
    await admin.create({
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
    })
  }
  const status = async (method: string, user: string): Promise<number> =>
    (await server.inject({ method, path: backupPath, user: { name: user, groups: [] } })).status
  expect(await Promise.all([status('GET', 'nobody'), status('GET', 'paths'), status('POST', 'paths')])).toEqual([
    403, 403, 403,
  ])
  expect(await Promise.all([status('GET', 'everything'), status('PUT', 'everything')])).toEqual([200, 405])
})

test('a backup larger than the body limit is downloaded and restored over HTTPS', async () => {
  await using source = await start({ controllers: false })
  const noise = (n: number): string =>
    Array.from({ length: 16_000 }, (_, i) =>
      ((Math.imul(n * 16_000 + i, 2654435761) >>> 7) % 1_000_000).toString(36),
    ).join('')
  await Promise.all(
    Array.from({ length: 100 }, (_, n) => source.client().create(configMap(`c${n}`, { noise: noise(n) }))),
  )
  await using target = await start({ controllers: false })
  const listening = async (server: ApiServer): Promise<HttpsTransport> =>
    new HttpsTransport(await parseKubeconfig((await server.listen()).kubeconfig).connection())
  await using from = await listening(source)
  await using to = await listening(target)
  const fetched = await from.exchange({ method: 'GET', path: backupPath })
  const bytes = Buffer.concat(await Array.fromAsync(fetched.body))
  expect(bytes.length).toBeGreaterThan(3 * 1024 * 1024)

  const send = async (...pieces: readonly Uint8Array[]): Promise<[number, string]> => {
    const { status, body } = await to.exchange({ method: 'POST', path: backupPath, body: oneByOne(...pieces) })
    return [status, Buffer.concat(await Array.fromAsync(body)).toString()]
  }
  expect(await send(Buffer.from('not a backup'), ...Array<Buffer>(50).fill(bytes))).toEqual([
    400,
    expect.stringContaining('This is not a backup'),
  ])
  const [status, text] = await send(bytes.subarray(0, 100_000), bytes.subarray(100_000))
  expect([status, text.split('\n').length]).toEqual([200, 3])
  expect(text).toContain('"restored"')
  expect((await target.client().list(ConfigMap, { namespace: 'default' })).items).toHaveLength(100)
})
