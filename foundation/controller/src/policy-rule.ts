// Rules of RBAC.

/** A rule of a Role or ClusterRole, as rbac.authorization.k8s.io/v1 writes it. */
export interface PolicyRule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}
