// The sketch of specs/foundation.md §5, as it stands there.
import { ApiServer } from '@fairlead/apiserver'
import { Deployment } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { Controller } from '@fairlead/controller'
import { condition, isConditionTrue } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { Memcached, memcached, memcachedDefinition } from './support/memcached.ts'

function deploymentFor(owner: Memcached): Deployment {
  const labels = { app: owner.metadata.name! }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: owner.metadata.name, namespace: owner.metadata.namespace },
    spec: {
      replicas: owner.spec.size,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'memcached', image: 'memcached:1.6' }] } },
    },
  }
}

const isAvailable = (deployment: Deployment): boolean => isConditionTrue(deployment.status?.conditions, 'Available')

export const operator = (manager: Manager): Controller<Memcached> =>
  manager
    .controller('memcached')
    .for(Memcached)
    .owns(Deployment)
    .reconcile(async ({ object: memcached, client, status }) => {
      const deployment = await client.apply(deploymentFor(memcached), { owner: memcached })
      await status.apply({
        ready: deployment.status?.readyReplicas ?? 0,
        conditions: [condition('Ready', isAvailable(deployment))],
      })
    })

test('scales the deployment with the spec', async () => {
  await using server = await ApiServer.start()
  await using manager = await Manager.start({ client: server.client(), setup: operator, crds: [memcachedDefinition] })
  const client = server.client()
  await client.apply(memcached('cache', { size: 3 }))
  await client.waitFor(Deployment, 'default/cache', (d) => d.spec.replicas === 3)
  await client.apply(memcached('cache', { size: 5 }))
  await client.waitFor(Deployment, 'default/cache', (d) => d.spec.replicas === 5)
  expect(manager.leads).toBe(true)
})
