// An index of an informer: keys by value.
import type { KubeObject } from '@fairlead/kube'

/** Returns the values of an object in an index; none, one or several. Pure: the same object has the same values. */
export type IndexFunction<T extends KubeObject> = (object: T) => readonly string[]

const nothing: ReadonlySet<string> = new Set()

/** Keys by value. A value with one key needs no set, so that an index of unique values stays small. */
export class ObjectIndex<T extends KubeObject> {
  readonly #valuesOf: IndexFunction<T>
  readonly #keys = new Map<string, string | Set<string>>()

  constructor(valuesOf: IndexFunction<T>) {
    this.#valuesOf = valuesOf
  }

  /** Returns the keys of the objects that have the value. */
  keys(value: string): ReadonlySet<string> {
    const found = this.#keys.get(value)
    return found === undefined ? nothing : typeof found === 'string' ? new Set([found]) : found
  }

  /** Returns the number of objects that have the value. */
  count(value: string): number {
    const found = this.#keys.get(value)
    return found === undefined ? 0 : typeof found === 'string' ? 1 : found.size
  }

  /** Returns all values that objects have. */
  values(): IterableIterator<string> {
    return this.#keys.keys()
  }

  /**
   * Updates the index for an object that was added (`previous` undefined), changed, or removed (`object` undefined).
   */
  replace(key: string, previous: T | undefined, object: T | undefined): void {
    const before = previous === undefined ? [] : this.#valuesOf(previous)
    const after = object === undefined ? [] : this.#valuesOf(object)
    for (const value of before) if (!after.includes(value)) this.#remove(value, key)
    for (const value of after) if (!before.includes(value)) this.#add(value, key)
  }

  #add(value: string, key: string): void {
    const found = this.#keys.get(value)
    if (found === undefined) this.#keys.set(value, key)
    else if (typeof found !== 'string') found.add(key)
    else if (found !== key) this.#keys.set(value, new Set([found, key]))
  }

  #remove(value: string, key: string): void {
    const found = this.#keys.get(value)
    if (found === key) {
      this.#keys.delete(value)
    } else if (found !== undefined && typeof found !== 'string') {
      found.delete(key)
      if (found.size === 0) this.#keys.delete(value)
    }
  }
}
