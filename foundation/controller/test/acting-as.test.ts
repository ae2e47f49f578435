// Acting as a service account, and reading shared caches on someone's behalf.
import { ApiServer } from '@fairlead/apiserver'
import { ConfigMap, Secret, ServiceAccount } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { Reader } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { recorded } from './support/recorded-client.ts'
import { transports } from './support/transports.ts'
import { until } from './support/until.ts'

const robot = { namespace: 'default', name: 'robot' }

async function grant(client: Client, name: string, resources: string[], verbs: string[]): Promise<void> {
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } }
  await client.create({ ...rbac, kind: 'ClusterRole', rules: [{ apiGroups: [''], resources, verbs }] } as KubeObject)
  await client.create({
    ...rbac,
    kind: 'ClusterRoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', ...robot }],
  } as KubeObject)
}

const settings: ConfigMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'default', name: 'settings' },
}

describe.each(transports)('as a service account ($name)', ({ open }) => {
  test('a manager has the rights of the account and no others', async () => {
    await using server = await ApiServer.start({ authorization: 'RBAC', controllers: false })
    const admin = server.client()
    await admin.create<ServiceAccount>({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: robot })
    await grant(admin, 'reader', ['configmaps'], ['get'])
    await admin.create(settings)
    const { client, close } = await open(server)
    await using manager = await Manager.start({ client })
    const acting = manager.as({ serviceAccount: robot })
    expect((await acting.get(ConfigMap, 'default/settings')).metadata.name).toBe('settings')
    await expect(acting.list(Secret)).rejects.toThrow(
      'secrets is forbidden: User "system:serviceaccount:default:robot" cannot list resource "secrets" in API group ""',
    )
    expect((await client.get(ConfigMap, 'default/settings')).metadata.name).toBe('settings')
    await manager.stop()
    await close()
  })
})

test('tokens are renewed before they run out, and when they are refused', async () => {
  await using server = await ApiServer.start({ authorization: 'RBAC', controllers: false })
  const admin = server.client()
  await admin.create<ServiceAccount>({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: robot })
  await grant(admin, 'reader', ['configmaps'], ['get'])
  await admin.create(settings)
  const { client: https, close } = await transports[1]!.open(server)
  const clock = new FakeClock(Date.now())
  const { client, transport } = recorded(https, clock)
  // The recording transport asks for tokens; the bare one sends what they are for.
  Object.assign(transport, { withLogin: https.transport.withLogin!.bind(https.transport) })
  await using manager = await Manager.start({ client, clock })
  const acting = manager.as({ serviceAccount: robot })
  const asked = (): number => transport.requests.filter((request) => request.endsWith('/robot/token')).length
  await acting.get(ConfigMap, 'default/settings')
  await manager.as({ serviceAccount: robot }).get(ConfigMap, 'default/settings')
  expect(asked()).toBe(1)
  await clock.advance(47 * 60_000)
  await acting.get(ConfigMap, 'default/settings')
  expect(asked()).toBe(1)
  await clock.advance(60_000)
  await acting.get(ConfigMap, 'default/settings')
  expect(asked()).toBe(2)
  // An account that was made anew is another one: its old tokens are worth nothing.
  await admin.delete(ServiceAccount, 'default/robot')
  await admin.create<ServiceAccount>({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: robot })
  await acting.get(ConfigMap, 'default/settings')
  expect(asked()).toBe(3)
  await manager.stop()
  await close()
})

test("shared caches are read on behalf of someone by that one's rights, which count anew after ten seconds or a change", async () => {
  await using server = await ApiServer.start({ authorization: 'RBAC', controllers: false })
  const admin = server.client()
  await admin.create(settings)
  const clock = new FakeClock()
  const { client, transport } = recorded(admin, clock)
  await using manager = await Manager.start({ client, clock })
  const reviews = (): number => transport.requests.filter((request) => request.endsWith('/subjectaccessreviews')).length
  let reader: Reader | undefined
  manager
    .controller('reading')
    .for(ConfigMap)
    .reconcile(({ read }) => {
      reader = read
    })
  const read = await until('a reconcile has run', () => reader)
  const restricted = manager.onBehalfOf({ serviceAccount: robot }, read)
  const refused =
    'configmaps "settings" is forbidden: User "system:serviceaccount:default:robot" cannot get resource "configmaps" in API group "" in the namespace "default"'
  await expect(restricted.get(ConfigMap, 'default/settings')).rejects.toThrow(refused)
  await until('the rights are watched', () => manager.informers.syncing().length === 0)
  await expect(restricted.get(ConfigMap, 'default/settings')).rejects.toThrow(refused)
  const before = reviews()
  await expect(restricted.get(ConfigMap, 'default/settings')).rejects.toThrow(refused)
  expect(reviews()).toBe(before)
  await clock.advance(10_000)
  await expect(restricted.get(ConfigMap, 'default/settings')).rejects.toThrow(refused)
  expect(reviews()).toBe(before + 1)
  await grant(admin, 'reader', ['configmaps'], ['get'])
  await expect
    .poll(() => restricted.get(ConfigMap, 'default/settings').then((found) => found?.metadata.name, String))
    .toBe('settings')
  await expect(restricted.list(ConfigMap, { namespace: 'default' })).rejects.toThrow(
    'cannot list resource "configmaps"',
  )
})
