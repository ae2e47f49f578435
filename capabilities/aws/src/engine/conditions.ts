// The conditions of an object, under the names that ACK gave them. Reasons are words, messages are sentences, and Ready
// is always there (originals/ack.md §6.1 item 6).
import { condition, findCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'

/** Types of the conditions. */
export const conditionTypes = {
  references: 'ACK.ReferencesResolved',
  synced: 'ACK.ResourceSynced',
  terminal: 'ACK.Terminal',
  recoverable: 'ACK.Recoverable',
  advisory: 'ACK.Advisory',
  lateInitialized: 'ACK.LateInitialized',
  adopted: 'ACK.Adopted',
} as const

/** Reason and message of a condition. */
export interface Finding {
  readonly reason: string
  readonly message: string
}

/** Findings of a reconcile. */
export interface Findings {
  /** The condition of the references; undefined when the object has none. */
  readonly references?: Condition
  readonly synced: Finding & { readonly status: 'True' | 'False' | 'Unknown' }
  readonly terminal?: Finding
  readonly recoverable?: Finding
  readonly advisories?: readonly Finding[]
  readonly adopted?: boolean
  /** Of fields that the service fills in; undefined where none is copied. */
  readonly lateInitialized?: Finding & { readonly status: 'True' | 'False' | 'Unknown' }
}

function readyOf({ synced, terminal, recoverable }: Findings): Condition {
  const problem = terminal ?? recoverable
  if (problem !== undefined) return condition('Ready', false, problem)
  return condition('Ready', synced.status, { reason: synced.reason, message: synced.message })
}

/** Returns the conditions, in a fixed order. */
export function conditionsFor(found: Findings): readonly Condition[] {
  const { references, synced, terminal, recoverable, advisories = [], adopted, lateInitialized: late } = found
  const [first] = advisories
  const message = advisories.map((one) => one.message).join('; ')
  return [
    ...(references === undefined ? [] : [references]),
    ...(adopted === true
      ? [condition(conditionTypes.adopted, true, { reason: 'Adopted', message: 'An existing resource was taken over' })]
      : []),
    ...(terminal === undefined ? [] : [condition(conditionTypes.terminal, true, terminal)]),
    ...(recoverable === undefined ? [] : [condition(conditionTypes.recoverable, true, recoverable)]),
    ...(first === undefined ? [] : [condition(conditionTypes.advisory, true, { reason: first.reason, message })]),
    ...(late === undefined
      ? []
      : [condition(conditionTypes.lateInitialized, late.status, { reason: late.reason, message: late.message })]),
    condition(conditionTypes.synced, synced.status, { reason: synced.reason, message: synced.message }),
    readyOf(found),
  ]
}

/** Returns the condition that says whether the resource was in the wanted state, if it is of the present generation. */
export function presentSynced({ metadata, status }: KubeObject): Findings['synced'] | undefined {
  const found = findCondition(
    (status as { conditions?: readonly Condition[] } | undefined)?.conditions,
    conditionTypes.synced,
  )
  if (found === undefined || found.observedGeneration !== metadata.generation) return undefined
  return {
    status: found.status as 'True' | 'False' | 'Unknown',
    reason: found.reason ?? '',
    message: found.message ?? '',
  }
}
