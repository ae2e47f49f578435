// Acting as a service account, and reading shared caches on someone's behalf.
import { ApiServer } from '@fairlead/apiserver'
import { ConfigMap, Secret, ServiceAccount } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { Reader } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { describeClusters, embeddedClusters } from '../../../test/support/clusters.ts'
import { recorded } from '../../../test/support/recorded-client.ts'
import { until } from '../../../test/support/until.ts'

interface Account {
  readonly namespace: string
  readonly name: string
}

const robot: Account = { namespace: 'default', name: 'robot' }

/** Rights on the core resources of the account's namespace. */
async function grant(client: Client, account: Account, resources: string[], verbs: string[]): Promise<void> {
  const rbac = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: { namespace: account.namespace, name: 'reader' },
  }
  await client.create({ ...rbac, kind: 'Role', rules: [{ apiGroups: [''], resources, verbs }] } as KubeObject)
  await client.create({
    ...rbac,
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  } as KubeObject)
}

const settingsIn = (namespace: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name: 'settings' },
})
const settings = settingsIn('default')

describeClusters(({ open }) => {
  test('manager.as acts as a service account with its rights and no others', async () => {
    await using cluster = await open({ authorization: 'RBAC', controllers: false })
    const { client, outside, namespace } = cluster
    const account = { namespace, name: 'robot' }
    await outside.create<ServiceAccount>({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account })
    await grant(outside, account, ['configmaps'], ['get'])
    await outside.create(settingsIn(namespace))
    await using manager = await Manager.start({ client })
    const acting = manager.as({ serviceAccount: account })
    expect((await acting.get(ConfigMap, `${namespace}/settings`)).metadata.name).toBe('settings')
    await expect(acting.list(Secret)).rejects.toThrow(
      `secrets is forbidden: User "system:serviceaccount:${namespace}:robot" cannot list resource "secrets" in API group ""`,
    )
    expect((await client.get(ConfigMap, `${namespace}/settings`)).metadata.name).toBe('settings')
  })
})

test('service account tokens are renewed before they expire and when they are refused', async () => {
  await using cluster = await embeddedClusters[1]!.open({ authorization: 'RBAC', controllers: false })
  const { client: https, outside: admin } = cluster
  await admin.create<ServiceAccount>({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: robot })
  await grant(admin, robot, ['configmaps'], ['get'])
  await admin.create(settings)
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
})

test("manager.onBehalfOf reads shared caches with the subject's rights, cached for ten seconds or until RBAC changes", async () => {
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
  await grant(admin, robot, ['configmaps'], ['get'])
  await expect
    .poll(() => restricted.get(ConfigMap, 'default/settings').then((found) => found?.metadata.name, String))
    .toBe('settings')
  await expect(restricted.list(ConfigMap, { namespace: 'default' })).rejects.toThrow(
    'cannot list resource "configmaps"',
  )
})
