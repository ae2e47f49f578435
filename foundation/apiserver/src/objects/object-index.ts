// An index of every stored object by resource and key, for synchronous decisions: does the namespace exist, what does
// the ServiceAccount say. Objects are shared with the store, so the index costs its maps only.
import { asObject } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { Change, Store } from '../storage/store.ts'

/** A synchronous view of the newest committed state. */
export class ObjectIndex implements Disposable {
  readonly #resources = new Map<string, Map<string, KubeObject>>()
  #watch: Disposable | undefined

  private constructor() {}

  /** Builds the index from the store and keeps it up to date. */
  static async follow(store: Store): Promise<ObjectIndex> {
    const index = new ObjectIndex()
    const missed: Change[] = []
    let isComplete = false
    index.#watch = store.watchAll((change) => {
      if (isComplete) index.#apply(change)
      else missed.push(change)
    })
    for await (const entry of store.snapshot()) index.#apply({ type: 'put', entry, previous: undefined })
    isComplete = true
    for (const change of missed) index.#apply(change)
    return index
  }

  /** Returns the object of a key, undefined when there is none. */
  get(resource: string, key: string): KubeObject | undefined {
    return this.#resources.get(resource)?.get(key)
  }

  /** Returns every object of a resource. */
  list(resource: string): Iterable<KubeObject> {
    return this.#resources.get(resource)?.values() ?? []
  }

  [Symbol.dispose](): void {
    this.#watch?.[Symbol.dispose]()
  }

  #apply({ type, entry }: Change): void {
    let objects = this.#resources.get(entry.resource)
    if (objects === undefined) this.#resources.set(entry.resource, (objects = new Map<string, KubeObject>()))
    if (type === 'delete') objects.delete(entry.key)
    else objects.set(entry.key, asObject(entry.object))
  }
}
