// Watches names that foreign objects have: each by itself, so that the group that needs the name is enqueued once it is
// free.
import { kindOfObject } from '@fairlead/client'
import type { InformerPool, ObjectChange } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { controllerOf } from '@fairlead/kube'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { tagOf } from '../engine/tag.ts'
import type { GroupRef } from './group-state.ts'

/** Names that are watched at a time, for each controller; groups beyond that rely on their retries. */
const maxWatches = 100

interface NameWatches {
  /** The watched objects, as a string. */
  readonly watched: string
  readonly disposables: readonly Disposable[]
  readonly count: number
}

/** Watches the names that groups of one controller wait for. */
export class NameWatch implements Disposable {
  readonly #pool: InformerPool
  readonly #onFree: (group: GroupRef) => void
  readonly #watches = new Map<string, NameWatches>()
  #count = 0

  /** `onFree` is called when an existing object was deleted, replaced, or changed its owner or tag. */
  constructor(pool: InformerPool, onFree: (group: GroupRef) => void) {
    this.#pool = pool
    this.#onFree = onFree
  }

  /** Watches the objects that have the names of a group's outputs, in place of those watched before. */
  watch(id: string, group: GroupRef, existing: readonly KubeObject[]): void {
    const watched = existing.map(claimOf).toSorted().join('\n')
    // A group that fails again for the same objects keeps its watches: only an event may end its backoff.
    if (this.#watches.get(id)?.watched === watched) return
    this.release(id)
    const left = existing.slice(0, maxWatches - this.#count)
    if (left.length === 0) return
    this.#count += left.length
    const disposables = left.flatMap((known) => this.#watchOne(known, group))
    this.#watches.set(id, { watched, disposables, count: left.length })
  }

  /** Stops watching for a group. */
  release(id: string): void {
    const watches = this.#watches.get(id)
    if (watches === undefined) return
    for (const watch of watches.disposables) watch[Symbol.dispose]()
    this.#count -= watches.count
    this.#watches.delete(id)
  }

  [Symbol.dispose](): void {
    for (const id of this.#watches.keys()) this.release(id)
  }

  /**
   * Watches one object. Its cache is not the one that the refusal came from, and may be older: objects that it has
   * already are not replayed, so that two caches that disagree cause no retry.
   */
  #watchOne(known: KubeObject, group: GroupRef): Disposable[] {
    const { namespace = '', name = '' } = known.metadata
    const use = this.#pool.use(kindOfObject(known), {
      ...(namespace === '' ? {} : { namespace }),
      fieldSelector: `metadata.name=${name}`,
    })
    const claim = claimOf(known)
    const changed = ({ object, type }: ObjectChange): void => {
      if (type === 'removed' || claimOf(object) !== claim) this.#onFree(group)
    }
    const listed = (): void => {
      const read = use.informer.read()
      if (read.known && !read.objects.has({ namespace, name })) this.#onFree(group)
    }
    return [use.informer.subscribe({ changed, state: listed }, { replay: false }), use]
  }
}

/** Returns what makes an object foreign, as a string: its uid, its owner and its tag. */
function claimOf(object: KubeObject): string {
  const tag = tagOf(object)
  const tagged = tag === undefined ? '' : `${tag.controller} ${formatIdentity(tag.parent)} ${tag.mapKey}`
  const { uid = '' } = object.metadata
  return [formatIdentity(identityOf(object)), uid, controllerOf(object)?.uid ?? '', tagged].join('|')
}
