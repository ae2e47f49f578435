// `manager.rights()`: exactly what an operator needs, no more and no less.
import { ApiServer } from '@fairlead/apiserver'
import { ConfigMap, Secret } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { PolicyRule } from '@fairlead/controller'
import { expect, test } from 'vitest'
import { Memcached, memcached, memcachedDefinition } from './support/memcached.ts'

/** Runs an operator through the life of one object; returns the rights that it used. */
async function run(client: Client, admin: Client): Promise<readonly PolicyRule[]> {
  await using manager = await Manager.start({
    client,
    crds: [memcachedDefinition],
    setup: (starting) => {
      starting
        .controller('memcached')
        .for(Memcached)
        .owns(ConfigMap)
        .finalizer('example.com/rights', async ({ key, client: own }) => {
          const { name, namespace } = key
          await own.delete(ConfigMap, { name, namespace: namespace || 'default' })
        })
        .reconcile(async ({ object, client: own, status, events, read }) => {
          await read.list(Secret, { namespace: 'default' })
          const metadata = { name: object.metadata.name, namespace: object.metadata.namespace ?? 'default' }
          await own.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {} }, { owner: object })
          events.normal('Reconciled', 'done', { action: 'Reconcile' })
          await status.apply({ ready: object.spec.size })
        })
    },
  })
  await admin.apply(memcached('a', { size: 3 }))
  await admin.waitFor(Memcached, 'a', ({ status }) => status?.ready === 3)
  await admin.delete(Memcached, 'a')
  await admin.waitForDeletion(Memcached, 'a')
  await manager.stop()
  return manager.rights()
}

test('rights() names what an operator used, and an account with these rights runs it', async () => {
  await using first = await ApiServer.start()
  const rights = await run(first.client(), first.client())
  expect(rights).toEqual([
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      verbs: ['list', 'watch', 'create', 'patch'],
    },
    { apiGroups: ['cache.example.com'], resources: ['memcacheds'], verbs: ['list', 'watch', 'patch'] },
    { apiGroups: ['cache.example.com'], resources: ['memcacheds/status'], verbs: ['patch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
  ])
  await using second = await ApiServer.start({ authorization: 'RBAC' })
  const admin = second.client()
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'operator' } }
  await admin.create({ ...role, kind: 'ClusterRole', rules: rights })
  await admin.create({
    ...role,
    kind: 'ClusterRoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'operator' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'operator' }],
  })
  const groups = ['system:authenticated']
  expect(await run(second.client({ as: { name: 'operator', groups } }), admin)).toEqual(rights)
})
