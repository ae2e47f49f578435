// The items of an observed list, found by the keys that their owner recorded: lists of thousands are compared in steps
// that grow with their length.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonObject, parseJson, stringifyJson } from '@fairlead/kube'

/** An observed item, and the element of the field set that owns it (`k:{…}`); undefined when nothing owns it. */
export interface ListItem {
  readonly observed: JsonValue
  readonly element: string | undefined
}

/** The items of one list. */
export class ListItems {
  /** The names of the keys of elements; one list of names, unless the definition changed. */
  readonly #names = new Map<string, readonly string[]>()
  readonly #owned: ListItem[] = []
  readonly #unowned: ListItem[] = []
  readonly #mergeKey: string | undefined
  /** Owned items by the keys that wanted items have, unowned ones by the merge key. */
  readonly #indexes = new Map<string, ReadonlyMap<string, readonly ListItem[]>>()

  /** `elements` are those of the field sets of the owner, `mergeKey` the field that all items have, if any. */
  constructor(items: readonly JsonValue[], elements: readonly string[], mergeKey: string | undefined) {
    this.#mergeKey = mergeKey
    const byKeys = new Map<string, string>()
    for (const element of elements) {
      if (!element.startsWith('k:')) continue
      const keys = parseJson(element.slice(2)) as JsonObject
      const names = Object.keys(keys)
      this.#names.set(names.join(), names)
      const id = idOf(keys, names)
      if (!byKeys.has(id)) byKeys.set(id, element)
    }
    for (const observed of items) {
      const element = this.#elementOf(observed, byKeys)
      if (element === undefined) this.#unowned.push({ observed, element })
      else this.#owned.push({ observed, element })
    }
  }

  /** Returns the items that may be a wanted one. Keys that the server defaults are missing in wanted items. */
  candidates(wanted: JsonValue): readonly ListItem[] {
    const owned = !isJsonObject(wanted)
      ? []
      : [...this.#names.values()].flatMap((names) =>
          this.#find(
            this.#owned,
            names.filter((name) => wanted[name] !== undefined),
            wanted,
          ),
        )
    const key = this.#mergeKey
    const isKeyed = key !== undefined && isJsonObject(wanted) && wanted[key] !== null
    return [...owned, ...(isKeyed ? this.#find(this.#unowned, [key], wanted) : this.#unowned)]
  }

  #elementOf(item: JsonValue, byKeys: ReadonlyMap<string, string>): string | undefined {
    if (!isJsonObject(item)) return undefined
    for (const names of this.#names.values()) {
      const element = names.every((name) => item[name] !== undefined) ? byKeys.get(idOf(item, names)) : undefined
      if (element !== undefined) return element
    }
    return undefined
  }

  #find(items: readonly ListItem[], names: readonly string[], wanted: JsonObject): readonly ListItem[] {
    const id = `${items === this.#owned ? 'owned' : 'unowned'} ${names.join()}`
    let index = this.#indexes.get(id)
    if (index === undefined) {
      index = Map.groupBy(items, ({ observed }) => (isJsonObject(observed) ? idOf(observed, names) : ''))
      this.#indexes.set(id, index)
    }
    return index.get(idOf(wanted, names)) ?? []
  }
}

function idOf(object: JsonObject, names: readonly string[]): string {
  return names.map((name) => `${name}=${stringifyJson(object[name] ?? null)}`).join()
}
