// Informers of the kinds that a controller stamps, limited to objects with its label. An informer starts when its kind
// is first stamped and stops when no owner stamps the kind or has objects of it. A change of a stamped object requeues
// its owner.
import { groupKindName } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { ownerKeys } from '@fairlead/controller'
import type { Informer, WorkLoop } from '@fairlead/controller'
import { controllerOf, formatKey, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'

interface WatchedKind extends Disposable {
  readonly informer: Informer
  /** Keys of the owners that stamp the kind or have objects of it. */
  readonly users: Set<string>
  /** Keys of the owners to requeue when the state of the informer changes. */
  readonly waiting: Set<string>
}

/** The informers of all kinds that one controller stamps. */
export class StampedKinds {
  readonly #loop: WorkLoop<string>
  readonly #owner: Kind
  readonly #label: string
  readonly #ownerExists: (key: string) => boolean
  readonly #watched = new Map<string, WatchedKind>()
  /** The kinds that passes in progress have used so far, by key of the owner. */
  readonly #used = new Map<string, Set<WatchedKind>>()

  /** `label` is the key of a label that every stamped object has; `ownerExists` looks an owner up in the cache. */
  constructor(options: {
    readonly loop: WorkLoop<string>
    readonly owner: Kind
    readonly label: string
    readonly ownerExists: (key: string) => boolean
  }) {
    this.#loop = options.loop
    this.#owner = options.owner
    this.#label = options.label
    this.#ownerExists = options.ownerExists
  }

  /** Runs one pass of an owner. When it succeeds, kinds that the owner no longer uses are released. */
  async during<R>(owner: KubeObject, pass: () => Promise<R>): Promise<R> {
    const key = formatKey(keyOf(owner))
    const used = new Set<WatchedKind>()
    this.#used.set(key, used)
    try {
      const result = await pass()
      for (const watched of this.#watched.values()) {
        const { informer } = watched
        if (!used.has(watched) && informer.state === 'Synced' && controlledObjects(informer, owner).length === 0)
          this.#release(watched, key)
      }
      return result
    } finally {
      this.#used.delete(key)
    }
  }

  /** Releases every kind of a deleted owner. */
  releaseAll(owner: string): void {
    for (const watched of this.#watched.values()) this.#release(watched, owner)
  }

  /**
   * Returns the informer of a kind, synced or failed. Unless it is synced, the next change of its state requeues
   * `owner`.
   */
  async informer(kind: Kind, owner: string, signal: AbortSignal): Promise<Informer> {
    const watched = this.#watch(kind)
    const { informer, users, waiting } = watched
    users.add(owner)
    this.#used.get(owner)?.add(watched)
    if (informer.state === 'Syncing') await informer.waitForState(signal)
    if (informer.state !== 'Synced') waiting.add(owner)
    return informer
  }

  /** Returns the objects that an owner controls, over all kinds whose informers are synced. */
  ownedBy(owner: KubeObject): KubeObject[] {
    return [...this.#watched.values()].flatMap(({ informer }) =>
      informer.state === 'Synced' ? controlledObjects(informer, owner) : [],
    )
  }

  #watch(kind: Kind): WatchedKind {
    const id = `${kind.apiVersion}|${groupKindName(kind)}`
    const existing = this.#watched.get(id)
    if (existing !== undefined) return existing
    const watch = this.#loop.watch(kind, (object) => ownerKeys(this.#owner, object, this.#ownerExists), {
      labelSelector: this.#label,
    })
    const { informer } = watch
    informer.addIndex(byController, controllerUid)
    const waiting = new Set<string>()
    const subscription = informer.subscribe(
      {
        state: () => {
          for (const owner of waiting) this.#loop.add(owner)
          waiting.clear()
        },
      },
      { replay: false },
    )
    const dispose = (): void => {
      this.#watched.delete(id)
      subscription[Symbol.dispose]()
      watch[Symbol.dispose]()
    }
    const watched: WatchedKind = { informer, users: new Set(), waiting, [Symbol.dispose]: dispose }
    this.#watched.set(id, watched)
    return watched
  }

  #release(watched: WatchedKind, owner: string): void {
    watched.waiting.delete(owner)
    if (watched.users.delete(owner) && watched.users.size === 0) watched[Symbol.dispose]()
  }
}

/** Returns the objects in the cache of one kind that an owner controls. */
export function controlledObjects(informer: Informer, owner: KubeObject): readonly KubeObject[] {
  return informer.byIndex(byController, owner.metadata.uid ?? '')
}

const byController = 'controller'

function controllerUid(object: KubeObject): readonly string[] {
  const controller = controllerOf(object)
  return controller === undefined ? [] : [controller.uid]
}
