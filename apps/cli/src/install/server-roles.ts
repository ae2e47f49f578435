// The rights of the process itself: leases, certificates, reviews of callers, its webhooks and APIServices.
import { extensionServerRules } from '@fairlead/apiserver'
import type { Capability, PolicyRule } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { apiSecret, labelsOf, webhookSecret } from './install-options.ts'
import type { InstallOptions } from './install-options.ts'
import { binding, role } from './role.ts'

const reviews: readonly PolicyRule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
]

/**
 * Returns the roles that every installation has: Leases and the Secret of certificates in its namespace, reviews of
 * callers of `/metrics` and of webhooks, and a ClusterRole for Prometheus that nothing is bound to.
 */
export function serverRoles(options: InstallOptions): KubeObject[] {
  const { name, namespace } = options
  const labels = labelsOf(options)
  const own = { name, namespace, labels }
  const server = { name: `${name}-server`, labels }
  return [
    role(own, [
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        verbs: ['get', 'list', 'create', 'update', 'delete'],
      },
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: [webhookSecret(options)], verbs: ['get', 'update'] },
    ]),
    binding(own, options),
    role(server, reviews),
    binding(server, options),
    role({ name: `${name}-metrics-reader`, labels }, [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]),
  ]
}

/** Returns the right to keep the CA bundle in the webhook configuration, and its binding. */
export function webhookRoles(options: InstallOptions): KubeObject[] {
  const metadata = { name: `${options.name}-webhooks`, labels: labelsOf(options) }
  const rule: PolicyRule = {
    apiGroups: ['admissionregistration.k8s.io'],
    resources: ['validatingwebhookconfigurations'],
    resourceNames: [options.name],
    verbs: ['get', 'list', 'watch', 'patch'],
  }
  return [role(metadata, [rule]), binding(metadata, options)]
}

/** Returns the rights of the extension API server of capabilities that serve resources of their own storage. */
export function delegatedRoles(options: InstallOptions, apiServices: readonly string[]): KubeObject[] {
  const { name, namespace } = options
  const objects = extensionServerRules({
    serviceAccount: { name, namespace },
    apiServices,
    certificateSecret: { name: apiSecret(options), namespace },
    createsApiServices: false,
  })
  const labels = labelsOf(options)
  return objects.map((object) => ({ ...object, metadata: { ...object.metadata, labels } }))
}

/** Returns the names of the APIServices of a capability: `v1alpha1.porch.kpt.dev`. */
export function apiServiceNames({ served = [] }: Capability): string[] {
  const names = served.flatMap(({ spec }) => {
    const { group, versions } = spec as unknown as { group: string; versions: readonly { name: string }[] }
    return versions.map(({ name }) => `${name}.${group}`)
  })
  return [...new Set(names)]
}
