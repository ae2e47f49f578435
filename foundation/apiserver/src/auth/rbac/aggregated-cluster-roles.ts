// Aggregated ClusterRoles: their rules are those of every other role that a selector matches. Pure; a controller writes
// the result.
import { jsonEqual, selectorFrom } from '@fairlead/kube'
import type { KubeObject, LabelSelector } from '@fairlead/kube'
import type { PolicyRule } from './policy-rule.ts'

/** The fields of a ClusterRole that aggregation reads. */
export interface AggregatedClusterRole extends KubeObject {
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] } | null
  readonly rules?: readonly PolicyRule[] | null
}

/**
 * Returns the rules that `role` should have, given all cluster roles; undefined without an aggregation rule. Each rule
 * once, in the order of the selectors and of the roles' names. A role never aggregates itself.
 */
export function aggregatedRules(
  role: AggregatedClusterRole,
  all: Iterable<AggregatedClusterRole>,
): readonly PolicyRule[] | undefined {
  const selectors = role.aggregationRule?.clusterRoleSelectors
  if (selectors === undefined) return undefined
  const sorted = [...all].toSorted((left, right) => ((left.metadata.name ?? '') < (right.metadata.name ?? '') ? -1 : 1))
  const rules: PolicyRule[] = []
  for (const selector of selectors.map((item) => selectorFrom(item))) {
    for (const candidate of sorted) {
      if (candidate.metadata.name === role.metadata.name || !selector.matches(candidate.metadata.labels ?? {})) continue
      for (const rule of candidate.rules ?? []) if (!rules.some((known) => jsonEqual(known, rule))) rules.push(rule)
    }
  }
  return rules
}
