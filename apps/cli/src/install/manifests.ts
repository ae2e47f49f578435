// All objects of an installation, in the order in which they are applied, and in that in which they are deleted. The
// Helm chart and the Kustomize base are generated from the same parts (scripts/generate/chart.ts). Start with
// manifests().
import { apiServices } from './api-services.ts'
import { capabilityRoles, userRoles } from './capability-roles.ts'
import { apiSecret, defaultNamespace, isDelegated, labelsOf, webhookSecret } from './install-options.ts'
import type { InstallOptions } from './install-options.ts'
import { apiServiceNames, delegatedRoles, serverRoles, webhookRoles } from './server-roles.ts'
import { webhookConfiguration, webhooksOf } from './webhooks.ts'
import { deployment, disruptionBudget, networkPolicy, service, serviceMonitor } from './workload.ts'
import type { Capability } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'

/** Returns the objects of an installation in apply order. Pure. */
export function manifests(options: InstallOptions): KubeObject[] {
  const { capabilities, namespace } = options
  const labels = labelsOf(options)
  const hasWebhooks = options.webhooks && capabilities.some((capability) => webhooksOf(capability, options).length > 0)
  return [
    ...namespaceOf(namespace, labels),
    ...capabilities.flatMap(({ crds }) => crds),
    serviceAccount(options),
    ...serverRoles(options),
    ...(hasWebhooks ? webhookRoles(options) : []),
    ...capabilities.flatMap((capability) => rolesOf(capability, options)),
    ...(options.defaults ? capabilities.flatMap(defaultsOf) : []),
    service(options),
    ...(options.networkPolicy ? [networkPolicy(options)] : []),
    ...(options.replicas > 1 ? [disruptionBudget(options)] : []),
    deployment(options),
    ...(options.serviceMonitor ? [serviceMonitor(options)] : []),
    // The last: from here on the API server calls the pods.
    ...capabilities.filter(isDelegated).flatMap((capability) => apiServices(capability, options)),
    ...(hasWebhooks ? [webhookConfiguration(options)] : []),
  ]
}

/** Fairlead's own namespace enforces the restricted level of Pod Security; in others, other pods may need more. */
function namespaceOf(name: string, labels: Readonly<Record<string, string>>): KubeObject[] {
  if (name === 'default' || name.startsWith('kube-')) return []
  const level = name === defaultNamespace && { 'pod-security.kubernetes.io/enforce': 'restricted' }
  return [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { ...labels, ...level } } }]
}

/** Returns the service account of the pods. */
export function serviceAccount(options: InstallOptions): KubeObject {
  const { name, namespace } = options
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace, labels: labelsOf(options) } }
}

/** Returns the roles and bindings of a capability in an installation, and the roles of its users. */
export function rolesOf(capability: Capability, options: InstallOptions): KubeObject[] {
  const labels = { ...labelsOf(options), 'app.kubernetes.io/component': capability.name }
  const name = `${options.name}-${capability.name}`
  return [
    ...capabilityRoles(capability, { name, labels, subject: options }),
    ...userRoles(capability, { name, labels }),
    ...(isDelegated(capability) ? delegatedRoles(options, apiServiceNames(capability)) : []),
  ]
}

/** Returns the default objects of a capability but those of its own kinds: these are not served in the same apply. */
export function defaultsOf({ defaults = [], crds }: Capability): readonly KubeObject[] {
  const groups = new Set(crds.map(({ spec }) => (spec as { group?: string } | undefined)?.group))
  return defaults.filter(({ apiVersion }) => !groups.has(apiVersion.split('/')[0]))
}

/** Objects that {@link removal} deletes beside those of the processes. */
export interface RemovalOptions {
  /** Deletes the definitions, and all objects of their kinds with them. */
  readonly crds: boolean
}

/** Rank of a kind in the order of deletion. */
const deletionOrder = [
  // First what makes the API server call pods that are about to end.
  'ValidatingWebhookConfiguration',
  // Objects with finalizers need their controllers.
  'CustomResourceDefinition',
  'ServiceMonitor',
  'Deployment',
  'PodDisruptionBudget',
  'NetworkPolicy',
  // Without its rights a process that is still stopping changes nothing.
  'ClusterRoleBinding',
  'RoleBinding',
  'APIService',
  'Service',
  'ClusterRole',
  'Role',
  'ServiceAccount',
  'Secret',
  'Namespace',
]

/**
 * Returns what an uninstallation deletes, in that order, each with its name alone. Default objects stay: they may have
 * been changed by users; so does a namespace that is not Fairlead's own. Pure.
 */
export function removal(options: InstallOptions, { crds }: RemovalOptions): KubeObject[] {
  const { namespace } = options
  const secrets = [webhookSecret(options), apiSecret(options)].map((name) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
  }))
  // With two replicas there is a PodDisruptionBudget: how many there were is not known.
  return [...manifests({ ...options, defaults: false, replicas: 2 }), ...secrets]
    .filter(({ kind, metadata }) => {
      if (kind === 'CustomResourceDefinition') return crds
      return kind !== 'Namespace' || metadata.name === defaultNamespace
    })
    .toSorted((one, other) => deletionRank(one) - deletionRank(other))
    .map(({ apiVersion, kind, metadata: { name, namespace: within } }) => ({
      apiVersion,
      kind,
      metadata: { name, ...(within !== undefined && { namespace: within }) },
    }))
}

/**
 * Returns the place of an object in the order of deletion. Aggregated roles are deleted before the roles that they
 * aggregate: the deletion of one of these makes kube-controller-manager apply the aggregated role, which creates it
 * again when it was deleted meanwhile.
 */
function deletionRank(object: KubeObject): number {
  return deletionOrder.indexOf(object.kind) + ('aggregationRule' in object ? 0 : 0.5)
}
