// A group: one parent, one map key, the input it stands for and the outputs that carry the key. Says whose an output is and what happens next.
import type { KubeObject } from '@fairlead/kube'
import { controllerOf, isTerminating } from '@fairlead/kube'
import type { Identity } from './identity.ts'
import { formatIdentity, identityOf } from './identity.ts'
import { tagOf } from './tag.ts'

/** Whose an object of an output kind is, seen from one controller. */
export type OutputRole =
  /** Tagged by the controller and controlled by the object of that uid. */
  | { readonly role: 'output'; readonly parentUid: string; readonly mapKey: string; readonly input: Identity }
  /** Tagged by the controller, controlled by nobody: the parent of this identity may adopt it (Q8). */
  | { readonly role: 'orphan'; readonly parent: string; readonly mapKey: string; readonly input: Identity }
  | { readonly role: 'stranger' }

/** The role of an object for the MapController of that name. */
export function outputRole(object: KubeObject, controllerName: string): OutputRole {
  const tag = tagOf(object)
  if (tag === undefined || tag.controller !== controllerName) return { role: 'stranger' }
  const owner = controllerOf(object)
  const { mapKey, input } = tag
  if (owner !== undefined) return { role: 'output', parentUid: owner.uid, mapKey, input }
  if (isTerminating(object)) return { role: 'stranger' }
  return { role: 'orphan', parent: formatIdentity(tag.parent), mapKey, input }
}

/** The object is an output of this parent's group `mapKey`. */
export function isOutputOf(object: KubeObject, controllerName: string, parent: KubeObject, mapKey: string): boolean {
  const role = outputRole(object, controllerName)
  return role.role === 'output' && role.parentUid === parent.metadata.uid && role.mapKey === mapKey
}

/** The object is an orphan that this parent may adopt into the group `mapKey`: its tag names parent and controller. */
export function isOrphanOf(object: KubeObject, controllerName: string, parent: KubeObject, mapKey: string): boolean {
  const role = outputRole(object, controllerName)
  return role.role === 'orphan' && role.parent === formatIdentity(identityOf(parent)) && role.mapKey === mapKey
}

/** What is known of a group when it is its turn. */
export interface GroupFacts {
  readonly parent: KubeObject
  /** The input as it matches the parent; `stopped` when its chain is too long; undefined when there is none. */
  readonly input: KubeObject | 'stopped' | undefined
  readonly outputs: readonly KubeObject[]
  /** Every output kind has been listed and is being watched. */
  readonly outputsKnown: boolean
  /** Every input kind has been listed and is being watched, and the parent's selector is valid (Q2, Q23). */
  readonly inputsKnown: boolean
  readonly hasTombstoneHook: boolean
}

/** What a group needs. */
export type Step =
  /** Ask the map hook. */
  | 'map'
  /** Ask the tombstone hook which outputs stay. */
  | 'tombstone'
  /** Nobody is to be asked: the outputs go (R15). */
  | 'delete'
  /** Too little is known to decide; wait until it is. Unknown is not gone. */
  | 'wait'
  /** The chain of maps is too long: leave everything as it is and say so. */
  | 'stop'
  /** Nothing is left of the group, or the parent is going away (Q19). */
  | 'nothing'

/** The next step of a group. Deletes are only ever reached with everything known. */
export function nextStep(facts: GroupFacts): Step {
  if (isTerminating(facts.parent)) return 'nothing'
  if (!facts.outputsKnown) return 'wait'
  if (facts.input === 'stopped') return 'stop'
  if (facts.input !== undefined) return 'map'
  if (facts.outputs.length === 0) return 'nothing'
  if (!facts.inputsKnown) return 'wait'
  return facts.hasTombstoneHook ? 'tombstone' : 'delete'
}
