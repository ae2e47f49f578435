// Each capability runs as its own service account with the rules that it declares, and with those that users grant it
// by label (design decision 13).
import type { Client } from '@fairlead/client'
import type { Capability } from '@fairlead/controller'
import { isAlreadyExists } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'

/** Namespace of the controllers' service accounts. */
export const systemNamespace = 'fairlead-system'

const manager = 'fairlead-up'

/** Returns the name of the service account and of the roles of a capability. */
export function accountName(capability: { readonly name: string }): string {
  return `fairlead-${capability.name}`
}

/** Returns the label by which a ClusterRole grants its rules to the capability of a name. */
export function aggregationLabel(capability: { readonly name: string }): string {
  return `rbac.fairlead.dev/aggregate-to-${capability.name}`
}

/**
 * Returns the objects of a capability's identity: service account, its own rules, aggregated role, bindings. Its own
 * rules have a binding too, because a controller fills the aggregated role only after a capability may have started.
 */
export function identityOf(capability: Capability): KubeObject[] {
  const name = accountName(capability)
  const labels = {
    'app.kubernetes.io/name': 'fairlead',
    'app.kubernetes.io/component': capability.name,
    'app.kubernetes.io/managed-by': manager,
  }
  const binding = (role: string): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: role, labels },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace: systemNamespace }],
  })
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: systemNamespace, labels } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `${name}-own`, labels: { ...labels, [aggregationLabel(capability)]: 'true' } },
      rules: capability.rules,
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name, labels },
      aggregationRule: {
        clusterRoleSelectors: [capability.name, ...(capability.aliases ?? [])].map((granted) => ({
          matchLabels: { [aggregationLabel({ name: granted })]: 'true' },
        })),
      },
    },
    binding(`${name}-own`),
    binding(name),
  ]
}

/** Applies the identities of all capabilities. */
export async function installIdentities(admin: Client, capabilities: readonly Capability[]): Promise<void> {
  await admin
    .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: systemNamespace } })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })
  const objects = capabilities.flatMap(identityOf)
  await Promise.all(objects.map((object) => admin.apply(object, { manager, force: true })))
}
