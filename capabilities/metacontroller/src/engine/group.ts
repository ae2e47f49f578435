// A group: one parent, one map key, the input that the key was made from and the outputs that carry the key. Says to
// which group an output belongs and which step a group needs.
import type { KubeObject, OwnerReference } from '@fairlead/kube'
import { controllerOf, isTerminating, parseApiVersion } from '@fairlead/kube'
import type { Identity } from './identity.ts'
import { formatIdentity, identityOf } from './identity.ts'
import type { SelectedParent } from './selection.ts'
import { tagOf } from './tag.ts'

/** A group: a parent and one of its map keys. */
export interface Group {
  readonly parent: SelectedParent
  readonly mapKey: string
}

/** The role of an object of an output kind for one controller. */
export type OutputRole =
  /** Tagged by the controller, and controlled (or owned, as the tag says) by the object of that uid and identity. */
  | {
      readonly role: 'output'
      readonly parentUid: string
      readonly parent: string
      readonly mapKey: string
      readonly input: Identity
    }
  /** Tagged by the controller, without such an owner: the parent of this identity may adopt it (Q8). */
  | { readonly role: 'orphan'; readonly parent: string; readonly mapKey: string; readonly input: Identity }
  /** Not an output of the controller. */
  | { readonly role: 'foreign' }

/**
 * Returns the role of an object for the MapController of that name. An owner cannot own across namespaces, and anybody
 * can write tags and owner references into a namespace of their own: an object that names a parent in another namespace
 * is foreign, and so is one whose owner reference and tag name different parents.
 */
export function outputRole(object: KubeObject, controllerName: string): OutputRole {
  const tag = tagOf(object)
  if (tag === undefined || tag.controller !== controllerName || !mayBelongTo(object, tag.parent))
    return { role: 'foreign' }
  const { ownerReferences = [] } = object.metadata
  const owner =
    tag.ownership === 'Owner' ? ownerReferences.find((one) => refersTo(one, tag.parent)) : controllerOf(object)
  const { mapKey, input } = tag
  const parent = formatIdentity(tag.parent)
  if (owner !== undefined) {
    return refersTo(owner, tag.parent)
      ? { role: 'output', parentUid: owner.uid, parent, mapKey, input }
      : { role: 'foreign' }
  }
  if (isTerminating(object)) return { role: 'foreign' }
  return { role: 'orphan', parent, mapKey, input }
}

/** Returns whether the object is an output of this parent: by uid, and by identity, which includes the namespace. */
export function isOutputOfParent(role: OutputRole, parent: KubeObject): role is OutputRole & { role: 'output' } {
  return (
    role.role === 'output' &&
    role.parentUid === parent.metadata.uid &&
    role.parent === formatIdentity(identityOf(parent))
  )
}

/** Returns whether the object is an output of this parent's group `mapKey`. */
export function isOutputOf(object: KubeObject, controllerName: string, parent: KubeObject, mapKey: string): boolean {
  const role = outputRole(object, controllerName)
  return isOutputOfParent(role, parent) && role.mapKey === mapKey
}

function mayBelongTo(object: KubeObject, parent: Identity): boolean {
  return parent.namespace === '' || parent.namespace === object.metadata.namespace
}

function refersTo({ apiVersion, kind, name }: OwnerReference, parent: Identity): boolean {
  return parseApiVersion(apiVersion).group === parent.group && kind === parent.kind && name === parent.name
}

/** The observed state that decides on the step of a group. */
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

/** The next step of a group. */
export type Step =
  /** Call the map hook. */
  | 'map'
  /** Call the tombstone hook, which names the outputs to keep. */
  | 'tombstone'
  /** There is no tombstone hook: delete the outputs (R15). */
  | 'delete'
  /** Too little is known to decide; wait until it is. Unknown is not deleted. */
  | 'wait'
  /** The chain of maps is too long: change nothing and warn. */
  | 'stop'
  /** The group is empty, or the parent is being deleted (Q19). */
  | 'nothing'

/** Returns the next step of a group. Deletes are only ever reached with everything known. */
export function nextStep(facts: GroupFacts): Step {
  if (isTerminating(facts.parent)) return 'nothing'
  if (!facts.outputsKnown) return 'wait'
  if (facts.input === 'stopped') return 'stop'
  if (facts.input !== undefined) return 'map'
  if (facts.outputs.length === 0) return 'nothing'
  if (!facts.inputsKnown) return 'wait'
  return facts.hasTombstoneHook ? 'tombstone' : 'delete'
}
