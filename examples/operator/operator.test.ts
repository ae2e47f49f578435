// The operator on the embedded API server: what its users see, not which calls it makes.
import { expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { Deployment } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import { isConditionTrue } from '@fairlead/kube'
import { crd } from './crd.ts'
import { Memcached, operator } from './operator.ts'

const memcached = (name: string, spec: Memcached['spec']): Memcached => ({
  apiVersion: 'cache.example.com/v1alpha1',
  kind: 'Memcached',
  metadata: { name, namespace: 'default' },
  spec,
})

test('scales the deployment with the spec, reports what is ready, and leaves nothing behind', async () => {
  await using server = await ApiServer.start()
  await using _manager = await Manager.start({ client: server.client(), setup: operator, crds: [crd] })
  const client = server.client()

  await client.apply(memcached('cache', { size: 3 }))
  await client.waitFor(Deployment, 'default/cache', (deployment) => deployment.spec.replicas === 3)
  await client.apply(memcached('cache', { size: 5 }))
  await client.waitFor(Deployment, 'default/cache', (deployment) => deployment.spec.replicas === 5)

  // Nothing runs pods here, so the test says what a kubelet would.
  await client.patch(
    Deployment,
    'default/cache',
    { merge: { status: { replicas: 5, readyReplicas: 5 } } },
    { subresource: 'status' },
  )
  const ready = await client.waitFor(Memcached, 'default/cache', (object) =>
    isConditionTrue((object.status as { conditions?: never })?.conditions, 'Ready'),
  )
  expect(ready.status).toMatchObject({
    ready: 5,
    observedGeneration: 2,
    conditions: [{ type: 'Ready', status: 'True', message: '5 of 5 replicas are ready' }],
  })

  await client.delete(Memcached, 'default/cache')
  await client.waitForDeletion(Deployment, 'default/cache')
})
