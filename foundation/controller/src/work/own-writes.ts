// Telling our own writes from those of others, so that they do not wake the item that made them (specs/foundation.md
// §3).

/** One object, by group, kind and key. */
export function objectId(of: { readonly group: string; readonly kind: string }, key: string): string {
  return `${of.kind}.${of.group}|${key}`
}

/** A change as the watch tells it. */
export interface ObservedChange {
  readonly type: 'added' | 'changed' | 'removed'
  readonly resourceVersion: string
}

interface Writing {
  /** Writes of this item to this object whose answers are not here yet. */
  inFlight: number
  /** Changes that came meanwhile. */
  held: ObservedChange[]
  /** Revisions of our writes whose events are still to come, with how often each has come already. */
  expected: Map<string, number>
  /** We deleted the object: how often its removal has come already; undefined when none is still to come. */
  removal: number | undefined
}

/**
 * While an item writes an object, changes of that object wait; with the answer, the one change that the write caused is
 * dropped and all others wake. A change whose event comes after the answer is dropped then. Others than the writing
 * item are never held back.
 *
 * `times` says how many caches may tell the item of one change: each of them is silenced.
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
    if (writing === undefined) items.set(item, { inFlight: 1, held: [], expected: new Map(), removal: undefined })
    else writing.inFlight++
  }

  /**
   * The write was answered: `resourceVersion` is the object's now, undefined when it is gone. `cached` is the version
   * in the cache, if any: a write that changed nothing causes no event. Returns whether a change by others came
   * meanwhile, which must wake the item.
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
      resourceVersion === undefined ? change.type === 'removed' : change.resourceVersion === resourceVersion
    const seen = writing.held.filter(isOurs).length
    writing.held = writing.held.filter((change) => !isOurs(change))
    const more =
      seen > 0 ? seen < times : resourceVersion === undefined ? cached !== undefined : isNewer(resourceVersion, cached)
    if (more && resourceVersion === undefined) writing.removal = seen
    else if (more) writing.expected.set(resourceVersion!, seen)
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
  suppresses(object: string, item: string, change: ObservedChange, times: number = 1): boolean {
    const writing = this.#writing.get(object)?.get(item)
    if (writing === undefined) return false
    if (takeExpected(writing, change, times)) {
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

  #settle(object: string, item: string, writing: Writing): boolean {
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

/** The change is one of ours; it counts as told once more. */
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

/** Revisions of one server are numbers that rise (Kubernetes 1.35 promises it). */
function isNewer(resourceVersion: string, than: string | undefined): boolean {
  return than === undefined || Number(resourceVersion) > Number(than)
}
