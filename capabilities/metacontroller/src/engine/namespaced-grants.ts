// The rights of a controller in some namespaces only: a Role and its binding for each, in place of the ClusterRole of
// grants.ts.
import type { PolicyRule } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { parseApiVersion } from '@fairlead/kube'
import type { CredentialSource } from './grants.ts'
import type { ResourceName } from './kinds.ts'

/** A service account. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

/** The facts that decide on the Roles of a controller. */
export interface NamespacedGrants {
  /** The ClusterRole that the controller would have. */
  readonly role: KubeObject
  readonly namespaces: readonly string[]
  readonly account: Account
  /** Names Secrets and ConfigMaps with credentials of hooks, which are read in their own namespaces. */
  readonly sources: readonly CredentialSource[]
  /** Returns whether a resource is cluster-scoped: its rights need a ClusterRole. */
  readonly isClusterScoped: (name: Pick<ResourceName, 'resource'> & { readonly group: string }) => boolean
}

const api = 'rbac.authorization.k8s.io'

/** Returns a Role and a RoleBinding for each namespace, and a ClusterRole for kinds that are cluster-scoped. */
export function namespacedRoles(grants: NamespacedGrants): readonly KubeObject[] {
  const { role, namespaces, account, sources, isClusterScoped } = grants
  const { name = '', labels } = role.metadata
  const rules = (role['rules'] as readonly PolicyRule[]).filter((rule) => !isCredential(rule, sources))
  const isOfCluster = ({ apiGroups: [group = ''] = [], resources: [resource = ''] = [] }: PolicyRule): boolean =>
    isClusterScoped({ group, resource: resource.split('/')[0] ?? '' })
  const ofCluster = rules.filter(isOfCluster)
  const ofNamespaces = rules.filter((rule) => !isOfCluster(rule))
  const credentials = credentialsByNamespace(sources)
  const all = [...new Set([...namespaces, ...credentials.keys()])]
  const clusterRole = { ...role, metadata: { name, labels }, rules: ofCluster } as KubeObject
  return [
    ...(ofCluster.length === 0 ? [] : [clusterRole]),
    ...all.flatMap((namespace) => {
      const own = [...(namespaces.includes(namespace) ? ofNamespaces : []), ...(credentials.get(namespace) ?? [])]
      return [
        { apiVersion: `${api}/v1`, kind: 'Role', metadata: { name, namespace }, rules: own },
        {
          apiVersion: `${api}/v1`,
          kind: 'RoleBinding',
          metadata: { name, namespace },
          roleRef: { apiGroup: api, kind: 'Role', name },
          subjects: [{ kind: 'ServiceAccount', ...account }],
        },
      ] as readonly KubeObject[]
    }),
  ]
}

/** Returns whether a rule is about the Secrets or ConfigMaps of hooks. */
function isCredential({ resources = [], resourceNames }: PolicyRule, sources: readonly CredentialSource[]): boolean {
  const [resource = ''] = resources
  if (resourceNames === undefined || sources.length === 0) return false
  const names = sources.flatMap((source) => refsOf(source)).filter((ref) => ref.resource === resource)
  return names.length > 0 && resourceNames.every((name) => names.some((ref) => ref.name === name))
}

function credentialsByNamespace(sources: readonly CredentialSource[]): ReadonlyMap<string, readonly PolicyRule[]> {
  const found = new Map<string, PolicyRule[]>()
  for (const { resource, namespace, name } of sources.flatMap((source) => refsOf(source))) {
    const rules = found.get(namespace) ?? []
    const { group } = parseApiVersion('v1')
    rules.push({ apiGroups: [group], resources: [resource], resourceNames: [name], verbs: ['get'] })
    found.set(namespace, rules)
  }
  return found
}

interface Ref {
  readonly resource: 'secrets' | 'configmaps'
  readonly namespace: string
  readonly name: string
}

function refsOf({ caBundle, authorization, basicAuth, clientTLS }: CredentialSource): readonly Ref[] {
  const secrets = [caBundle?.secretRef, authorization?.secretRef, basicAuth?.secretRef, clientTLS?.secretRef]
  const bundle = caBundle?.configMapRef
  return [
    ...secrets.flatMap((ref): Ref[] =>
      ref === undefined ? [] : [{ resource: 'secrets', namespace: ref.namespace, name: ref.name }],
    ),
    ...(bundle === undefined
      ? []
      : [{ resource: 'configmaps', namespace: bundle.namespace, name: bundle.name } as const]),
  ]
}
