// Who owns whom, by uid. Fed by the caches of all kinds; decides nothing.
import type { Kind } from '@fairlead/client'
import type { KubeObject, OwnerReference } from '@fairlead/kube'

/** The finalizer of an object whose dependents have to go first. */
export const foregroundFinalizer = 'foregroundDeletion'

/** The finalizer of an object whose dependents are to be kept. */
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

  /** How many objects are known. */
  get size(): number {
    return this.#nodes.size
  }

  node(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid)
  }

  nodes(): IterableIterator<[string, GraphNode]> {
    return this.#nodes.entries()
  }

  /** Uids of the objects that name `uid` as an owner. */
  dependentsOf(uid: string): ReadonlySet<string> {
    return this.#dependents.get(uid) ?? nobody
  }

  /** Adds an object or replaces what was known of it. */
  put(kind: Kind, object: KubeObject): void {
    const uid = object.metadata.uid!
    const before = this.#nodes.get(uid)
    this.#nodes.set(uid, { kind, object })
    const owners = ownersOf(object)
    if (before !== undefined && ownersOf(before.object) === owners) return
    if (before !== undefined) this.#disown(uid, before.object)
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner.uid)
      if (dependents === undefined) this.#dependents.set(owner.uid, new Set([uid]))
      else dependents.add(uid)
    }
  }

  /** Forgets an object; who depends on it stays known. */
  remove(uid: string): void {
    const node = this.#nodes.get(uid)
    if (node === undefined) return
    this.#nodes.delete(uid)
    this.#disown(uid, node.object)
  }

  #disown(uid: string, object: KubeObject): void {
    for (const owner of ownersOf(object)) {
      const dependents = this.#dependents.get(owner.uid)
      dependents?.delete(uid)
      if (dependents?.size === 0) this.#dependents.delete(owner.uid)
    }
  }
}

const nobody: ReadonlySet<string> = new Set()
const none: readonly OwnerReference[] = []

/** The owner references of an object. */
export function ownersOf(object: KubeObject): readonly OwnerReference[] {
  return object.metadata.ownerReferences ?? none
}

/** The object is being deleted and waits with this finalizer. */
export function waitsWith(object: KubeObject, finalizer: string): boolean {
  return object.metadata.deletionTimestamp !== undefined && object.metadata.finalizers?.includes(finalizer) === true
}

/** The object keeps this owner from going in the foreground. */
export function blocks(object: KubeObject, owner: string): boolean {
  return ownersOf(object).some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true)
}
