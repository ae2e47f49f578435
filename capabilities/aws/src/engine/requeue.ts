// Times of the next run. Everything that has an event waits for it; only the service itself has to be read again.
import { findCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { conditionTypes } from './conditions.ts'
import type { ResourceKind } from './resource-kind.ts'
import { confirmedArn, statusOf } from './resource-status.ts'

/** Milliseconds between two attempts while a new role cannot be assumed yet. */
export const propagationRetry = 2_000
/** Milliseconds between two reads while a new resource is not seen yet. */
export const visibilityRetry = 2_000
/** Milliseconds after a creation until a resource is read for the values that the service filled in. */
export const lateReadDelay = 2_000
const shortestPoll = 2_000
const longestPoll = 30_000

/**
 * Returns the milliseconds until a resource is read again that the service is changing: a quarter of the time that it
 * has taken so far, from 2 s up to ACK's 30 s.
 */
export function pollInterval(object: KubeObject, now: number): number {
  const { status, since } = syncedSince(object, now)
  return Math.min(longestPoll, Math.max(shortestPoll, (now - (status === 'True' ? now : since)) / 4))
}

/**
 * Reports whether a resource that a read did not find may exist all the same: its state changed just now, or a creation
 * whose outcome is not known may have been the last thing before the deletion of the object.
 */
export function mayAppear(object: KubeObject, kind: ResourceKind, now: number): boolean {
  const { visibleAfter = 0 } = kind
  const deleted = Date.parse(object.metadata.deletionTimestamp ?? '')
  const since = confirmedArn(object) === undefined ? deleted : syncedSince(object, 0).since
  return now - since < visibleAfter
}

function syncedSince(object: KubeObject, fallback: number): { readonly status?: string; readonly since: number } {
  const conditions = statusOf(object)['conditions'] as unknown as readonly Condition[] | undefined
  const synced = findCondition(conditions, conditionTypes.synced)
  if (synced === undefined) return { since: fallback }
  return { status: synced.status, since: Date.parse(synced.lastTransitionTime ?? '') || fallback }
}
