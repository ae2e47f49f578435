// Caches of the kinds that a controller stamps: only objects with its label, started when a kind is first stamped and let go when no owner stamps it
// or has objects of it any more. A change of a stamped object wakes its owner.
import { groupKindName } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { ownerKeys } from '@fairlead/controller'
import type { Informer, WorkLoop } from '@fairlead/controller'
import { controllerOf, formatKey, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'

interface Watched extends Disposable {
  readonly informer: Informer
  /** Owners that stamp the kind, or have objects of it. */
  readonly users: Set<string>
  /** Owners that could not go on because the kind could not be read. */
  readonly waiting: Set<string>
}

/** The stamped objects of all owners of one kind. */
export class StampedKinds {
  readonly #loop: WorkLoop<string>
  readonly #owner: Kind
  readonly #label: string
  readonly #hasOwner: (key: string) => boolean
  readonly #watched = new Map<string, Watched>()
  /** The kinds that passes under way have asked for, by owner. */
  readonly #asked = new Map<string, Set<Watched>>()

  /** `label` is on every stamped object; `hasOwner` tells whether an owner of that key is known. */
  constructor(options: {
    readonly loop: WorkLoop<string>
    readonly owner: Kind
    readonly label: string
    readonly hasOwner: (key: string) => boolean
  }) {
    this.#loop = options.loop
    this.#owner = options.owner
    this.#label = options.label
    this.#hasOwner = options.hasOwner
  }

  /** Runs one pass of an owner; the kinds that it needs no more are let go when it succeeds. */
  async during<R>(owner: KubeObject, pass: () => Promise<R>): Promise<R> {
    const key = formatKey(keyOf(owner))
    const asked = new Set<Watched>()
    this.#asked.set(key, asked)
    try {
      const result = await pass()
      for (const watched of this.#watched.values())
        if (!asked.has(watched) && watched.informer.state === 'Synced' && ownedIn(watched.informer, owner).length === 0)
          this.#letGo(watched, key)
      return result
    } finally {
      this.#asked.delete(key)
    }
  }

  /** The owner of that key is gone. */
  forget(owner: string): void {
    for (const watched of this.#watched.values()) this.#letGo(watched, owner)
  }

  /** The cache of a kind, listed or known not to be readable. `owner` is woken when that changes. */
  async cache(kind: Kind, owner: string, signal: AbortSignal): Promise<Informer> {
    const watched = this.#watch(kind)
    const { informer, users, waiting } = watched
    users.add(owner)
    this.#asked.get(owner)?.add(watched)
    if (informer.state === 'Syncing') await informer.settled(signal)
    if (informer.state !== 'Synced') waiting.add(owner)
    return informer
  }

  /** Everything that an owner has, over all kinds that are watched and known. */
  ownedBy(owner: KubeObject): KubeObject[] {
    return [...this.#watched.values()].flatMap(({ informer }) =>
      informer.state === 'Synced' ? ownedIn(informer, owner) : [],
    )
  }

  #watch(kind: Kind): Watched {
    const id = `${kind.apiVersion}|${groupKindName(kind)}`
    const known = this.#watched.get(id)
    if (known !== undefined) return known
    const watch = this.#loop.watch(kind, (object) => ownerKeys(this.#owner, object, this.#hasOwner), {
      labelSelector: this.#label,
    })
    const { informer } = watch
    informer.addIndex(byController, controllerUid)
    const waiting = new Set<string>()
    const listening = informer.subscribe(
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
      listening[Symbol.dispose]()
      watch[Symbol.dispose]()
    }
    const watched: Watched = { informer, users: new Set(), waiting, [Symbol.dispose]: dispose }
    this.#watched.set(id, watched)
    return watched
  }

  #letGo(watched: Watched, owner: string): void {
    watched.waiting.delete(owner)
    if (watched.users.delete(owner) && watched.users.size === 0) watched[Symbol.dispose]()
  }
}

/** What an owner controls in the cache of one kind. */
export function ownedIn(informer: Informer, owner: KubeObject): readonly KubeObject[] {
  return informer.byIndex(byController, owner.metadata.uid ?? '')
}

const byController = 'controller'

function controllerUid(object: KubeObject): readonly string[] {
  const controller = controllerOf(object)
  return controller === undefined ? [] : [controller.uid]
}
