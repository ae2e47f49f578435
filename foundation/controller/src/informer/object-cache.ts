// The objects of an informer, with indexes over them.
import { WatchCache, groupKindName, objectKey } from '@fairlead/client'
import type { Kind, ReflectorEvent, WatchChange } from '@fairlead/client'
import { everything, formatKey, parseLabelSelector, selectorFrom } from '@fairlead/kube'
import type { KubeObject, LabelSelector, ObjectKey, Selector } from '@fairlead/kube'
import { ObjectIndex } from './object-index.ts'
import type { IndexFunction } from './object-index.ts'

/** A filter of reads. */
export interface ObjectFilter {
  readonly namespace?: string
  readonly labelSelector?: string | LabelSelector | Selector
}

const byNamespace = 'namespace'

/** Objects and indexes. Objects are frozen and shared with the transport; never change them. */
export class ObjectCache<T extends KubeObject = KubeObject> {
  readonly #kind: Kind<T>
  readonly #namespace: string | undefined
  readonly #cache: WatchCache<T>
  readonly #indexes = new Map<string, ObjectIndex<T>>()

  /** `namespace` is the only one that is cached; all are when undefined. `onChange` is called for each change. */
  constructor(kind: Kind<T>, namespace: string | undefined, onChange: (change: WatchChange<T>) => void) {
    this.#kind = kind
    this.#namespace = namespace
    this.#cache = new WatchCache<T>((change) => {
      this.#updateIndexes(change)
      onChange(change)
    })
    // Created at the start: creating it at the first read would block the event loop for a large cache.
    if (kind.namespaced !== false && namespace === undefined) this.addIndex(byNamespace, namespaceOf)
  }

  /** Number of objects. */
  get size(): number {
    return this.#cache.objects.size
  }

  /** Returns the keys of all objects (`namespace/name`, or `name`). */
  keys(): MapIterator<string> {
    return this.#cache.objects.keys()
  }

  /** Returns all objects. */
  values(): MapIterator<T> {
    return this.#cache.objects.values()
  }

  /** Returns all keys with their objects. */
  entries(): MapIterator<[string, T]> {
    return this.#cache.objects.entries()
  }

  /** Returns the object of a key. */
  get(key: string | ObjectKey): T | undefined {
    return this.#cache.objects.get(typeof key === 'string' ? key : formatKey(key))
  }

  /** Reports whether there is an object of a key. */
  has(key: string | ObjectKey): boolean {
    return this.get(key) !== undefined
  }

  /**
   * Returns the objects that match a filter. Throws SelectorError for an invalid selector: it never selects nothing.
   */
  list(filter: ObjectFilter = {}): readonly T[] {
    const selector = toSelector(filter.labelSelector)
    const found: T[] = []
    for (const object of filter.namespace ? this.#inNamespace(filter.namespace) : this.values()) {
      if (selector.isEmpty || selector.matches(object.metadata.labels ?? {})) found.push(object)
    }
    return found
  }

  /** Adds an index. Adding a name again with the same function does nothing; with another one it throws. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    const known = indexFunctions.get(this.#indexes.get(name) ?? {})
    if (known !== undefined) {
      if (known !== valuesOf)
        throw new Error(`The informer of ${groupKindName(this.#kind)} has another index "${name}" already`)
      return
    }
    const index = new ObjectIndex<T>(valuesOf)
    indexFunctions.set(index, valuesOf)
    for (const [key, object] of this.entries()) index.replace(key, undefined, object)
    this.#indexes.set(name, index)
  }

  /** Returns the objects that have a value in an index. Throws when there is no such index. */
  byIndex(name: string, value: string): readonly T[] {
    return [...this.index(name).keys(value)].map((key) => this.get(key)!)
  }

  /** Returns an index by its name, for keys and counts without objects. */
  index(name: string): ObjectIndex<T> {
    const index = this.#indexes.get(name)
    if (index === undefined)
      throw new Error(`The informer of ${groupKindName(this.#kind)} has no index "${name}"; add it with addIndex`)
    return index
  }

  /** Applies one event of the reflector. */
  apply(event: ReflectorEvent<T>): void {
    this.#cache.apply(event)
  }

  #inNamespace(namespace: string): Iterable<T> {
    if (this.#indexes.has(byNamespace)) return this.byIndex(byNamespace, namespace)
    return this.#namespace === namespace ? this.values() : []
  }

  #updateIndexes(change: WatchChange<T>): void {
    switch (change.type) {
      case 'added':
      case 'changed':
      case 'removed': {
        const before = change.type === 'added' ? undefined : change.previous
        const after = change.type === 'removed' ? undefined : change.object
        for (const index of this.#indexes.values()) index.replace(objectKey(change.object), before, after)
        return
      }
      case 'synced':
      case 'interrupted':
    }
  }
}

const indexFunctions = new WeakMap<object, unknown>()

function namespaceOf(object: KubeObject): readonly string[] {
  return object.metadata.namespace ? [object.metadata.namespace] : []
}

/** Parses a label selector of any form. */
export function toSelector(selector: ObjectFilter['labelSelector']): Selector {
  if (selector === undefined) return everything
  if (typeof selector === 'string') return parseLabelSelector(selector)
  return 'matches' in selector ? selector : selectorFrom(selector)
}
