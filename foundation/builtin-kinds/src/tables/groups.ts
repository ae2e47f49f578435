// The built-in groups in the order of discovery: the group priorities of kube-aggregator's registration (v1.35),
// highest first.

/** Built-in groups in discovery's order; the core group is '' and served under /api. */
export const builtinGroups: readonly string[] = [
  '',
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
]

/** The versions of groups with several, in discovery's order. */
export const builtinVersions: Readonly<Record<string, readonly string[]>> = { autoscaling: ['v2', 'v1'] }
