// The caches that items of a loop read from: used while an item reads the kind, with a listener for its readers.
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { Informer, ObjectChange } from '../informer/informer.ts'
import type { InformerPool, InformerUse } from '../informer/informer-pool.ts'
import { kindId } from './dependencies.ts'
import type { Dependencies } from './dependencies.ts'
import type { WatchedKinds } from './watched-kinds.ts'

/** Dependencies of {@link ReadCaches}. */
export interface ReadCachesHost {
  readonly informers: InformerPool
  readonly dependencies: Dependencies
  readonly watched: WatchedKinds
  /** Called when an object that these items read has changed. */
  changed(kind: Kind, readers: Iterable<string>, change: ObjectChange): void
  /** Called when the state of a kind that these items read has changed. */
  wake(readers: Iterable<string>): void
}

interface ReadCache {
  readonly use: InformerUse
  readonly listening: Disposable
  /** Items whose last run could not read the kind. */
  readonly blocked: Set<string>
}

/** Caches by kind in one version. */
export class ReadCaches implements Disposable {
  readonly #host: ReadCachesHost
  readonly #caches = new Map<string, ReadCache>()

  constructor(host: ReadCachesHost) {
    this.#host = host
  }

  /** Returns the cache of a kind, and starts using it. */
  informer<O extends KubeObject>(kind: Kind<O>): Informer<O> {
    return this.#cache(kind).use.informer as unknown as Informer<O>
  }

  /** Records that an item could not read the kind; it is woken when that changes. */
  block(kind: Kind, item: string): void {
    this.#cache(kind).blocked.add(item)
  }

  /** Releases the caches of kinds that no item reads. */
  dropUnread(): void {
    for (const [id, cache] of this.#caches) {
      if (this.#host.dependencies.isRead(cache.use.informer.kind)) continue
      this.#caches.delete(id)
      this.#release(cache)
    }
  }

  [Symbol.dispose](): void {
    for (const cache of this.#caches.values()) this.#release(cache)
    this.#caches.clear()
  }

  #release({ use, listening }: ReadCache): void {
    this.#host.watched.remove(use.informer)
    listening[Symbol.dispose]()
    use[Symbol.dispose]()
  }

  #cache<O extends KubeObject>(kind: Kind<O>): ReadCache {
    const known = this.#caches.get(kindId(kind))
    if (known !== undefined) return known
    const use = this.#host.informers.use(kind as unknown as Kind)
    const blocked = new Set<string>()
    const cache: ReadCache = { use, blocked, listening: this.#listen(use.informer, blocked) }
    this.#host.watched.add(use.informer)
    this.#caches.set(kindId(kind), cache)
    return cache
  }

  #listen(informer: Informer, blocked: Set<string>): Disposable {
    const { dependencies } = this.#host
    const { kind } = informer
    let before = informer.state
    const listener = {
      // Reads wait for the first list, so its objects are not new to them.
      changed: (change: ObjectChange): void => {
        if (!change.initial)
          this.#host.changed(kind, dependencies.readers(kind, change.object, change.previous), change)
      },
      // Runs that wait for the first list see its result by themselves; those that gave up, and those that read the
      // kind before, are woken.
      state: (state: Informer['state']): void => {
        this.#host.wake(before === 'Synced' ? dependencies.readersOfKind(kind) : [...blocked])
        blocked.clear()
        before = state
      },
    }
    return informer.subscribe(listener, { replay: false })
  }
}
