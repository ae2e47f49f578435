// Computes the status of a PodDisruptionBudget, as pkg/controller/disruption of Kubernetes does. Start reading at
// budgetStatus.
import { condition, findCondition, formatTime, isTerminating, jsonEqual, setCondition } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { allowedCondition, disruptionAllowed, isPodReady } from '../../objects/disruption-budget.ts'
import type { DisruptionBudget, DisruptionBudgetStatus } from '../../objects/disruption-budget.ts'

/** Time in which an evicted Pod must be deleted; after it the eviction counts as failed. Milliseconds. */
const deletionTimeout = 120_000

/** The observed state that a status is computed from. */
export interface BudgetState {
  readonly budget: DisruptionBudget
  /** The Pods that the budget selects. */
  readonly pods: readonly KubeObject[]
  /** Sum of the replicas of the Pods' controllers; undefined where {@link needsScale} is false. */
  readonly scale: number | undefined
  readonly now: number
}

/** A computed status. */
export interface ComputedStatus {
  /** Undefined when the budget has it already. */
  readonly status: DisruptionBudgetStatus | undefined
  /** Evicted Pods that were not deleted in time, and count as healthy again. */
  readonly notDeleted: readonly KubeObject[]
  /** Time at which the next evicted Pod must be deleted; undefined when none is awaited. */
  readonly recheckAt: number | undefined
}

/**
 * Reports whether the budget counts in the replicas of controllers. A number in `minAvailable` counts in Pods, so that
 * it holds for Pods without a controller, too.
 */
export function needsScale({ spec }: DisruptionBudget): boolean {
  return spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === 'string'
}

/** Computes the status of a budget. */
export function budgetStatus({ budget, pods, scale, now }: BudgetState): ComputedStatus {
  const { expectedPods, desiredHealthy } = demandOf(budget, pods, scale)
  const { disruptedPods, notDeleted, recheckAt } = disruptedPodsOf(budget, pods, now)
  const currentHealthy = pods.filter(
    (pod) => !isTerminating(pod) && disruptedPods[pod.metadata.name!] === undefined && isPodReady(pod),
  ).length
  // While no Pod is expected none may go: the first ones may exist already and are not counted yet.
  const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0
  const { generation: observedGeneration = 0 } = budget.metadata
  const status: DisruptionBudgetStatus = {
    ...(Object.keys(disruptedPods).length === 0 ? {} : { disruptedPods }),
    conditions: setCondition(
      budget.status?.conditions,
      allowedCondition(disruptionsAllowed, observedGeneration),
      formatTime(now),
    ),
    observedGeneration,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
  }
  return { status: isSame(budget, status) ? undefined : status, notDeleted, recheckAt }
}

/**
 * Returns the status of a budget that cannot be computed: nothing may be disrupted. Undefined when the budget has it
 * already.
 */
export function failedStatus(
  budget: DisruptionBudget,
  message: string,
  now: number,
): DisruptionBudgetStatus | undefined {
  const { conditions, observedGeneration } = budget.status ?? {}
  const failed = condition(disruptionAllowed, false, {
    reason: 'SyncFailed',
    message,
    ...(observedGeneration ? { observedGeneration } : {}),
  })
  const status: DisruptionBudgetStatus = {
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
    ...budget.status,
    disruptionsAllowed: 0,
    conditions: setCondition(conditions, failed, formatTime(now)),
  }
  return isSame(budget, status) ? undefined : status
}

/** Reports whether the status of a budget says that it could not be computed. */
export function hasFailed({ status }: DisruptionBudget): boolean {
  return findCondition(status?.conditions, disruptionAllowed)?.reason === 'SyncFailed'
}

function demandOf(
  { spec }: DisruptionBudget,
  pods: readonly KubeObject[],
  scale: number | undefined,
): { expectedPods: number; desiredHealthy: number } {
  const { minAvailable, maxUnavailable } = spec ?? {}
  if (maxUnavailable !== undefined) {
    const expectedPods = scale ?? 0
    return { expectedPods, desiredHealthy: Math.max(0, expectedPods - partOf(expectedPods, maxUnavailable)) }
  }
  if (typeof minAvailable === 'string')
    return { expectedPods: scale ?? 0, desiredHealthy: partOf(scale ?? 0, minAvailable) }
  return minAvailable === undefined
    ? { expectedPods: 0, desiredHealthy: 0 }
    : { expectedPods: pods.length, desiredHealthy: minAvailable }
}

/** Returns a number as it is, and a percentage of the total, rounded up. */
function partOf(total: number, value: number | string): number {
  return typeof value === 'number' ? value : Math.ceil((total * Number.parseInt(value, 10)) / 100)
}

/** Returns the evicted Pods whose deletion is still awaited. */
function disruptedPodsOf(
  { status }: DisruptionBudget,
  pods: readonly KubeObject[],
  now: number,
): Omit<ComputedStatus, 'status'> & { readonly disruptedPods: Readonly<Record<string, string>> } {
  const disruptedPods: Record<string, string> = {}
  const notDeleted: KubeObject[] = []
  let recheckAt: number | undefined
  const disrupted = new Map(Object.entries(status?.disruptedPods ?? {}))
  for (const pod of pods) {
    const { name = '' } = pod.metadata
    const time = disrupted.get(name)
    if (time === undefined || isTerminating(pod)) continue
    const deadline = Date.parse(time) + deletionTimeout
    if (deadline <= now) {
      notDeleted.push(pod)
      continue
    }
    disruptedPods[name] = time
    recheckAt = Math.min(deadline, recheckAt ?? deadline)
  }
  return { disruptedPods, notDeleted, recheckAt }
}

function isSame({ status }: DisruptionBudget, next: DisruptionBudgetStatus): boolean {
  return jsonEqual((status ?? {}) as unknown as JsonValue, next as unknown as JsonValue)
}
