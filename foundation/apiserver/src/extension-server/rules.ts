// The RBAC objects of an extension API server, besides the permissions of its storages: data for charts and for manual
// installation.
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import { authenticationConfigMap } from './front-proxy-settings.ts'

const apiVersion = 'rbac.authorization.k8s.io/v1'
const apiGroup = 'rbac.authorization.k8s.io'

/** Options of {@link extensionServerRules}. */
export interface ExtensionServerRulesOptions {
  /** The service account of the server. */
  readonly serviceAccount: ObjectKey
  /** Names of its APIServices, `v1.notes.example.com`. */
  readonly apiServices: readonly string[]
  /** The Secret with its certificates; in memory when left out. */
  readonly certificateSecret?: ObjectKey
  /**
   * False where something else creates the APIServices: a server that is stopping then cannot register them again while
   * they are being uninstalled. True when left out.
   */
  readonly createsApiServices?: boolean
}

/**
 * Returns roles and bindings, named after the service account: for reviews (`system:auth-delegator`), the
 * authentication settings (`extension-apiserver-authentication-reader`), its own APIServices, namespaces, and its
 * Secret. `create` cannot be restricted by name.
 */
export function extensionServerRules({
  serviceAccount,
  apiServices,
  certificateSecret,
  createsApiServices = true,
}: ExtensionServerRulesOptions): readonly KubeObject[] {
  const { name, namespace } = serviceAccount
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  const id = `${namespace}:${name}`
  const bound = (role: string, of: string, kind = 'ClusterRole', place?: string): KubeObject => ({
    apiVersion,
    kind: place === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name: role, ...(place === undefined ? {} : { namespace: place }) },
    roleRef: { apiGroup, kind, name: of },
    subjects,
  })
  const own = {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name: `${id}:aggregated-server` },
    rules: [
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
      ...(createsApiServices
        ? [{ apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: ['create'] }]
        : []),
      {
        apiGroups: ['apiregistration.k8s.io'],
        resources: ['apiservices'],
        resourceNames: [...apiServices],
        verbs: ['get', 'list', 'watch', 'patch'],
      },
    ],
  }
  return [
    own,
    bound(`${id}:aggregated-server`, `${id}:aggregated-server`),
    bound(`${id}:auth-delegator`, 'system:auth-delegator'),
    bound(
      `${id}:authentication-reader`,
      'extension-apiserver-authentication-reader',
      'Role',
      authenticationConfigMap.namespace,
    ),
    ...(certificateSecret === undefined ? [] : secretRules(id, certificateSecret, bound)),
  ]
}

function secretRules(
  id: string,
  { name, namespace }: ObjectKey,
  bound: (role: string, of: string, kind: string, place: string) => KubeObject,
): readonly KubeObject[] {
  const role = {
    apiVersion,
    kind: 'Role',
    metadata: { name: `${id}:certificates`, namespace },
    rules: [
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: [name], verbs: ['get', 'update'] },
    ],
  }
  return [role, bound(`${id}:certificates`, `${id}:certificates`, 'Role', namespace)]
}
