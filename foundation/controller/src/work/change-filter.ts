// Decides which changes wake an item: each change once, and none that the item made itself.
import { objectKey } from '@fairlead/client'
import type { Kind, WriteObserver } from '@fairlead/client'
import { formatKey } from '@fairlead/kube'
import type { ObjectChange } from '../informer/informer.ts'
import { OwnWrites, objectId } from './own-writes.ts'
import type { WatchedKinds } from './watched-kinds.ts'

/** The filter of one loop. */
export class ChangeFilter {
  readonly #watched: WatchedKinds
  readonly #own = new OwnWrites()
  /** The change that is being delivered, and the items that it has reached. */
  #lastChange: ObjectChange | undefined
  readonly #reached = new Set<string>()

  constructor(watched: WatchedKinds) {
    this.#watched = watched
  }

  /** Reports whether a change wakes an item. */
  passes(kind: Kind, item: string, change: ObjectChange): boolean {
    // One cache may deliver a change to an item twice: as a watched object and as one that was read.
    if (change !== this.#lastChange) this.#reached.clear()
    this.#lastChange = change
    if (this.#reached.has(item)) return false
    this.#reached.add(item)
    if (this.#own.size === 0) return true
    const { object, type, relisted } = change
    const observed = { type, resourceVersion: object.metadata.resourceVersion ?? '', relisted }
    return !this.#own.suppresses(objectId(kind, objectKey(object)), item, observed, this.#watched.count(kind))
  }

  /** Returns an observer for the writes of an item; `requeue` is called when others changed an object meanwhile. */
  observer(item: string, requeue: () => void): WriteObserver {
    return {
      begin: (kind, key) => {
        if (this.#watched.count(kind) === 0) return ignored
        const name = formatKey(key)
        const object = objectId(kind, name)
        this.#own.begin(object, item)
        const finish = (isForeign: boolean): void => {
          if (isForeign) requeue()
        }
        return {
          wrote: (written) => {
            const cached = this.#watched.cachedVersion(kind, name)
            const version = written?.metadata.resourceVersion
            finish(this.#own.wrote(object, item, version, cached, this.#watched.count(kind)))
          },
          failed: () => finish(this.#own.failed(object, item)),
        }
      },
    }
  }
}

const ignored = { wrote: (): void => {}, failed: (): void => {} }
