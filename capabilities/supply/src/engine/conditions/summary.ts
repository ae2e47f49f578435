// Conditions that sum up others: ResourcesHealthy of an owner, and Ready (originals/cartographer.md §3.3).
import type { Condition } from '@fairlead/kube'
import { conditionOf, verdict } from './condition.ts'
import type { Verdict } from './condition.ts'

/** The health of a resource; undefined for a pass-through. */
export interface ResourceHealth {
  readonly name: string
  readonly healthy: Verdict | undefined
}

/**
 * Returns `ResourcesHealthy`: False before Unknown before True; the message names the first such resource in the order
 * of the blueprint. True without any resource.
 */
export function resourcesHealthy(resources: readonly ResourceHealth[]): Condition {
  for (const status of ['False', 'Unknown'] as const) {
    const matching = resources.filter(({ healthy }) => healthy?.status === status)
    const [first] = matching
    if (first?.healthy === undefined) continue
    const more = matching.length > 1 ? ` (and ${matching.length - 1} more)` : ''
    const message = `resource [${first.name}]: ${first.healthy.message || first.healthy.reason}${more}`
    return conditionOf('ResourcesHealthy', verdict(status, 'HealthyConditionRule', message))
  }
  return conditionOf('ResourcesHealthy', verdict('True', 'HealthyConditionRule'))
}

/** Returns the name of the first resource that is not healthy, False before Unknown. */
export function firstUnhealthy(resources: readonly ResourceHealth[]): string | undefined {
  const first = (status: string): ResourceHealth | undefined =>
    resources.find(({ healthy }) => healthy?.status === status)
  return (first('False') ?? first('Unknown'))?.name
}

/** Returns `Ready` from the conditions before it: the last False, else the first Unknown, else True. */
export function readyFrom(conditions: readonly Condition[]): Condition {
  const decisive =
    conditions.findLast(({ status }) => status === 'False') ?? conditions.find(({ status }) => status === 'Unknown')
  if (decisive !== undefined) return conditionOf('Ready', verdict(decisive.status, decisive.reason, decisive.message))
  return conditionOf('Ready', conditions.length === 0 ? verdict('Unknown', 'Unknown') : verdict('True', 'Ready'))
}
