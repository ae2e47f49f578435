// The conditions of an owner, with the order and the types of Cartographer (originals/cartographer.md §4.1).
import type { Condition } from '@fairlead/kube'
import type { OwnerKind } from '../api.ts'
import { conditionOf, verdict } from './conditions/condition.ts'
import type { Verdict } from './conditions/condition.ts'
import type { RealizedResource } from './realized-resource.ts'
import { readyFrom, resourcesHealthy } from './conditions/summary.ts'
import type { ResourceHealth } from './conditions/summary.ts'

/** Returns `SupplyChainReady` or `DeliveryReady`. */
export function blueprintCondition(kind: OwnerKind, readiness: Verdict): Condition {
  return conditionOf(kind === 'Workload' ? 'SupplyChainReady' : 'DeliveryReady', readiness)
}

/**
 * Returns `ResourcesSubmitted`: the verdict of the first failed resource in the order of the blueprint, else of the
 * first waiting one.
 */
export function resourcesSubmitted(realized: readonly Pick<RealizedResource, 'submitted'>[]): Condition {
  const first = (status: string): Verdict | undefined =>
    realized.find(({ submitted }) => submitted.status === status)?.submitted
  const decisive = first('False') ?? first('Unknown') ?? verdict('True', 'ResourceSubmissionComplete')
  return conditionOf('ResourcesSubmitted', decisive)
}

/** Returns all conditions of an owner whose resources were realized. */
export function realizedConditions(
  blueprint: Condition,
  realized: readonly RealizedResource[],
  health: readonly ResourceHealth[],
): Condition[] {
  return withReady([blueprint, resourcesSubmitted(realized), resourcesHealthy(health)])
}

/** Appends the `Ready` that sums the conditions up. */
export function withReady(conditions: readonly Condition[]): Condition[] {
  return [...conditions, readyFrom(conditions)]
}
