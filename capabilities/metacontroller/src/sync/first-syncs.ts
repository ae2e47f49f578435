// The parents that were not synced yet since the controller started, and the order of syncs meanwhile: the events of
// our own writes wait behind first syncs, all other changes come before them. Start with FirstSyncs.priorityOf.
import type { WriteObserver } from '@fairlead/client'
import { objectKey } from '@fairlead/client'
import type { ObjectChange, Priority } from '@fairlead/controller'
import { OwnWrites } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { formatKey, parseApiVersion } from '@fairlead/kube'

/** The parents of one controller whose first sync is still to come. */
export class FirstSyncs {
  readonly #cached: (object: KubeObject) => KubeObject | undefined
  readonly #waiting = new Set<string>()
  #own = new OwnWrites()

  /** `cached` returns an object as its cache has it. */
  constructor(cached: (object: KubeObject) => KubeObject | undefined) {
    this.#cached = cached
  }

  /** Adds a parent that was not synced yet. */
  add(parent: string): void {
    this.#waiting.add(parent)
  }

  /** Removes a parent: it was synced, or is no parent any more. */
  delete(parent: string): void {
    if (!this.#waiting.delete(parent) || this.#waiting.size > 0) return
    this.#own = new OwnWrites()
  }

  /**
   * Returns the priority of the sync that a change asks for. A sync that shows a hook what it wanted itself can wait
   * for parents that have nothing yet; where the author of a change is not known yet, {@link FirstSyncs.observer}
   * corrects the priority.
   */
  priorityOf(parent: string, { object, type, relisted }: ObjectChange): Priority {
    if (this.#waiting.size === 0) return 'normal'
    const observed = { type, resourceVersion: object.metadata.resourceVersion ?? '', relisted }
    return this.#own.suppresses(idOf(object), parent, observed) ? 'low' : 'normal'
  }

  /**
   * Returns an observer of the writes for a parent; undefined when no parent waits for its first sync. `changed` is
   * called when others changed one of the objects meanwhile.
   */
  observer(parent: string, changed: () => void): WriteObserver | undefined {
    if (this.#waiting.size === 0) return undefined
    const own = this.#own
    return {
      begin: ({ group, kind }, key) => {
        const object = `${kind}.${group}|${formatKey(key)}`
        own.begin(object, parent)
        return {
          wrote: (written) => {
            const cached = written === undefined ? undefined : this.#cached(written)?.metadata.resourceVersion
            if (own.wrote(object, parent, written?.metadata.resourceVersion, cached)) changed()
          },
          failed: () => {
            if (own.failed(object, parent)) changed()
          },
        }
      },
    }
  }
}

function idOf(object: KubeObject): string {
  return `${object.kind}.${parseApiVersion(object.apiVersion).group}|${objectKey(object)}`
}
