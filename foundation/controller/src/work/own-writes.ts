// Distinguishes an item's own writes from other changes, so that they do not wake the item (specs/foundation.md §3).

/** Returns the id of an object, from group, kind and key. */
export function objectId(of: { readonly group: string; readonly kind: string }, key: string): string {
  return `${of.kind}.${of.group}|${key}`
}

/** A change that a watch reported. */
export interface ObservedChange {
  readonly type: 'added' | 'changed' | 'removed'
  readonly resourceVersion: string
  /** True when a relist found it: it may contain foreign changes before our write, so it is never ours alone. */
  readonly relisted?: boolean
}

interface Writing {
  /** Writes of this item to this object without a response yet. */
  inFlight: number
  /** Changes that arrived meanwhile. */
  held: ObservedChange[]
  /** Revisions of our writes whose events are still expected, with the number of times each has arrived. */
  expected: Map<string, number>
  /** Number of times that the removal of an object that we deleted has arrived; undefined when none is expected. */
  removal: number | undefined
}

/**
 * While an item writes an object, changes of that object are held for the item; after the response, the change that the
 * write caused is dropped and all others wake the item. If its event arrives after the response, it is dropped then.
 * Other items are never delayed.
 *
 * `times` is the number of caches that may report one change to the item: all of these reports are suppressed.
 */
export class OwnWrites {
  readonly #writing = new Map<string, Map<string, Writing>>()

  /** Number of objects with a write in flight or an expected event. */
  get size(): number {
    return this.#writing.size
  }

  /** Records that `item` starts to write `object`. */
  begin(object: string, item: string): void {
    let items = this.#writing.get(object)
    if (items === undefined) this.#writing.set(object, (items = new Map()))
    const writing = items.get(item)
    if (writing === undefined) items.set(item, { inFlight: 1, held: [], expected: new Map(), removal: undefined })
    else writing.inFlight++
  }

  /**
   * Records the response to the write: `resourceVersion` is the object's new one, undefined when it was deleted.
   * `cached` is the version in the cache, if any: a write that changed nothing causes no event. Returns whether a
   * foreign change arrived meanwhile, which must wake the item.
   */
  wrote(
    object: string,
    item: string,
    resourceVersion: string | undefined,
    cached: string | undefined,
    times: number = 1,
  ): boolean {
    const writing = this.#writing.get(object)?.get(item)
    if (writing === undefined) return false
    writing.inFlight--
    const isOurs = (change: ObservedChange): boolean =>
      change.relisted !== true &&
      (resourceVersion === undefined ? change.type === 'removed' : change.resourceVersion === resourceVersion)
    const seen = writing.held.filter(isOurs).length
    writing.held = writing.held.filter((change) => !isOurs(change))
    const more =
      seen > 0 ? seen < times : resourceVersion === undefined ? cached !== undefined : isNewer(resourceVersion, cached)
    if (more && resourceVersion === undefined) writing.removal = seen
    else if (more) writing.expected.set(resourceVersion!, seen)
    return this.#finish(object, item, writing)
  }

  /** Records that the write failed. Returns whether a change arrived meanwhile: its author is unknown. */
  failed(object: string, item: string): boolean {
    const writing = this.#writing.get(object)?.get(item)
    if (writing === undefined) return false
    writing.inFlight--
    return this.#finish(object, item, writing)
  }

  /** Reports whether a change of `object` must not wake `item`: it is the item's own, or held until the response. */
  suppresses(object: string, item: string, change: ObservedChange, times: number = 1): boolean {
    const writing = this.#writing.get(object)?.get(item)
    if (writing === undefined) return false
    if (takeExpected(writing, change, times) && change.relisted !== true) {
      this.#clean(object, item, writing)
      return true
    }
    if (writing.inFlight > 0) {
      writing.held.push(change)
      return true
    }
    for (const revision of writing.expected.keys())
      if (!isNewer(revision, change.resourceVersion)) writing.expected.delete(revision)
    if (change.type === 'added') writing.removal = undefined
    this.#clean(object, item, writing)
    return false
  }

  #finish(object: string, item: string, writing: Writing): boolean {
    if (writing.inFlight > 0) return false
    const foreign = writing.held.length > 0
    writing.held = []
    this.#clean(object, item, writing)
    return foreign
  }

  #clean(object: string, item: string, writing: Writing): void {
    if (writing.inFlight > 0 || writing.expected.size > 0 || writing.removal !== undefined) return
    const items = this.#writing.get(object)
    items?.delete(item)
    if (items?.size === 0) this.#writing.delete(object)
  }
}

/** Reports whether the change is our own, and counts its arrival. */
function takeExpected(writing: Writing, change: ObservedChange, times: number): boolean {
  const seen = writing.expected.get(change.resourceVersion)
  if (seen !== undefined) {
    if (seen + 1 < times) writing.expected.set(change.resourceVersion, seen + 1)
    else writing.expected.delete(change.resourceVersion)
    return true
  }
  if (writing.removal === undefined || change.type !== 'removed') return false
  writing.removal = writing.removal + 1 < times ? writing.removal + 1 : undefined
  return true
}

/** Compares resourceVersions: increasing numbers within one server (guaranteed since Kubernetes 1.35). */
function isNewer(resourceVersion: string, than: string | undefined): boolean {
  return than === undefined || Number(resourceVersion) > Number(than)
}
