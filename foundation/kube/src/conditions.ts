// `status.conditions[]`: creating, finding and setting conditions by the API conventions.

/** One condition. Times are RFC 3339 strings with whole seconds. */
export type Condition = {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string
  readonly reason: string
  readonly message: string
}

/** The optional fields of a condition. */
export interface ConditionDetails {
  readonly reason?: string
  readonly message?: string
  readonly observedGeneration?: number
}

/** The longest message that the schema of `metav1.Condition` allows, in characters. */
const longestMessage = 32_768

/**
 * Creates a condition without a time; {@link setCondition} sets the time. `status` may be a boolean. The reason
 * defaults to the type, and a message that servers would refuse is cut.
 */
export function condition(
  type: string,
  status: boolean | 'True' | 'False' | 'Unknown',
  { reason = type, message = '', observedGeneration }: ConditionDetails = {},
): Condition {
  const text = typeof status === 'boolean' ? (status ? 'True' : 'False') : status
  const cut = message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message
  return {
    type,
    status: text,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    reason,
    message: cut,
  }
}

/**
 * Returns the list with the condition in place of the one of its type, or appended. `lastTransitionTime` is `now` (an
 * RFC 3339 string, or milliseconds) when the status changes, else it is kept.
 */
export function setCondition(
  list: readonly Condition[] | undefined,
  next: Condition,
  now: string | number,
): readonly Condition[] {
  const conditions = list ?? []
  const old = findCondition(conditions, next.type)
  const time = old?.status === next.status ? old.lastTransitionTime : undefined
  const { type, status, observedGeneration, reason, message } = next
  const placed: Condition = {
    type,
    status,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime: time ?? formatTime(now),
    reason,
    message,
  }
  return old === undefined ? [...conditions, placed] : conditions.map((item) => (item === old ? placed : item))
}

/** Returns the condition of a type. */
export function findCondition(list: readonly Condition[] | undefined, type: string): Condition | undefined {
  return list?.find((item) => item.type === type)
}

/** Reports whether the condition of a type exists and is `True`. */
export function isConditionTrue(list: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(list, type)?.status === 'True'
}

/** Formats a time as Kubernetes does (`metav1.Time`): RFC 3339, whole seconds, UTC. Strings are returned unchanged. */
export function formatTime(time: string | number): string {
  return typeof time === 'string' ? time : `${new Date(time).toISOString().slice(0, 19)}Z`
}

/** Formats milliseconds with six decimals (`metav1.MicroTime`). */
export function formatMicroTime(time: number): string {
  return `${new Date(time).toISOString().slice(0, 23)}000Z`
}
