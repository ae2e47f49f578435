// The conditions of an owner, in the order and under the names of the original (originals/cartographer.md §4.1).
import type { Condition } from '@fairlead/kube'
import type { OwnerKind } from '../api.ts'
import { conditionOf, verdict } from './condition.ts'
import type { Verdict } from './condition.ts'
import type { RealizedResource } from './realized-resource.ts'
import { readyFrom, resourcesHealthy } from './summary.ts'
import type { ResourceHealth } from './summary.ts'

/** `SupplyChainReady` or `DeliveryReady`. */
export function blueprintCondition(kind: OwnerKind, readiness: Verdict): Condition {
  return conditionOf(kind === 'Workload' ? 'SupplyChainReady' : 'DeliveryReady', readiness)
}

/** `ResourcesSubmitted`: the first resource in the order of the blueprint that failed, else the first that waits. */
export function resourcesSubmitted(realized: readonly Pick<RealizedResource, 'submitted'>[]): Condition {
  const first = (status: string): Verdict | undefined =>
    realized.find(({ submitted }) => submitted.status === status)?.submitted
  const decisive = first('False') ?? first('Unknown') ?? verdict('True', 'ResourceSubmissionComplete')
  return conditionOf('ResourcesSubmitted', decisive)
}

/** All conditions of an owner whose resources were realized. */
export function realizedConditions(
  blueprint: Condition,
  realized: readonly RealizedResource[],
  judged: readonly ResourceHealth[],
): Condition[] {
  return withReady([blueprint, resourcesSubmitted(realized), resourcesHealthy(judged)])
}

/** The conditions and the Ready that they make. */
export function withReady(conditions: readonly Condition[]): Condition[] {
  return [...conditions, readyFrom(conditions)]
}
