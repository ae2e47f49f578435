// Conditions that sum others up: ResourcesHealthy of an owner, Ready of anything (originals/cartographer.md §3.3).
import type { Condition } from '@fairlead/kube'
import { conditionOf, verdict } from './condition.ts'
import type { Verdict } from './condition.ts'

/** A resource and its health; without one when it passes an input through. */
export interface ResourceHealth {
  readonly name: string
  readonly healthy: Verdict | undefined
}

/** `ResourcesHealthy`: False beats Unknown beats True; names the first such resource in the order of the blueprint. Nothing to judge is healthy. */
export function resourcesHealthy(resources: readonly ResourceHealth[]): Condition {
  for (const status of ['False', 'Unknown'] as const) {
    const such = resources.filter(({ healthy }) => healthy?.status === status)
    const [first] = such
    if (first?.healthy === undefined) continue
    const more = such.length > 1 ? ` (and ${such.length - 1} more)` : ''
    const message = `resource [${first.name}]: ${first.healthy.message || first.healthy.reason}${more}`
    return conditionOf('ResourcesHealthy', verdict(status, 'HealthyConditionRule', message))
  }
  return conditionOf('ResourcesHealthy', verdict('True', 'HealthyConditionRule'))
}

/** The first resource that is not healthy, False before Unknown. */
export function firstUnhealthy(resources: readonly ResourceHealth[]): string | undefined {
  const first = (status: string): ResourceHealth | undefined =>
    resources.find(({ healthy }) => healthy?.status === status)
  return (first('False') ?? first('Unknown'))?.name
}

/** `Ready` from the conditions before it: the last False, else the first Unknown, else True. */
export function readyFrom(conditions: readonly Condition[]): Condition {
  const decisive =
    conditions.findLast(({ status }) => status === 'False') ?? conditions.find(({ status }) => status === 'Unknown')
  if (decisive !== undefined) return conditionOf('Ready', verdict(decisive.status, decisive.reason, decisive.message))
  return conditionOf('Ready', conditions.length === 0 ? verdict('Unknown', 'Unknown') : verdict('True', 'Ready'))
}
