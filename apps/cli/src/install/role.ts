// The forms of RBAC objects.
import type { PolicyRule } from '@fairlead/controller'
import type { KubeObject, ObjectMeta } from '@fairlead/kube'

const apiGroup = 'rbac.authorization.k8s.io'
const apiVersion = `${apiGroup}/v1`

/** The service account that a binding names. */
export interface Subject {
  readonly name: string
  readonly namespace: string
}

/** Returns a ClusterRole, or a Role when the metadata has a namespace. */
export function role(metadata: ObjectMeta, rules: readonly PolicyRule[]): KubeObject {
  const kind = metadata.namespace === undefined ? 'ClusterRole' : 'Role'
  return { apiVersion, kind, metadata, rules: [...rules] } as KubeObject
}

/** Returns a ClusterRole that collects the rules of all ClusterRoles with one of the labels. */
export function aggregatedRole(metadata: ObjectMeta, labels: readonly string[]): KubeObject {
  const clusterRoleSelectors = labels.map((label) => ({ matchLabels: { [label]: 'true' } }))
  return { apiVersion, kind: 'ClusterRole', metadata, aggregationRule: { clusterRoleSelectors } } as KubeObject
}

/** Returns the binding of the role of the same name, in the namespace of the metadata where it has one. */
export function binding(metadata: ObjectMeta, { name, namespace }: Subject): KubeObject {
  const isLocal = metadata.namespace !== undefined
  return {
    apiVersion,
    kind: isLocal ? 'RoleBinding' : 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup, kind: isLocal ? 'Role' : 'ClusterRole', name: metadata.name! },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  } as KubeObject
}
