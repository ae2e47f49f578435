// The kinds that every cluster serves, for what is decided without one.
import type { ResolvedResource } from '../engine/resource.ts'
import { parseApiVersion } from '@fairlead/kube'

const namespaced: Readonly<Record<string, string>> = {
  v1: 'ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount',
  'apps/v1': 'ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet',
  'autoscaling/v2': 'HorizontalPodAutoscaler',
  'batch/v1': 'CronJob Job',
  'coordination.k8s.io/v1': 'Lease',
  'discovery.k8s.io/v1': 'EndpointSlice',
  'events.k8s.io/v1': 'Event',
  'networking.k8s.io/v1': 'Ingress NetworkPolicy',
  'policy/v1': 'PodDisruptionBudget',
  'rbac.authorization.k8s.io/v1': 'Role RoleBinding',
  'storage.k8s.io/v1': 'CSIStorageCapacity',
}

const clusterScoped: Readonly<Record<string, string>> = {
  v1: 'Namespace Node PersistentVolume',
  'admissionregistration.k8s.io/v1':
    'MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/v1': 'CustomResourceDefinition',
  'apiregistration.k8s.io/v1': 'APIService',
  'networking.k8s.io/v1': 'IPAddress IngressClass ServiceCIDR',
  'node.k8s.io/v1': 'RuntimeClass',
  'rbac.authorization.k8s.io/v1': 'ClusterRole ClusterRoleBinding',
  'scheduling.k8s.io/v1': 'PriorityClass',
  'storage.k8s.io/v1': 'CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass',
}

/** All of them. */
export const wellKnownKinds: readonly ResolvedResource[] = [
  ...kindsOf(namespaced, true),
  ...kindsOf(clusterScoped, false),
]

function kindsOf(table: Readonly<Record<string, string>>, isNamespaced: boolean): ResolvedResource[] {
  return Object.entries(table).flatMap(([apiVersion, kinds]) =>
    kinds.split(' ').map((kind) => ({
      apiVersion,
      group: parseApiVersion(apiVersion).group,
      kind,
      plural: pluralOf(kind),
      namespaced: isNamespaced,
    })),
  )
}

/** The plural that Kubernetes would choose for a kind. */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase()
  if (name === 'endpoints') return name
  if (/(s|x|z|ch|sh)$/.test(name)) return `${name}es`
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`
}
