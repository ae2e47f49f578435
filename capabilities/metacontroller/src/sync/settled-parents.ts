// The last request of each parent whose response changed nothing. After a child was changed by others and written back,
// the hook would be sent the same again: that call is left out (ADR 0105). While a hook responds the same, only the
// children that changed are compared with its response. Start with SettledParents.isRestored.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson, jsonEqual } from '@fairlead/kube'
import { parentChangeMatters } from '../engine/trigger.ts'

/** The objects of a sync request. */
export interface ShownObjects {
  readonly controller: KubeObject
  readonly parent: KubeObject
  readonly children: readonly KubeObject[]
  readonly related: readonly KubeObject[]
}

/** A sync request, and a digest of the response. */
export interface AnsweredSync {
  readonly shown: ShownObjects
  readonly response: string
  /** The response asked for no write. */
  readonly isSettled: boolean
}

interface Settled {
  shown: ShownObjects
  readonly response: string
  /** Children that others had changed when the hook was called last, as they were then. The hook did not mind. */
  changed: ReadonlyMap<string, KubeObject> | undefined
}

/** The settled parents of one controller, by uid. */
export class SettledParents {
  readonly #settled = new Map<string, Settled>()

  /**
   * Returns whether a request would show the hook what it was shown before the last call: the response to both was the
   * same, and the objects differ from the earlier ones in the versions of children that others changed and the last
   * sync wrote back. Hooks that use these versions responded differently to the change. True at most once after a
   * call.
   */
  isRestored(shown: ShownObjects): boolean {
    const settled = this.#settled.get(uidOf(shown.parent))
    const changed = settled?.changed
    if (settled === undefined || changed === undefined) return false
    settled.changed = undefined
    if (!hasSameSurroundings(settled.shown, shown) || settled.shown.children.length !== shown.children.length)
      return false
    const before = byUid(settled.shown.children)
    const isSame = shown.children.every((child) => {
      const earlier = before.get(uidOf(child))
      if (earlier === undefined) return false
      return isSameVersion(earlier, child) || isRestoredChild(earlier, changed.get(uidOf(child)), child)
    })
    if (isSame) settled.shown = shown
    return isSame
  }

  /**
   * Returns the children that need not be compared with a response: the same response asked for no write when they were
   * as they are now.
   */
  unchanged({ shown, response }: Omit<AnsweredSync, 'isSettled'>): ReadonlySet<KubeObject> {
    const settled = this.#settled.get(uidOf(shown.parent))
    const isSame = settled?.response === response && hasSameSurroundings(settled.shown, shown)
    return new Set(isSame ? settled.shown.children : [])
  }

  /** Records a call whose sync succeeded. */
  record({ shown, response, isSettled }: AnsweredSync): void {
    const uid = uidOf(shown.parent)
    const settled = this.#settled.get(uid)
    if (isSettled) this.#settled.set(uid, { shown, response, changed: undefined })
    else if (settled?.response === response && hasSameSurroundings(settled.shown, shown)) {
      const before = byUid(settled.shown.children)
      settled.changed = byUid(
        shown.children.filter((child) => {
          const earlier = before.get(uidOf(child))
          return earlier !== undefined && !isSameVersion(earlier, child)
        }),
      )
    } else this.forget(uid)
  }

  /** Forgets a parent: it was deleted, or its next call must not be left out. */
  forget(uid: string): void {
    this.#settled.delete(uid)
  }
}

/** Returns whether all but the children is as it was; reports of the controller do not count, they call no hook. */
function hasSameSurroundings(one: ShownObjects, other: ShownObjects): boolean {
  return (
    one.controller.metadata.uid === other.controller.metadata.uid &&
    !parentChangeMatters(one.controller, other.controller) &&
    isSameVersion(one.parent, other.parent) &&
    one.related.length === other.related.length &&
    one.related.every((object, at) => isSameVersion(object, other.related[at]!))
  )
}

function isSameVersion(one: KubeObject, other: KubeObject): boolean {
  if (one === other) return true
  const [a, b] = [one.metadata, other.metadata]
  return a.uid === b.uid && a.resourceVersion === b.resourceVersion
}

/**
 * Returns whether a child differs from an earlier version of it only in what every write changes. Its generation must
 * have differed in the version between them, too: a hook that compares it with the status responds differently.
 */
function isRestoredChild(earlier: KubeObject, between: KubeObject | undefined, now: KubeObject): boolean {
  if (between === undefined) return false
  const { generation } = earlier.metadata
  const isGenerationShown = now.metadata.generation === generation || between.metadata.generation !== generation
  return isGenerationShown && jsonEqual(withoutVersions(earlier), withoutVersions(now))
}

/** Returns an object without the fields that every write changes. The owners of its fields stay: they decide, too. */
function withoutVersions(object: KubeObject): JsonObject {
  const { resourceVersion: _version, generation: _generation, managedFields = [], ...metadata } = object.metadata
  const owners = managedFields.map(({ time: _time, ...owner }) => owner)
  return asJson({ ...object, metadata: { ...metadata, managedFields: owners } })
}

function byUid(objects: readonly KubeObject[]): ReadonlyMap<string, KubeObject> {
  return new Map(objects.map((object) => [uidOf(object), object]))
}

function uidOf({ metadata }: KubeObject): string {
  return metadata.uid ?? ''
}
