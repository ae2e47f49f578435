// PodDisruptionBudgets as evictions and the disruption controller read them.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { condition, findCondition, selectorFrom } from '@fairlead/kube'
import type { Condition, KubeObject, LabelSelector } from '@fairlead/kube'

/** The status of a PodDisruptionBudget. */
export interface DisruptionBudgetStatus {
  readonly observedGeneration?: number
  readonly disruptionsAllowed?: number
  readonly currentHealthy?: number
  readonly desiredHealthy?: number
  readonly expectedPods?: number
  /** The time of the eviction of each Pod that is not deleted yet. */
  readonly disruptedPods?: Readonly<Record<string, string>>
  readonly conditions?: readonly Condition[]
}

/** `policy/v1 PodDisruptionBudget`. */
export interface DisruptionBudget extends KubeObject {
  readonly spec?: {
    readonly selector?: LabelSelector
    readonly minAvailable?: number | string
    readonly maxUnavailable?: number | string
    readonly unhealthyPodEvictionPolicy?: string
  }
  readonly status?: DisruptionBudgetStatus
}

export const DisruptionBudget: Kind<DisruptionBudget> = kind('policy/v1', 'PodDisruptionBudget', {
  plural: 'poddisruptionbudgets',
  namespaced: true,
})

/** The type of the condition that says whether a budget allows a disruption. */
export const disruptionAllowed = 'DisruptionAllowed'

/** Reports whether a budget selects the Pod; a selector that cannot be read selects none. */
export function coversPod({ metadata, spec }: DisruptionBudget, pod: KubeObject): boolean {
  if (metadata.namespace !== pod.metadata.namespace) return false
  try {
    return selectorFrom(spec?.selector).matches(pod.metadata.labels ?? {})
  } catch {
    return false
  }
}

/** Reports whether the condition `Ready` of a Pod is True. */
export function isPodReady(pod: KubeObject): boolean {
  const { conditions = [] } = (pod['status'] ?? {}) as { readonly conditions?: readonly Condition[] }
  return findCondition(conditions, 'Ready')?.status === 'True'
}

/** Returns the condition of a budget that allows so many disruptions. */
export function allowedCondition(disruptionsAllowed: number, observedGeneration: number): Condition {
  const isAllowed = disruptionsAllowed > 0
  const reason = isAllowed ? 'SufficientPods' : 'InsufficientPods'
  return condition(disruptionAllowed, isAllowed, { reason, observedGeneration })
}
