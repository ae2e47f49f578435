// `fairlead actions rbac`: prints the roles that users need to see and run actions, for kubectl apply.
import type { CommandContext } from '@fairlead/controller/command'
import { stringifyYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { exitCode } from '@fairlead/offline/command-error'
import { apiGroup } from '../api.ts'

const rbac = 'rbac.authorization.k8s.io'

const viewLabels = Object.fromEntries(['view', 'edit', 'admin'].map((role) => [`${rbac}/aggregate-to-${role}`, 'true']))

/** Roles for the HTTP endpoints: every authenticated user may call them, and sees what its other rights allow. */
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
 * Roles for actions: those who may edit in a namespace may run actions there, those who may view see mappings. Jobs are
 * created with the rights of the user as well.
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
export async function run({ out }: Pick<CommandContext, 'out'>): Promise<number> {
  out(stringifyYamlDocuments([...endpointRoles, ...actionRoles]))
  return exitCode.ok
}
