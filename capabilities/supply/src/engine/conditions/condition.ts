// Conditions whose reasons and messages the API always accepts (originals/cartographer.md §1.3, trap).
import { findCondition, setCondition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'

/** `True`, `False` or `Unknown`. */
export type ConditionStatus = Condition['status']

/** Status, reason and message of a condition, without its type. */
export interface Verdict {
  readonly status: ConditionStatus
  readonly reason: string
  readonly message: string
}

/** Longest message that metav1.Condition allows, in characters. */
const longestMessage = 32_768
/** Longest reason that metav1.Condition allows, in characters. */
const longestReason = 1024

/** Returns a verdict; characters that a reason cannot contain become `_`, and what is too long is cut. */
export function verdict(status: ConditionStatus, reason: string, message: string = ''): Verdict {
  return { status, reason: validReason(reason), message: capped(message) }
}

/** Returns a condition of that type without a transition time. */
export function conditionOf(type: string, { status, reason, message }: Verdict): Condition {
  return { type, status, reason, message }
}

/** Returns the reason that mirrors a condition type: `ReadyCondition`. */
export function reasonOfType(type: string): string {
  return validReason(`${type}Condition`)
}

/**
 * Adds transition times: a condition keeps the time of its predecessor while the status is the same. `now` is an RFC
 * 3339 time.
 */
export function withTransitionTimes(
  conditions: readonly Condition[],
  before: readonly Condition[] | undefined,
  now: string,
): Condition[] {
  return conditions.map((next) => findCondition(setCondition(before, next, now), next.type)!)
}

function validReason(reason: string): string {
  const characters = reason
    .replace(/[^A-Za-z0-9_,:]/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .replace(/[,:]+$/, '')
  return characters === '' ? 'Unknown' : characters.slice(0, longestReason)
}

function capped(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 1)}…`
}
