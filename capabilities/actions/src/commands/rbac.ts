// `fairlead actions rbac`: the roles that people need to see and run actions, ready for kubectl apply.
import type { CommandContext } from '@fairlead/controller'
import { stringifyYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { apiGroup } from '../api.ts'

const rbac = 'rbac.authorization.k8s.io'

const viewLabels = Object.fromEntries(['view', 'edit', 'admin'].map((role) => [`${rbac}/aggregate-to-${role}`, 'true']))

/** Everyone who is known may call the endpoints: what they answer depends on the caller's other rights. */
export const endpointRoles: readonly KubeObject[] = [
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'fairlead:actions-endpoints' },
    rules: [{ nonResourceURLs: ['/api/actions', '/api/actions/*', '/kappnav/*'], verbs: ['get', 'post', 'delete'] }],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'fairlead:actions-endpoints' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'fairlead:actions-endpoints' },
    subjects: [{ apiGroup: rbac, kind: 'Group', name: 'system:authenticated' }],
  },
]

/**
 * Whoever may edit in a namespace may run actions there; whoever may view sees mappings. Jobs are made with the user's
 * rights, too.
 */
export const actionRoles: readonly KubeObject[] = [
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: {
      name: 'fairlead:actions-run',
      labels: { [`${rbac}/aggregate-to-edit`]: 'true', [`${rbac}/aggregate-to-admin`]: 'true' },
    },
    rules: [{ apiGroups: [apiGroup], resources: ['actions'], verbs: ['run'] }],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'fairlead:actions-view', labels: viewLabels },
    rules: [
      { apiGroups: [apiGroup], resources: ['kindactionmappings'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['app.k8s.io'], resources: ['applications'], verbs: ['get', 'list', 'watch'] },
    ],
  },
]

/** Prints the roles. */
export async function run(context: CommandContext): Promise<number> {
  context.out(stringifyYamlDocuments([...endpointRoles, ...actionRoles]))
  return 0
}
