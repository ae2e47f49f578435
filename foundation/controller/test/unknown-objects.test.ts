// Nothing is concluded from a cache that is not synced (design decision 7).
import { ApiServer } from '@fairlead/apiserver'
import { ConfigMap, Secret } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import { ownerReferenceTo } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/until.ts'

const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'owner' } }

/** A server with an owner and an object that it controls, and a user who may do what `rules` say. */
async function clusterWith(rules: readonly object[]): Promise<ApiServer> {
  const server = await ApiServer.start({ authorization: 'RBAC', controllers: false })
  const admin = server.client()
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'operator' } }
  await admin.create({ ...role, kind: 'ClusterRole', rules })
  await admin.create({
    ...role,
    kind: 'ClusterRoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'operator' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'operator' }],
  })
  const controller = ownerReferenceTo(await admin.create(owner), { controller: true })
  const metadata = { namespace: 'default', name: 'owned', ownerReferences: [controller] }
  await admin.create({ apiVersion: 'v1', kind: 'Secret', metadata })
  return server
}

const secretRights = { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }

test('an owner whose kind is forbidden is not taken for deleted when an owned object changes', async () => {
  await using server = await clusterWith([secretRights])
  const calls: string[] = []
  await using manager = await Manager.start({
    client: server.client({ as: { name: 'operator', groups: [] } }),
    setup: (starting) => {
      starting
        .controller('owners')
        .for(ConfigMap)
        .owns(Secret)
        .onDeleted(({ key }) => void calls.push(`deleted ${key.name}`))
        .reconcile(({ key }) => void calls.push(`reconciled ${key.name}`))
    },
  })
  const reconciles = async (): Promise<string> => manager.metrics.text()
  await until('the owner was enqueued', () => manager.informers.peek(Secret)?.read().known)
  for (let text = ''; !/reconcile_total\{controller="owners",result="(success|error)"\} [1-9]/.test(text);)
    text = await reconciles()
  expect(calls).toEqual([])
})

describe('an informer', () => {
  test('whose kind is forbidden returns unknown with the reason, and no objects', async () => {
    await using server = await clusterWith([])
    await using manager = await Manager.start({ client: server.client({ as: { name: 'operator', groups: [] } }) })
    using use = manager.use(Secret)
    await use.informer.waitForState()
    const read = use.informer.read()
    expect(read.known ? 'known' : [read.reason.code, read.reason.message]).toEqual([
      'KindForbidden',
      'Secret cannot be read: secrets is forbidden: User "operator" cannot list resource "secrets" in API group "" at the cluster scope',
    ])
  })

  test('that is synced returns its objects, and undefined for a missing one', async () => {
    await using server = await clusterWith([secretRights])
    await using manager = await Manager.start({ client: server.client({ as: { name: 'operator', groups: [] } }) })
    using use = manager.use(Secret)
    await use.informer.waitForState()
    const read = use.informer.read()
    expect(read.known && [[...read.objects.keys()], read.objects.get('default/none')]).toEqual([
      ['default/owned'],
      undefined,
    ])
  })
})
