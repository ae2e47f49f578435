// The state of an object, from its conditions, kstatus' rules for built-in kinds, and deletion. Pure.
import { builtinHealth, findCondition, isTerminating, staleness } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'

/**
 * - `Ready`: its conditions say so;
 * - `NotReady`: something must change before it becomes ready;
 * - `Waiting`: work on it goes on, or has not begun;
 * - `Terminating`: it is being deleted;
 * - `Exists`: nothing of its kind says whether it is ready, as for ConfigMaps;
 * - `Missing`: something names it, and it does not exist;
 * - `Unknown`: it cannot be read.
 */
export type StateName = 'Ready' | 'NotReady' | 'Waiting' | 'Terminating' | 'Exists' | 'Missing' | 'Unknown'

/** The state of an object, why, and what to do next where that is known. */
export interface ObjectState {
  readonly state: StateName
  /** A word, such as the reason of the condition that decided; '' where there is nothing to say. */
  readonly reason: string
  /** A sentence; '' where there is nothing to say. */
  readonly message: string
  /** The next step, such as a command. */
  readonly next?: string
}

/** Conditions that say whether an object is ready, where it has no Ready. The first that it has decides. */
const summaries = ['Available', 'Healthy', 'Succeeded', 'Complete', 'Synced', 'ACK.ResourceSynced', 'Accepted']
/** Conditions that are True when something is wrong. */
const failures = ['ACK.Terminal', 'Failed', 'Degraded']

/** Returns the state of an object. `reports` says that its kind has a controller that sets conditions. */
export function stateOf(object: KubeObject, reports = false): ObjectState {
  if (isTerminating(object)) return terminating(object)
  const stale = staleness(object)
  if (stale !== undefined) return { state: 'Waiting', reason: 'Stale', message: stale }
  const health = builtinHealth(object) ?? summary(object)
  if (health !== undefined) {
    const { status, reason = '', message } = health
    if (status === 'True') return { state: 'Ready', reason, message }
    return { state: status === 'False' ? 'NotReady' : 'Waiting', reason, message }
  }
  return reports ? unreported : { state: 'Exists', reason: '', message: '' }
}

/** Returns whether a state ends a search for causes: nothing is waited for. */
export function isFine({ state }: Pick<ObjectState, 'state'>): boolean {
  return state === 'Ready' || state === 'Exists'
}

const unreported: ObjectState = {
  state: 'Waiting',
  reason: 'NotReported',
  message: 'no controller has reported on it yet',
  next: 'see whether the controllers run: fairlead doctor',
}

function terminating(object: KubeObject): ObjectState {
  const { deletionTimestamp = '', finalizers = [] } = object.metadata
  const parts = [
    `since ${deletionTimestamp}`,
    ...(finalizers.length === 0 ? [] : [`it waits for ${finalizersOf(finalizers)}`]),
    ...remaining(object),
  ]
  return {
    state: 'Terminating',
    reason: 'Terminating',
    message: parts.join('; '),
    ...(finalizers.length === 0 ? {} : { next: 'see whether the controller runs that removes it when it is done' }),
  }
}

/** Returns what conditions say of a deletion: what a namespace still has, or why an object cannot be removed yet. */
function remaining(object: KubeObject): readonly string[] {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown }
  const all = Array.isArray(conditions) ? (conditions as readonly Condition[]) : []
  if (object.kind === 'Namespace' && object.apiVersion === 'v1')
    return all.filter(({ status }) => status === 'True').map(({ message }) => message)
  const ready = findCondition(all, 'Ready')
  return ready === undefined || ready.status === 'True' || !ready.message ? [] : [ready.message]
}

function finalizersOf(finalizers: readonly string[]): string {
  return `${finalizers.length === 1 ? 'the finalizer' : 'the finalizers'} ${finalizers.join(', ')}`
}

function summary({ status }: KubeObject): Pick<Condition, 'status' | 'reason' | 'message'> | undefined {
  const { conditions } = (status ?? {}) as { conditions?: unknown }
  if (!Array.isArray(conditions)) return undefined
  const all = conditions as readonly Condition[]
  const failed = failures.map((type) => findCondition(all, type)).find((one) => one?.status === 'True')
  if (failed !== undefined) return { status: 'False', reason: failed.reason ?? '', message: failed.message ?? '' }
  const found = summaries.map((type) => findCondition(all, type)).find((one) => one !== undefined)
  return found && { status: found.status, reason: found.reason ?? '', message: found.message ?? '' }
}
