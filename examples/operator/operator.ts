// An operator in forty lines: every Memcached gets a Deployment of its size, and says how many of its replicas are
// ready.
import { Deployment, kind } from '@fairlead/client'
import type { Manager } from '@fairlead/controller'
import { condition } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'

export interface Memcached extends KubeObject {
  readonly spec: { readonly size: number }
  readonly status?: { readonly ready?: number }
}

export const Memcached = kind<Memcached>('cache.example.com/v1alpha1', 'Memcached')

export const operator = (manager: Manager) =>
  manager
    .controller('memcached')
    .for(Memcached)
    .owns(Deployment)
    .reconcile(async ({ object: memcached, client, status }) => {
      const deployment = await client.apply(deploymentFor(memcached), { owner: memcached })
      const ready = deployment.status?.readyReplicas ?? 0
      const isComplete = ready === memcached.spec.size
      const message = `${ready} of ${memcached.spec.size} replicas are ready`
      await status.apply({
        ready,
        conditions: [
          condition('Ready', isComplete ? 'True' : 'False', { reason: isComplete ? 'Complete' : 'Scaling', message }),
        ],
      })
    })

function deploymentFor({ metadata: { name, namespace }, spec: { size } }: Memcached): Deployment {
  const labels = { app: `memcached-${name}` }
  const containers = [{ name: 'memcached', image: 'memcached:1.6', ports: [{ containerPort: 11211 }] }]
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: name!, namespace: namespace! },
    spec: {
      replicas: size,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  }
}
