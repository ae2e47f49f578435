// Times of the next run. Everything that has an event waits for it; only the service itself has to be read again.
import { findCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { conditionTypes } from './conditions.ts'
import { statusOf } from './resource-status.ts'

/** Milliseconds between two attempts while a new role cannot be assumed yet. */
export const propagationRetry = 2_000
const shortestPoll = 2_000
const longestPoll = 30_000

/**
 * Returns the milliseconds until a resource is read again that the service is changing: a quarter of the time that it
 * has taken so far, from 2 s up to ACK's 30 s.
 */
export function pollInterval(object: KubeObject, now: number): number {
  const conditions = statusOf(object)['conditions'] as unknown as readonly Condition[] | undefined
  const synced = findCondition(conditions, conditionTypes.synced)
  const since =
    synced === undefined || synced.status === 'True' ? now : Date.parse(synced.lastTransitionTime ?? '') || now
  return Math.min(longestPoll, Math.max(shortestPoll, (now - since) / 4))
}
