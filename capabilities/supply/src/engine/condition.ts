// Conditions as this capability makes them: reasons and messages always fit what the API accepts (originals/cartographer.md §1.3, trap).
import { findCondition, setCondition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'

/** `True`, `False` or `Unknown`. */
export type ConditionStatus = Condition['status']

/** What a condition says, without its type. */
export interface Verdict {
  readonly status: ConditionStatus
  readonly reason: string
  readonly message: string
}

/** The API refuses longer messages (characters). */
const longestMessage = 32_768
/** The API refuses longer reasons (characters). */
const longestReason = 1024

/** A verdict whose reason and message the API accepts. */
export function verdict(status: ConditionStatus, reason: string, message: string = ''): Verdict {
  return { status, reason: validReason(reason), message: capped(message) }
}

/** A condition without a time. */
export function conditionOf(type: string, { status, reason, message }: Verdict): Condition {
  return { type, status, reason, message }
}

/** The reason that mirrors a condition of that type: `ReadyCondition`. Characters that a reason cannot have become `_`. */
export function reasonOfType(type: string): string {
  return validReason(`${type}Condition`)
}

/** The list with times: a condition keeps the time of its predecessor while its status is the same. */
export function timed(
  conditions: readonly Condition[],
  before: readonly Condition[] | undefined,
  now: string,
): Condition[] {
  return conditions.map((next) => findCondition(setCondition(before, next, now), next.type)!)
}

function validReason(text: string): string {
  const characters = text
    .replace(/[^A-Za-z0-9_,:]/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .replace(/[,:]+$/, '')
  return characters === '' ? 'Unknown' : characters.slice(0, longestReason)
}

function capped(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 1)}…`
}
