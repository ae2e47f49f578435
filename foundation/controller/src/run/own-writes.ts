// Telling our own writes from those of others, so that they do not wake the item that made them (specs/foundation.md §3).

/** One object, by group, kind and key. */
export function objectId(of: { readonly group: string; readonly kind: string }, key: string): string {
  return `${of.kind}.${of.group}|${key}`
}

/** A change as the watch tells it. */
export interface SeenChange {
  readonly type: 'added' | 'changed' | 'removed'
  readonly resourceVersion: string
}

interface Writing {
  /** Writes of this item to this object whose answers are not here yet. */
  inFlight: number
  /** Changes that came meanwhile. */
  held: SeenChange[]
  /** Revisions of our writes whose events are still to come. */
  expected: Set<string>
  /** We deleted the object and its removal is still to come. */
  removal: boolean
}

/**
 * While an item writes an object, changes of that object wait; with the answer, the one change that the write caused is dropped and all
 * others wake. A change whose event comes after the answer is dropped then. Others than the writing item are never held back.
 */
export class OwnWrites {
  readonly #writing = new Map<string, Map<string, Writing>>()

  /** Objects with a write in flight or an event to come. */
  get size(): number {
    return this.#writing.size
  }

  /** `item` begins to write `object`. */
  begin(object: string, item: string): void {
    let items = this.#writing.get(object)
    if (items === undefined) this.#writing.set(object, (items = new Map()))
    const writing = items.get(item)
    if (writing === undefined) items.set(item, { inFlight: 1, held: [], expected: new Set(), removal: false })
    else writing.inFlight++
  }

  /**
   * The write was answered: `resourceVersion` is the object's now, undefined when it is gone. `cached` is the version in the cache, if any: a
   * write that changed nothing causes no event. Returns whether a change by others came meanwhile, which must wake the item.
   */
  wrote(object: string, item: string, resourceVersion: string | undefined, cached: string | undefined): boolean {
    const writing = this.#writing.get(object)?.get(item)
    if (writing === undefined) return false
    writing.inFlight--
    if (resourceVersion === undefined) this.#expectRemoval(writing, cached)
    else if (
      !this.#takeHeld(writing, (change) => change.resourceVersion === resourceVersion) &&
      isNewer(resourceVersion, cached)
    )
      writing.expected.add(resourceVersion)
    return this.#settle(object, item, writing)
  }

  /** The write failed. Returns whether a change came meanwhile: without an answer it may be anyone's. */
  failed(object: string, item: string): boolean {
    const writing = this.#writing.get(object)?.get(item)
    if (writing === undefined) return false
    writing.inFlight--
    return this.#settle(object, item, writing)
  }

  /** Whether a change of `object` must not wake `item`: it is the item's own, or waits for an answer. */
  silences(object: string, item: string, change: SeenChange): boolean {
    const writing = this.#writing.get(object)?.get(item)
    if (writing === undefined) return false
    if (writing.expected.delete(change.resourceVersion) || (writing.removal && change.type === 'removed')) {
      if (change.type === 'removed') writing.removal = false
      this.#clean(object, item, writing)
      return true
    }
    if (writing.inFlight > 0) {
      writing.held.push(change)
      return true
    }
    for (const revision of writing.expected)
      if (!isNewer(revision, change.resourceVersion)) writing.expected.delete(revision)
    this.#clean(object, item, writing)
    return false
  }

  /** `item` is not worked on by us any more. */
  forget(item: string): void {
    for (const [object, items] of this.#writing) {
      items.delete(item)
      if (items.size === 0) this.#writing.delete(object)
    }
  }

  #expectRemoval(writing: Writing, cached: string | undefined): void {
    if (!this.#takeHeld(writing, (change) => change.type === 'removed') && cached !== undefined) writing.removal = true
  }

  #takeHeld(writing: Writing, isOurs: (change: SeenChange) => boolean): boolean {
    const place = writing.held.findIndex(isOurs)
    if (place >= 0) writing.held.splice(place, 1)
    return place >= 0
  }

  #settle(object: string, item: string, writing: Writing): boolean {
    if (writing.inFlight > 0) return false
    const foreign = writing.held.length > 0
    writing.held = []
    this.#clean(object, item, writing)
    return foreign
  }

  #clean(object: string, item: string, writing: Writing): void {
    if (writing.inFlight > 0 || writing.expected.size > 0 || writing.removal) return
    const items = this.#writing.get(object)
    items?.delete(item)
    if (items?.size === 0) this.#writing.delete(object)
  }
}

/** Revisions of one server are numbers that rise (Kubernetes 1.35 promises it). */
function isNewer(resourceVersion: string, than: string | undefined): boolean {
  return than === undefined || Number(resourceVersion) > Number(than)
}
