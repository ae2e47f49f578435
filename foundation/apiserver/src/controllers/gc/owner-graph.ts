// The graph of objects and their owners, by uid. Filled from the informers of all resources; makes no decisions.
import type { Kind } from '@fairlead/client'
import type { KubeObject, OwnerReference } from '@fairlead/kube'

/** The finalizer of an object whose dependents are deleted first. */
export const foregroundFinalizer = 'foregroundDeletion'

/** The finalizer of an object whose dependents are orphaned. */
export const orphanFinalizer = 'orphan'

/** One object of the cluster. */
export interface GraphNode {
  readonly kind: Kind
  /** The newest known state, frozen. */
  readonly object: KubeObject
}

/** Every object by uid, and every object by the uids of its owners, whether those exist or not. */
export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>()
  readonly #dependents = new Map<string, Set<string>>()

  /** Number of known objects. */
  get size(): number {
    return this.#nodes.size
  }

  node(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid)
  }

  nodes(): IterableIterator<[string, GraphNode]> {
    return this.#nodes.entries()
  }

  /** Returns the uids of the objects with an owner reference to `uid`. */
  dependentsOf(uid: string): ReadonlySet<string> {
    return this.#dependents.get(uid) ?? noDependents
  }

  /** Adds an object or replaces its state. */
  put(kind: Kind, object: KubeObject): void {
    const uid = object.metadata.uid!
    const before = this.#nodes.get(uid)
    this.#nodes.set(uid, { kind, object })
    const owners = ownersOf(object)
    if (before !== undefined && ownersOf(before.object) === owners) return
    if (before !== undefined) this.#removeFromOwners(uid, before.object)
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner.uid)
      if (dependents === undefined) this.#dependents.set(owner.uid, new Set([uid]))
      else dependents.add(uid)
    }
  }

  /** Removes an object; its dependents stay known. */
  remove(uid: string): void {
    const node = this.#nodes.get(uid)
    if (node === undefined) return
    this.#nodes.delete(uid)
    this.#removeFromOwners(uid, node.object)
  }

  #removeFromOwners(uid: string, object: KubeObject): void {
    for (const owner of ownersOf(object)) {
      const dependents = this.#dependents.get(owner.uid)
      dependents?.delete(uid)
      if (dependents?.size === 0) this.#dependents.delete(owner.uid)
    }
  }
}

const noDependents: ReadonlySet<string> = new Set()
const none: readonly OwnerReference[] = []

/** Returns the owner references of an object. */
export function ownersOf(object: KubeObject): readonly OwnerReference[] {
  return object.metadata.ownerReferences ?? none
}

/** Returns true when the object is terminating and has this finalizer. */
export function waitsWith(object: KubeObject, finalizer: string): boolean {
  return object.metadata.deletionTimestamp !== undefined && object.metadata.finalizers?.includes(finalizer) === true
}

/** Returns true when the object blocks the foreground deletion of this owner. */
export function blocks(object: KubeObject, owner: string): boolean {
  return ownersOf(object).some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true)
}
