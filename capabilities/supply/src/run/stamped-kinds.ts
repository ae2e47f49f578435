// Caches of the kinds that a controller stamps: only objects with its label, started when a kind is first stamped. A change of a stamped
// object wakes its owner.
import { groupKindName } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { ownerKeys } from '@fairlead/controller'
import type { Informer, WorkLoop } from '@fairlead/controller'
import { controllerOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'

interface Watched {
  readonly informer: Informer
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

  /** The cache of a kind, listed or known not to be readable. `owner` is woken when that changes. */
  async cache(kind: Kind, owner: string, signal: AbortSignal): Promise<Informer> {
    const { informer, waiting } = this.#watch(kind)
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
    const informer = this.#loop.watch(kind, (object) => ownerKeys(this.#owner, object, this.#hasOwner), {
      labelSelector: this.#label,
    })
    informer.addIndex(byController, controllerUid)
    const watched: Watched = { informer, waiting: new Set() }
    informer.subscribe(
      {
        state: () => {
          for (const owner of watched.waiting) this.#loop.add(owner)
          watched.waiting.clear()
        },
      },
      { replay: false },
    )
    this.#watched.set(id, watched)
    return watched
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
