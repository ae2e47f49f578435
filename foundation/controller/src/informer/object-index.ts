// A user index: which keys of an informer have which value.
import type { KubeObject } from '@fairlead/kube'

/** The values of an object in an index; none, one or several. Pure: the same object gives the same values. */
export type IndexFunction<T extends KubeObject> = (object: T) => readonly string[]

const nothing: ReadonlySet<string> = new Set()

/** Keys by value. A value with one key costs no set of its own, so that an index of unique values stays small. */
export class ObjectIndex<T extends KubeObject> {
  readonly #valuesOf: IndexFunction<T>
  readonly #keys = new Map<string, string | Set<string>>()

  constructor(valuesOf: IndexFunction<T>) {
    this.#valuesOf = valuesOf
  }

  /** Keys of the objects that have the value. */
  keys(value: string): ReadonlySet<string> {
    const found = this.#keys.get(value)
    return found === undefined ? nothing : typeof found === 'string' ? new Set([found]) : found
  }

  /** How many objects have the value. */
  count(value: string): number {
    const found = this.#keys.get(value)
    return found === undefined ? 0 : typeof found === 'string' ? 1 : found.size
  }

  /** All values that some object has. */
  values(): IterableIterator<string> {
    return this.#keys.keys()
  }

  /** An object came (`previous` undefined), changed, or went (`object` undefined). */
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
