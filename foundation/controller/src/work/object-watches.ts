// The objects that a work loop watches: each change names items to wake.
import { chunkSize } from '@fairlead/client'
import type { Kind, KindLike } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { Informer, ObjectChange } from '../informer/informer.ts'
import type { InformerPool, InformerUse } from '../informer/informer-pool.ts'
import type { WatchedKinds } from './watched-kinds.ts'
import type { ItemsOf, WatchOptions } from './work-loop-options.ts'

/** Dependencies of {@link ObjectWatches}. */
export interface ObjectWatchesHost<T> {
  readonly informers: InformerPool
  readonly watched: WatchedKinds
  readonly id: (item: T) => string
  /** Called for each item that a change concerns. */
  changed(kind: Kind, item: T, id: string, change: ObjectChange): void
  /** Enqueues an item that no change concerns. */
  enqueue(item: T): void
}

interface Watch<T> extends Disposable {
  disposed: boolean
  /** Enqueues the items of the watched objects that are wanted. */
  replay(wanted: (item: T) => boolean): void
}

/** The watches of one loop. Disposing ends them, the last one first. */
export class ObjectWatches<T> implements Disposable {
  readonly #host: ObjectWatchesHost<T>
  readonly #watches = new Set<Watch<T>>()

  constructor(host: ObjectWatchesHost<T>) {
    this.#host = host
  }

  /** Watches a kind until disposed; objects that are cached already are reported as initial changes. */
  add<O extends KubeObject>(like: KindLike<O>, itemsOf: ItemsOf<T, O>, options: WatchOptions<O>): InformerUse<O> {
    const { id, informers, watched } = this.#host
    const { when, ...scope } = options
    const use = informers.use(like, scope)
    const { informer } = use
    const onChange = (change: ObjectChange<O>): void => {
      if (when !== undefined && !when(change)) return
      const items = new Map<string, T>()
      for (const item of itemsOf(change.object)) items.set(id(item), item)
      if (change.previous !== undefined && change.previous !== change.object)
        for (const item of itemsOf(change.previous)) items.set(id(item), item)
      for (const [name, item] of items) this.#host.changed(informer.kind, item, name, change)
    }
    const watch: Watch<T> = {
      disposed: false,
      replay: (wanted) =>
        visitInChunks(watch, informer, (object) => {
          for (const item of itemsOf(object)) if (wanted(item)) this.#host.enqueue(item)
        }),
      [Symbol.dispose]: () => {
        if (watch.disposed) return
        watch.disposed = true
        this.#watches.delete(watch)
        subscription[Symbol.dispose]()
        watched.remove(informer as unknown as Informer)
        use[Symbol.dispose]()
      },
    }
    this.#watches.add(watch)
    watched.add(informer as unknown as Informer)
    const subscription = informer.subscribe({ changed: onChange }, { replay: false })
    visitInChunks(watch, informer, (object) => onChange({ type: 'added', object, previous: undefined, initial: true }))
    return { informer, [Symbol.dispose]: () => watch[Symbol.dispose]() }
  }

  /** Enqueues the items of all watched objects that are wanted. */
  replay(wanted: (item: T) => boolean): void {
    for (const watch of this.#watches) watch.replay(wanted)
  }

  [Symbol.dispose](): void {
    for (const watch of [...this.#watches].toReversed()) watch[Symbol.dispose]()
  }
}

/**
 * Visits the cached objects: the first chunk at once, later ones after yielding to the event loop. Changes made
 * meanwhile arrive as events.
 */
function visitInChunks<O extends KubeObject>(
  watch: { readonly disposed: boolean },
  informer: Informer<O>,
  visit: (object: O) => void,
): void {
  const keys = informer.lastKnown.keys()
  const visitChunk = (): void => {
    for (let visited = 0; visited < chunkSize && !watch.disposed; visited++) {
      const { value: key, done } = keys.next()
      if (done) return
      const object = informer.lastKnown.get(key)
      if (object !== undefined) visit(object)
    }
    if (!watch.disposed) setImmediate(visitChunk)
  }
  visitChunk()
}
