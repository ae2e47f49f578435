// An index of every stored object by resource and key, for synchronous decisions: does the namespace exist, what does
// the ServiceAccount say. Objects are shared with the store, so the index costs its maps only.
import { asObject } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { Change, Store } from '../storage/store.ts'

/** A synchronous view of the newest committed state. */
export class ObjectIndex implements Disposable {
  readonly #resources = new Map<string, Map<string, KubeObject>>()
  /** By resource, namespace and key; only resources that were listed by namespace. */
  readonly #byNamespace = new Map<string, Map<string, Map<string, KubeObject>>>()
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

  /** Returns every object of a resource in a namespace. The first call for a resource builds its index. */
  listNamespace(resource: string, namespace: string): Iterable<KubeObject> {
    let namespaces = this.#byNamespace.get(resource)
    if (namespaces === undefined) {
      this.#byNamespace.set(resource, (namespaces = new Map<string, Map<string, KubeObject>>()))
      for (const [key, object] of this.#resources.get(resource) ?? []) setInNamespace(namespaces, key, object)
    }
    return namespaces.get(namespace)?.values() ?? []
  }

  [Symbol.dispose](): void {
    this.#watch?.[Symbol.dispose]()
  }

  #apply({ type, entry }: Change): void {
    let objects = this.#resources.get(entry.resource)
    if (objects === undefined) this.#resources.set(entry.resource, (objects = new Map<string, KubeObject>()))
    const object = type === 'delete' ? undefined : asObject(entry.object)
    if (object === undefined) objects.delete(entry.key)
    else objects.set(entry.key, object)
    const namespaces = this.#byNamespace.get(entry.resource)
    if (namespaces !== undefined) setInNamespace(namespaces, entry.key, object)
  }
}

/** Sets the object of a key, or deletes it when undefined; a namespace without objects keeps no map. */
function setInNamespace(
  namespaces: Map<string, Map<string, KubeObject>>,
  key: string,
  object: KubeObject | undefined,
): void {
  const namespace = key.slice(0, Math.max(key.indexOf('/'), 0))
  let objects = namespaces.get(namespace)
  if (object !== undefined) {
    if (objects === undefined) namespaces.set(namespace, (objects = new Map<string, KubeObject>()))
    objects.set(key, object)
  } else if (objects?.delete(key) === true && objects.size === 0) namespaces.delete(namespace)
}
