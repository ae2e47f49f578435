// The bootstrap roles and bindings of every cluster, as Kubernetes 1.35 creates them. Roles of components that do not
// exist here are left out: kubelets, schedulers, proxies, and the service accounts of the real controller manager.
import type { KubeObject } from '@fairlead/kube'
import {
  authenticatedGroup,
  mastersGroup,
  serviceAccountsGroup,
  unauthenticatedGroup,
} from '../../identity/well-known-users.ts'
import { aggregatedRules } from './aggregated-cluster-roles.ts'
import type { AggregatedClusterRole } from './aggregated-cluster-roles.ts'
import type { PolicyRule } from './policy-rule.ts'

const apiVersion = 'rbac.authorization.k8s.io/v1'
const apiGroup = 'rbac.authorization.k8s.io'
const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' }
const bootstrapping = { 'kubernetes.io/bootstrapping': 'rbac-defaults' }

const read = ['get', 'list', 'watch']
const write = ['create', 'delete', 'deletecollection', 'patch', 'update']
const readWrite = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

function rule(verbs: readonly string[], group: string, ...resources: readonly string[]): PolicyRule {
  return { verbs, apiGroups: [group], resources }
}

/** Returns a rule for Events, which two groups serve. */
function events(verbs: readonly string[]): PolicyRule {
  return { verbs, apiGroups: ['', 'events.k8s.io'], resources: ['events'] }
}

function paths(...nonResourceURLs: readonly string[]): PolicyRule {
  return { verbs: ['get'], nonResourceURLs }
}

function clusterRole(
  name: string,
  rules: readonly PolicyRule[],
  labels: Record<string, string> = {},
): AggregatedClusterRole {
  return {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name, labels: { ...bootstrapping, ...labels }, annotations },
    rules,
  }
}

function aggregating(name: string, labels: Record<string, string> = {}): AggregatedClusterRole {
  const matchLabels = { [aggregationLabel(name)]: 'true' }
  return { ...clusterRole(name, [], labels), aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } }
}

function aggregationLabel(role: string): string {
  return `rbac.authorization.k8s.io/aggregate-to-${role}`
}

function clusterRoleBinding(name: string, role: string, ...groups: readonly string[]): KubeObject {
  return {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels: bootstrapping, annotations },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: groups.map((group) => ({ kind: 'Group', apiGroup, name: group })),
  }
}

const viewRules: readonly PolicyRule[] = [
  rule(
    read,
    '',
    'configmaps',
    'endpoints',
    'persistentvolumeclaims',
    'persistentvolumeclaims/status',
    'pods',
    'replicationcontrollers',
    'replicationcontrollers/scale',
    'serviceaccounts',
    'services',
    'services/status',
  ),
  rule(
    read,
    '',
    'bindings',
    'limitranges',
    'namespaces/status',
    'pods/log',
    'pods/status',
    'replicationcontrollers/status',
    'resourcequotas',
    'resourcequotas/status',
  ),
  rule(read, '', 'namespaces'),
  events(read),
  rule(read, 'discovery.k8s.io', 'endpointslices'),
  rule(
    read,
    'apps',
    'controllerrevisions',
    'daemonsets',
    'daemonsets/status',
    'deployments',
    'deployments/scale',
    'deployments/status',
    'replicasets',
    'replicasets/scale',
    'replicasets/status',
    'statefulsets',
    'statefulsets/scale',
    'statefulsets/status',
  ),
  rule(read, 'autoscaling', 'horizontalpodautoscalers', 'horizontalpodautoscalers/status'),
  rule(read, 'batch', 'cronjobs', 'cronjobs/status', 'jobs', 'jobs/status'),
  rule(
    read,
    'extensions',
    'daemonsets',
    'daemonsets/status',
    'deployments',
    'deployments/scale',
    'deployments/status',
    'ingresses',
    'ingresses/status',
    'networkpolicies',
    'replicasets',
    'replicasets/scale',
    'replicasets/status',
    'replicationcontrollers/scale',
  ),
  rule(read, 'policy', 'poddisruptionbudgets', 'poddisruptionbudgets/status'),
  rule(read, 'networking.k8s.io', 'ingresses', 'ingresses/status', 'networkpolicies'),
  rule(read, 'resource.k8s.io', 'resourceclaims', 'resourceclaims/status', 'resourceclaimtemplates'),
]

const editRules: readonly PolicyRule[] = [
  rule(read, '', 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'secrets', 'services/proxy'),
  rule(['impersonate'], '', 'serviceaccounts'),
  rule(write, '', 'pods', 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy'),
  rule(['create'], '', 'pods/eviction'),
  rule(
    write,
    '',
    'configmaps',
    'persistentvolumeclaims',
    'replicationcontrollers',
    'replicationcontrollers/scale',
    'secrets',
    'serviceaccounts',
    'services',
    'services/proxy',
  ),
  rule(['create'], '', 'serviceaccounts/token'),
  events(write),
  rule(
    write,
    'apps',
    'daemonsets',
    'deployments',
    'deployments/rollback',
    'deployments/scale',
    'replicasets',
    'replicasets/scale',
    'statefulsets',
    'statefulsets/scale',
  ),
  rule(write, 'autoscaling', 'horizontalpodautoscalers'),
  rule(write, 'batch', 'cronjobs', 'jobs'),
  rule(
    write,
    'extensions',
    'daemonsets',
    'deployments',
    'deployments/rollback',
    'deployments/scale',
    'ingresses',
    'networkpolicies',
    'replicasets',
    'replicasets/scale',
    'replicationcontrollers/scale',
  ),
  rule(write, 'policy', 'poddisruptionbudgets'),
  rule(write, 'networking.k8s.io', 'ingresses', 'networkpolicies'),
  rule(readWrite, 'coordination.k8s.io', 'leases'),
  rule(write, 'resource.k8s.io', 'resourceclaims', 'resourceclaimtemplates'),
]

const adminRules: readonly PolicyRule[] = [
  rule(['create'], 'authorization.k8s.io', 'localsubjectaccessreviews'),
  rule(readWrite, apiGroup, 'rolebindings', 'roles'),
]

const toAdmin = { [aggregationLabel('admin')]: 'true' }
const toEdit = { [aggregationLabel('edit')]: 'true' }
const toView = { [aggregationLabel('view')]: 'true' }

const health = ['/healthz', '/livez', '/readyz']
const version = ['/version', '/version/']
const delegatedReviews = [
  rule(['create'], 'authentication.k8s.io', 'tokenreviews'),
  rule(['create'], 'authorization.k8s.io', 'subjectaccessreviews'),
]

const clusterRoles: readonly AggregatedClusterRole[] = [
  clusterRole('cluster-admin', [rule(['*'], '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }]),
  clusterRole('system:discovery', [
    paths('/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*', '/readyz', ...version),
  ]),
  clusterRole('system:monitoring', [
    paths('/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', '/metrics/slis', '/readyz', '/readyz/*'),
    rule(['get'], '', 'nodes/metrics'),
  ]),
  clusterRole('system:basic-user', [
    rule(['create'], 'authorization.k8s.io', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews'),
    rule(['create'], 'authentication.k8s.io', 'selfsubjectreviews'),
  ]),
  clusterRole('system:public-info-viewer', [paths(...health, ...version)]),
  clusterRole('system:service-account-issuer-discovery', [
    paths(
      '/.well-known/openid-configuration',
      '/.well-known/openid-configuration/',
      '/openid/v1/jwks',
      '/openid/v1/jwks/',
    ),
  ]),
  clusterRole('system:auth-delegator', delegatedReviews),
  clusterRole('system:aggregate-to-admin', adminRules, toAdmin),
  clusterRole('system:aggregate-to-edit', editRules, toEdit),
  clusterRole('system:aggregate-to-view', viewRules, toView),
]

const aggregates: readonly AggregatedClusterRole[] = [
  aggregating('view', toEdit),
  aggregating('edit', toAdmin),
  aggregating('admin'),
]

/**
 * Returns the ClusterRoles, Roles and bindings of a new cluster, with the rules of aggregated roles filled in, without
 * the fields that the server sets (uid, times). Namespace `kube-system` has one Role, for extension API servers.
 */
export function bootstrapPolicy(): readonly KubeObject[] {
  const roles: AggregatedClusterRole[] = [...clusterRoles]
  // edit aggregates view, and admin aggregates edit: in this order each finds its parts filled in.
  for (const role of aggregates) roles.push({ ...role, rules: aggregatedRules(role, roles) ?? [] })
  return [
    ...roles,
    {
      apiVersion,
      kind: 'Role',
      metadata: {
        name: 'extension-apiserver-authentication-reader',
        namespace: 'kube-system',
        labels: bootstrapping,
        annotations,
      },
      rules: [{ ...rule(read, '', 'configmaps'), resourceNames: ['extension-apiserver-authentication'] }],
    },
    clusterRoleBinding('cluster-admin', 'cluster-admin', mastersGroup),
    clusterRoleBinding('system:monitoring', 'system:monitoring', 'system:monitoring'),
    clusterRoleBinding('system:discovery', 'system:discovery', authenticatedGroup),
    clusterRoleBinding('system:basic-user', 'system:basic-user', authenticatedGroup),
    clusterRoleBinding(
      'system:public-info-viewer',
      'system:public-info-viewer',
      authenticatedGroup,
      unauthenticatedGroup,
    ),
    clusterRoleBinding(
      'system:service-account-issuer-discovery',
      'system:service-account-issuer-discovery',
      serviceAccountsGroup,
    ),
  ]
}
