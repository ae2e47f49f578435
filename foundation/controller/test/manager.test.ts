// The sketch of specs/foundation.md §5, as it stands there.
import { ApiServer } from '@fairlead/apiserver'
import { Deployment } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { Controller } from '@fairlead/controller'
import { condition, isConditionTrue } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { Memcached, memcached, memcachedDefinition } from './support/memcached.ts'
import { recorded } from '../../../test/support/recorded-client.ts'

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

test('definitions count as installed when their kinds can be listed, which a real server may not allow at once', async () => {
  await using server = await ApiServer.start({ controllers: ['crd'] })
  const { client, transport } = recorded(server.client())
  const path = '/apis/cache.example.com/v1alpha1/memcacheds'
  const refusals = [404, 503, 404]
  transport.instead = (request) => {
    const status = request.path === path ? refusals.shift() : undefined
    return status === undefined ? undefined : { status, headers: {}, body: 'not yet', warnings: [] }
  }
  await installDefinitions(client, [memcachedDefinition])
  expect(transport.take().filter((request) => request === `GET ${path}`)).toHaveLength(4)
  transport.instead = (request) =>
    request.path === path ? { status: 404, headers: {}, body: 'never', warnings: [] } : undefined
  await expect(installDefinitions(client, [memcachedDefinition], { timeout: 50 })).rejects.toMatchObject({
    code: 'WaitTimeout',
  })
})
