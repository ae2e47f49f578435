// The objects that the kill loop works with: a kind of parent, a map from ConfigMaps to Secrets, and the rules it
// needs.
import type { KubeObject } from '@fairlead/kube'
import { crd } from '../support/crd.ts'

export const namespace = 'default'
export const outputPrefix = 'made-from-'

/** Everything in the order in which it is applied. */
export function manifests(hookUrl: string): KubeObject[] {
  return [
    crd({ group: 'kill.example.com', kind: 'Bucket', status: true }),
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'kill-map', labels: { 'rbac.fairlead.dev/aggregate-to-metacontroller': 'true' } },
      rules: [
        {
          apiGroups: ['kill.example.com'],
          resources: ['buckets', 'buckets/status', 'buckets/finalizers'],
          verbs: ['get', 'list', 'watch', 'patch', 'update'],
        },
        { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
      ],
    },
    {
      apiVersion: 'metacontroller.k8s.io/v1alpha1',
      kind: 'MapController',
      metadata: { name: 'kill' },
      spec: {
        parentResource: { apiVersion: 'kill.example.com/v1', resource: 'buckets' },
        inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
        outputResources: [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' } }],
        hooks: { map: { webhook: { url: hookUrl } } },
      },
    },
    {
      apiVersion: 'kill.example.com/v1',
      kind: 'Bucket',
      metadata: { name: 'all', namespace },
      spec: { selector: { matchLabels: { kill: 'input' } } },
    },
  ]
}
