// Controllers have the rights that their service account was given, and say and log which are missing.
import { ApiServer } from '@fairlead/apiserver'
import { Secret } from '@fairlead/client'
import { InformerPool, Manager, createLogger } from '@fairlead/controller'
import { expect, test } from 'vitest'
import { until } from '../../../test/support/until.ts'

test('a reader with the rights of a service account names the missing right of a forbidden kind until it is granted', async () => {
  await using server = await ApiServer.start({ authorization: 'RBAC', controllers: false })
  const admin = server.client()
  await using manager = await Manager.start({ client: admin })
  const account = { namespace: 'default', name: 'reader' }
  const client = manager.as({ serviceAccount: account })
  const logged: unknown[] = []
  const log = await createLogger({
    write: (line) => {
      const { time: _time, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>
      logged.push(fields)
    },
  })
  await using pool = new InformerPool(client, client.clock, log)
  const { informer } = pool.use(Secret)
  expect([await informer.waitForState(), (informer.error as Error).message]).toEqual([
    'Forbidden',
    'secrets is forbidden: User "system:serviceaccount:default:reader" cannot list resource "secrets" in API group "" at the cluster scope',
  ])
  const metadata = { name: 'reader' }
  await admin.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata,
    rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }],
  })
  await admin.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  })
  informer.wake()
  await until('it may be read', () => informer.state === 'Synced')
  expect(logged).toEqual([
    {
      level: 'warn',
      kind: 'Secret',
      code: 'KindForbidden',
      reason:
        'Secret cannot be read: secrets is forbidden: User "system:serviceaccount:default:reader" cannot list resource "secrets" in API group "" at the cluster scope',
      msg: 'Could not list or watch a kind',
    },
    { level: 'info', kind: 'Secret', msg: 'Listed a kind that could not be read before' },
  ])
})
