// PodDisruptionBudgets during evictions: whether the budget of a Pod allows its disruption, and the count in its
// status. The other figures in the status are those of the disruption controller (controllers/disruption); nothing here
// counts healthy Pods. The rules are those of the real server's eviction.go.
import {
  asJson,
  cloneJson,
  failure,
  findCondition,
  forbidden,
  isJsonObject,
  setCondition,
  tooManyRequests,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { apiServerUser } from '../../identity/well-known-users.ts'
import { allowedCondition, coversPod, disruptionAllowed, isPodReady } from '../../objects/disruption-budget.ts'
import type { DisruptionBudget, DisruptionBudgetStatus } from '../../objects/disruption-budget.ts'
import { updateObject } from '../update.ts'
import type { RequestScope } from '../request-scope.ts'
import type { ServerDependencies } from '../server-dependencies.ts'
import { timestamp } from '../../objects/timestamp.ts'

const resource = 'poddisruptionbudgets.policy'
const refusedMessage = "Cannot evict pod as it would violate the pod's disruption budget."
const retrySeconds = 10
/** Evictions that the controller has not confirmed yet; more are refused. */
const maxDisruptedPods = 2000

/**
 * Takes one disruption from the budget of a Pod.
 * @throws StatusError 429 where the budget does not allow it, 500 where there are two
 */
export async function takeDisruption(
  server: ServerDependencies,
  scope: RequestScope,
  pod: KubeObject,
  dryRun: boolean,
): Promise<void> {
  if (isBeyondBudgets(pod)) return
  const budgets = [...server.list(resource)].filter((budget) => coversPod(budget as DisruptionBudget, pod))
  if (budgets.length > 1)
    throw failure(
      500,
      undefined,
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
  const [budget] = budgets
  if (budget === undefined || (!isPodReady(pod) && mayEvictUnhealthy(budget))) return
  await decrement(server, scope, budget, dryRun)
}

/** Returns true for a Pod that runs nothing, or is terminating already. */
function isBeyondBudgets(pod: KubeObject): boolean {
  const { phase } = (isJsonObject(pod['status']) ? pod['status'] : {}) as { phase?: string }
  return ['Succeeded', 'Failed', 'Pending'].includes(phase ?? '') || pod.metadata.deletionTimestamp !== undefined
}

function mayEvictUnhealthy(budget: KubeObject): boolean {
  const { unhealthyPodEvictionPolicy } = budget['spec'] as { unhealthyPodEvictionPolicy?: string }
  const { currentHealthy = 0, desiredHealthy = 0 } = statusOf(budget)
  return unhealthyPodEvictionPolicy === 'AlwaysAllow' || (desiredHealthy > 0 && currentHealthy >= desiredHealthy)
}

async function decrement(
  server: ServerDependencies,
  scope: RequestScope,
  budget: KubeObject,
  dryRun: boolean,
): Promise<void> {
  checkBudget(budget)
  if (dryRun) return
  const served = server.registry.findKind('policy', 'v1', 'PodDisruptionBudget')
  if (served === undefined) return
  await updateObject(
    server,
    // A request of the server to itself, with the admission of the status.
    { ...scope, resource: served, name: budget.metadata.name ?? '', subresource: 'status', user: apiServerUser },
    {
      dryRun: false,
      manager: 'kube-apiserver',
      createsMissing: false,
      change: (current) => {
        checkBudget(current!)
        return withDisruption(current!, scope.name, timestamp(server.clock.now()))
      },
    },
  )
}

/** @throws StatusError 429, 403 */
function checkBudget(budget: KubeObject): void {
  const { name = '', generation = 0 } = budget.metadata
  const status = statusOf(budget)
  const { disruptionsAllowed = 0, disruptedPods = {} } = status
  if ((status.observedGeneration ?? 0) < generation)
    throw budgetError(retrySeconds, `The disruption budget ${name} is still being processed by the server.`)
  const negative = disruptionsAllowed < 0 ? 'pdb disruptions allowed is negative' : undefined
  const crowded =
    Object.keys(disruptedPods).length > maxDisruptedPods
      ? 'DisruptedPods map too big - too many evictions not confirmed by PDB controller'
      : undefined
  const detail = negative ?? crowded
  if (detail !== undefined) throw forbidden({ group: 'policy', plural: 'poddisruptionbudget' }, name, detail)
  if (disruptionsAllowed === 0) throw budgetError(0, reasonFor(name, status))
}

function budgetError(retryAfterSeconds: number, message: string): Error {
  const { status } = tooManyRequests(refusedMessage, retryAfterSeconds)
  return failure(429, 'TooManyRequests', refusedMessage, {
    ...status.details,
    causes: [{ reason: 'DisruptionBudget', message }],
  })
}

function reasonFor(
  name: string,
  { conditions = [], currentHealthy = 0, desiredHealthy = 0 }: DisruptionBudgetStatus,
): string {
  const allowed = findCondition(conditions, disruptionAllowed)
  const { reason = '', message = '' } = allowed?.status === 'False' ? allowed : {}
  const budget = `The disruption budget ${name}`
  if (message !== '' && reason === 'SyncFailed')
    return `${budget} does not allow evicting pods currently because it failed sync: ${message}`
  if (currentHealthy <= desiredHealthy)
    return `${budget} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
  if (message !== '') return `${budget} does not allow evicting pods currently (${reason}): ${message}`
  return `${budget} does not allow evicting pods currently`
}

function withDisruption(budget: KubeObject, pod: string, now: string): JsonObject {
  const draft = cloneJson(asJson(budget)) as MutableJsonObject
  const status = statusOf(budget)
  const disruptionsAllowed = (status.disruptionsAllowed ?? 0) - 1
  const next: MutableJsonObject = {
    ...(status as unknown as JsonObject),
    disruptionsAllowed,
    disruptedPods: { ...status.disruptedPods, [pod]: now },
  }
  if (disruptionsAllowed === 0) {
    const { observedGeneration = 0 } = status
    next['conditions'] = setCondition(
      status.conditions,
      allowedCondition(0, observedGeneration),
      now,
    ) as unknown as JsonValue
  }
  draft['status'] = next
  return draft
}

function statusOf(budget: KubeObject): DisruptionBudgetStatus {
  return (isJsonObject(budget['status']) ? budget['status'] : {}) as DisruptionBudgetStatus
}
