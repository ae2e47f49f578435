// Readiness of a referent: whether its value may be used now (originals/ack.md §1.5, §6.4 step 5).
import type { Condition, JsonValue, KubeObject } from '@fairlead/kube'
import { findCondition, isTerminating } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { valueAt } from './occurrences.ts'
import type { WaitFor } from './reference-table.ts'
import type { Lookup } from './referents.ts'

/** Reasons why the value of a referent cannot be used now, as conditions name them. */
export type GateReason =
  | 'ReferentKindUnavailable'
  | 'ReferentNotFound'
  | 'ReferentDeleting'
  | 'ReferentTerminal'
  | 'ReferentNotReady'
  | 'ValueMissing'

/** A value with the object it was read from, or the reason why there is none. */
export type GateResult =
  | {
      readonly state: 'ready'
      readonly value: string | number | boolean
      readonly uid: string
      readonly generation: number
    }
  | { readonly state: GateReason; readonly message: string; readonly uid?: string }

/** Parts of a reference that decide what its dependents see of a referent. */
export interface View {
  readonly valuePath: string
  readonly waitFor: WaitFor
}

function conditionsOf(object: KubeObject): readonly Condition[] {
  const list = (object['status'] as { conditions?: unknown } | undefined)?.conditions
  return Array.isArray(list) ? (list as readonly Condition[]) : []
}

/** Returns why the referent has not reached the state of its present generation; undefined when it has. */
function unsynced(object: KubeObject, fromSpec: boolean): string | undefined {
  const list = conditionsOf(object)
  const synced = findCondition(list, 'ACK.ResourceSynced') ?? findCondition(list, 'Ready')
  if (synced === undefined) return 'has no condition ACK.ResourceSynced yet'
  const { generation = 0 } = object.metadata
  const { observedGeneration } = (object['status'] ?? {}) as { observedGeneration?: number }
  const observed = synced.observedGeneration ?? observedGeneration
  if (observed !== undefined && observed < generation)
    return `was observed at generation ${observed}, its generation is ${generation}`
  // A value in the spec of an unobserved generation names what may not exist yet; one in the status cannot run ahead.
  if (observed === undefined && fromSpec && generation > 1) return 'does not report observedGeneration'
  if (synced.status === 'True') return undefined
  return `is not synced${synced.message === '' || synced.message === undefined ? '' : `: ${synced.message}`}`
}

function isValue(value: JsonValue | undefined): value is string | number | boolean {
  return typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value !== '')
}

/** Judges a referent in the order kind, existence, deletion, Terminal, generation, Synced, value. */
export function gate(found: Lookup, { valuePath, waitFor }: View): GateResult {
  if (found.state === 'unknown') return { state: 'ReferentKindUnavailable', message: found.message }
  if (found.state === 'absent') return { state: 'ReferentNotFound', message: 'does not exist' }
  const { object } = found
  const { uid = '', generation = 0 } = object.metadata
  if (isTerminating(object)) return { state: 'ReferentDeleting', message: 'is being deleted', uid }
  if (waitFor !== 'Exists') {
    const terminal = findCondition(conditionsOf(object), 'ACK.Terminal')
    if (terminal?.status === 'True')
      return {
        state: 'ReferentTerminal',
        message: `has failed for good${terminal.message ? `: ${terminal.message}` : ''}`,
        uid,
      }
  }
  if (waitFor === 'Synced') {
    const message = unsynced(object, valuePath.startsWith('spec.'))
    if (message !== undefined) return { state: 'ReferentNotReady', message, uid }
  }
  const value = valueAt(object as unknown as JsonObject, valuePath)
  if (typeof value === 'object' && value !== null) {
    const message = `has a ${Array.isArray(value) ? 'list' : 'map'} at ${valuePath}: name a string, number or boolean`
    return { state: 'ValueMissing', message, uid }
  }
  if (!isValue(value)) return { state: 'ValueMissing', message: `has no value at ${valuePath}`, uid }
  return { state: 'ready', value, uid, generation }
}
