// Informers of the kinds that a controller stamps, limited to objects with its label. An informer starts when its kind
// is first stamped and stops when no owner stamps the kind or has objects of it. A change of a stamped object requeues
// its owner.
import { groupKindName } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { GrantWatch, ownerKeys } from '@fairlead/controller'
import type { Informer, InformerPool, ObjectCache, WorkLoop } from '@fairlead/controller'
import { controllerOf, formatKey, keyOf } from '@fairlead/kube'
import type { Clock, KubeObject } from '@fairlead/kube'

interface WatchedKind extends Disposable {
  readonly informer: Informer
  /** Keys of the owners that stamp the kind or have objects of it. */
  readonly users: Set<string>
  /** Keys of the owners to requeue when the state of the informer changes. */
  readonly waiting: Set<string>
  /** Resolves when the first list is complete or has failed, at the latest after {@link listPatience}. */
  readonly firstList: Promise<void>
}

/**
 * Time that passes wait for the first list of a kind, counted once per kind. Milliseconds. A list that fails or hangs
 * longer is reported, so that the workers go on with other owners.
 */
const listPatience = 500

/** The informers of all kinds that one controller stamps. */
export class StampedKinds {
  readonly #loop: WorkLoop<string>
  readonly #owner: Kind
  readonly #label: string
  readonly #ownerExists: (key: string) => boolean
  readonly #watched = new Map<string, WatchedKind>()
  /** Watches RBAC while a kind is forbidden, to list it as soon as that is granted. */
  readonly #grants: GrantWatch
  /** The kinds that passes in progress have used so far, by key of the owner. */
  readonly #used = new Map<string, Set<WatchedKind>>()

  /** `label` is the key of a label that every stamped object has; `ownerExists` looks an owner up in the cache. */
  constructor(options: {
    readonly loop: WorkLoop<string>
    readonly informers: InformerPool
    readonly owner: Kind
    readonly label: string
    readonly ownerExists: (key: string) => boolean
  }) {
    this.#loop = options.loop
    this.#owner = options.owner
    this.#label = options.label
    this.#ownerExists = options.ownerExists
    this.#grants = new GrantWatch(options.informers, options.loop.client.clock, () => this.#listForbidden())
    options.loop.onStopped(() => this.#grants[Symbol.dispose]())
  }

  /** Runs one pass of an owner. When it succeeds, kinds that the owner no longer uses are released. */
  async during<R>(owner: KubeObject, pass: () => Promise<R>): Promise<R> {
    const key = formatKey(keyOf(owner))
    const used = new Set<WatchedKind>()
    this.#used.set(key, used)
    try {
      const result = await pass()
      for (const watched of this.#watched.values()) {
        const read = watched.informer.read()
        if (!used.has(watched) && read.known && controlledObjects(read.objects, owner).length === 0)
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
   * Returns the informer of a kind, in any state; only a kind that is new is waited for, and not for long. Unless it is
   * synced, the next change of its state requeues `owner`.
   */
  async informer(kind: Kind, owner: string, signal: AbortSignal): Promise<Informer> {
    const watched = this.#watch(kind)
    const { informer, users, waiting } = watched
    users.add(owner)
    this.#used.get(owner)?.add(watched)
    if (informer.state === 'Syncing') await watched.firstList
    signal.throwIfAborted()
    if (informer.state !== 'Synced') waiting.add(owner)
    if (informer.state === 'Forbidden') this.#grants.watch()
    return informer
  }

  /** Returns the objects that an owner controls, over all kinds whose informers are synced. */
  ownedBy(owner: KubeObject): KubeObject[] {
    return [...this.#watched.values()].flatMap(({ informer }) => {
      const read = informer.read()
      return read.known ? controlledObjects(read.objects, owner) : []
    })
  }

  #watch(kind: Kind): WatchedKind {
    const id = `${kind.apiVersion}|${groupKindName(kind)}`
    const existing = this.#watched.get(id)
    if (existing !== undefined) return existing
    const watch = this.#loop.watch(kind, (object) => ownerKeys(this.#owner, object, this.#ownerExists), {
      labelSelector: this.#label,
    })
    const { informer } = watch
    informer.addIndex(byController, controllerIds)
    const waiting = new Set<string>()
    const users = new Set<string>()
    let before = informer.state
    const subscription = informer.subscribe(
      {
        state: (state) => {
          if (![...this.#watched.values()].some((one) => one.informer.state === 'Forbidden')) this.#grants.release()
          // When a kind can no longer be read, the status of all that stamp it is out of date.
          for (const owner of before === 'Synced' ? users : waiting) this.#loop.add(owner)
          waiting.clear()
          before = state
        },
      },
      { replay: false },
    )
    const stop = new AbortController()
    const dispose = (): void => {
      stop.abort()
      this.#watched.delete(id)
      subscription[Symbol.dispose]()
      watch[Symbol.dispose]()
    }
    const firstList = listed(informer, this.#loop.client.clock, stop.signal)
    const watched: WatchedKind = { informer, users, waiting, firstList, [Symbol.dispose]: dispose }
    this.#watched.set(id, watched)
    return watched
  }

  #listForbidden(): void {
    for (const { informer } of this.#watched.values()) if (informer.state === 'Forbidden') informer.wake()
  }

  #release(watched: WatchedKind, owner: string): void {
    watched.waiting.delete(owner)
    if (watched.users.delete(owner) && watched.users.size === 0) watched[Symbol.dispose]()
  }
}

/**
 * Returns the objects in the cache of one kind that an owner controls. They are in its namespace: a forged owner
 * reference in another namespace has no effect.
 */
export function controlledObjects(cache: ObjectCache, { metadata }: KubeObject): readonly KubeObject[] {
  return cache.byIndex(byController, controllerId(metadata.namespace, metadata.uid))
}

const byController = 'controller'

function controllerIds(object: KubeObject): readonly string[] {
  const controller = controllerOf(object)
  return controller === undefined ? [] : [controllerId(object.metadata.namespace, controller.uid)]
}

function controllerId(namespace: string = '', uid: string = ''): string {
  return `${namespace}/${uid}`
}

async function listed(informer: Informer, clock: Clock, stop: AbortSignal): Promise<void> {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  using _timer = clock.timer(listPatience, end)
  stop.addEventListener('abort', end, { once: true })
  await informer.waitForState(ended.signal).catch(() => undefined)
}
