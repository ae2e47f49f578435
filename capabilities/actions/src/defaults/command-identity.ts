// The service account that the commands of the default maps run as, and its rights.
import type { KubeObject } from '@fairlead/kube'
import { kappnavNamespace } from '../engine/runs/settings.ts'

const rbac = 'rbac.authorization.k8s.io'
const roleName = 'fairlead:actions-commands'

/** Name of the account, in kAppNav's namespace. */
export const commandAccount = 'kappnav-sa'

/** The account, and the right to restart and scale the kinds of the default maps in all namespaces. */
export const commandIdentity: readonly KubeObject[] = [
  {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    // The label is a field that a manager owns: an object without any looks like one of the user's to a restore.
    metadata: {
      name: commandAccount,
      namespace: kappnavNamespace,
      labels: { 'app.kubernetes.io/managed-by': 'fairlead' },
    },
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: roleName },
    rules: [
      { apiGroups: ['apps'], resources: ['deployments', 'statefulsets'], verbs: ['get', 'patch'] },
      {
        apiGroups: ['apps'],
        resources: ['deployments/scale', 'statefulsets/scale'],
        verbs: ['get', 'patch', 'update'],
      },
    ],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: roleName },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: roleName },
    subjects: [{ kind: 'ServiceAccount', name: commandAccount, namespace: kappnavNamespace }],
  },
]
