// `status.conditions[]`: making, finding and setting them by the API conventions.

/** One condition. Times are RFC 3339 texts with whole seconds. */
export type Condition = {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string
  readonly reason: string
  readonly message: string
}

/** What else to say of a condition. */
export interface ConditionDetails {
  readonly reason?: string
  readonly message?: string
  readonly observedGeneration?: number
}

/** A condition without a time; {@link setCondition} gives it one. `status` may be a boolean. The reason defaults to the type. */
export function condition(
  type: string,
  status: boolean | 'True' | 'False' | 'Unknown',
  { reason = type, message = '', observedGeneration }: ConditionDetails = {},
): Condition {
  const text = typeof status === 'boolean' ? (status ? 'True' : 'False') : status
  return { type, status: text, ...(observedGeneration === undefined ? {} : { observedGeneration }), reason, message }
}

/**
 * The list with that condition in place of the one of its type, or at the end. `lastTransitionTime` is `now` (RFC 3339 text, or
 * milliseconds) when the status differs from before, else what it was.
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

/** The condition of that type. */
export function findCondition(list: readonly Condition[] | undefined, type: string): Condition | undefined {
  return list?.find((item) => item.type === type)
}

/** The condition of that type is there and `True`. */
export function isConditionTrue(list: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(list, type)?.status === 'True'
}

/** A time as Kubernetes writes it (`metav1.Time`): RFC 3339, whole seconds, UTC. Texts are taken as they are. */
export function formatTime(time: string | number): string {
  return typeof time === 'string' ? time : `${new Date(time).toISOString().slice(0, 19)}Z`
}

/** A time with six decimals (`metav1.MicroTime`), from milliseconds. */
export function formatMicroTime(time: number): string {
  return `${new Date(time).toISOString().slice(0, 23)}000Z`
}
