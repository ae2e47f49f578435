// The roles that users and the server need to see and run actions.
import type { KubeObject } from '@fairlead/kube'
import { apiGroup } from '../api.ts'
import { kappnavNamespace } from '../engine/runs/settings.ts'

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
 * Roles for actions: those who may edit in a namespace may run actions there, those who may view see mappings. Jobs of
 * maps that name no account are created with the rights of the user as well.
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

/**
 * The right of the server to create the Jobs of maps that name an account (`actions.fairlead.dev/run-as`), and to read
 * these Jobs for the users on whose behalf it created them: in kAppNav's namespace alone.
 */
export const delegationRoles: readonly KubeObject[] = [
  {
    apiVersion: `${rbac}/v1`,
    kind: 'Role',
    metadata: { name: 'fairlead:actions-runs', namespace: kappnavNamespace },
    rules: [
      { apiGroups: ['batch'], resources: ['jobs'], verbs: ['create', 'get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
    ],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'fairlead:actions-runs', namespace: kappnavNamespace },
    roleRef: { apiGroup: rbac, kind: 'Role', name: 'fairlead:actions-runs' },
    subjects: [{ kind: 'ServiceAccount', name: 'fairlead-actions', namespace: 'fairlead-system' }],
  },
]
