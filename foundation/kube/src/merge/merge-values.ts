// Merges an applied value into a live one. Unchanged parts are the live value's own objects.
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, ownValue, setOwn } from '../own-property.ts'
import { isPlaced, itemElement } from './list-items.ts'
import { fieldType, shapeOf } from './merge-type.ts'
import type { ListShape, MapShape, MergeType } from './merge-type.ts'
import type { PathElement } from './path-element.ts'

/**
 * Returns `live` with `applied` merged in. Lists keep the live order; new items are inserted at their position in the
 * applied list.
 */
export function mergeValues(
  live: JsonValue | undefined,
  applied: JsonValue | undefined,
  type: MergeType,
): JsonValue | undefined {
  if (applied === undefined || live === applied) return live
  if (live === undefined) return applied
  switch (shapeOf(type, applied)) {
    case 'map':
      return mergeMaps(live, applied, type.map!)
    case 'list':
      return mergeLists(live, applied, type.list!)
    default:
      return applied
  }
}

function mergeMaps(live: JsonValue, applied: JsonValue, map: MapShape): JsonValue {
  const left: JsonObject | undefined = isJsonObject(live) ? live : undefined
  const right: JsonObject | undefined = isJsonObject(applied) ? applied : undefined
  if (map.atomic || left === undefined || Object.keys(left).length === 0) return applied
  if (right === undefined) return live
  let out: MutableJsonObject | undefined
  for (const [name, value] of Object.entries(right)) {
    const before = ownValue(left, name)
    const after = mergeValues(before, value, fieldType(map, name))
    if (after === before || after === undefined) continue
    out ??= { ...left }
    setOwn(out, name, after)
  }
  return out ?? live
}

function mergeLists(live: JsonValue, applied: JsonValue, list: ListShape): JsonValue {
  const left: readonly JsonValue[] = isJsonArray(live) ? live : []
  const right: readonly JsonValue[] = isJsonArray(applied) ? applied : []
  if (list.atomic || left.length === 0) return applied
  if (right.length === 0) return live
  const out = new ListMerge(list, left, right).run()
  return out.length === left.length && out.every((item, index) => item === left[index]) ? live : out
}

/**
 * Merges two lists. Live items that the applied list does not have keep their position; items of both are in the order
 * of the applied list.
 */
class ListMerge {
  readonly #list: ListShape
  readonly #left: readonly JsonValue[]
  readonly #leftElements: readonly PathElement[]
  readonly #rightElements: readonly PathElement[]
  readonly #lefts: ReadonlyMap<PathElement, JsonValue | undefined>
  readonly #rights: ReadonlyMap<PathElement, JsonValue | undefined>
  /** Elements of both lists, in the order of the applied one. */
  readonly #shared: readonly PathElement[]
  /** Index of the next shared element; removing the first of a long list moves all others. */
  #nextShared = 0
  readonly #taken = new Set<PathElement>()
  readonly #out: JsonValue[] = []

  constructor(list: ListShape, left: readonly JsonValue[], right: readonly JsonValue[]) {
    this.#list = list
    const placedLeft = placed(list, left)
    const placedRight = placed(list, right)
    this.#left = placedLeft.items
    this.#leftElements = placedLeft.elements
    this.#rightElements = placedRight.elements
    this.#lefts = placedLeft.byElement
    this.#rights = placedRight.byElement
    this.#shared = this.#rightElements.filter((element) => this.#lefts.has(element))
  }

  run(): readonly JsonValue[] {
    const lefts = this.#leftElements
    const rights = this.#rightElements
    let l = 0
    let r = 0
    while (l < lefts.length || r < rights.length) {
      const left = lefts[l]
      const right = rights[r]
      if (left !== undefined && right !== undefined) {
        if (left === right) {
          this.#takeShared(left)
          this.#nextShared++
          l++
          r++
          continue
        }
        // both lists have it, but another shared item comes first
        const next = this.#shared[this.#nextShared]
        if (this.#rights.has(left) && next !== undefined && next !== left) {
          l++
          continue
        }
      }
      if (left !== undefined) {
        if (!this.#rights.has(left)) {
          this.#out.push(this.#left[l]!)
          l++
          continue
        }
        if (this.#taken.has(left)) l++
      }
      if (right !== undefined) {
        this.#takeShared(right)
        if (this.#shared[this.#nextShared] === right) this.#nextShared++
        r++
      }
    }
    return this.#out
  }

  #takeShared(element: PathElement): void {
    this.#taken.add(element)
    const merged = mergeValues(this.#lefts.get(element), this.#rights.get(element), this.#list.element)
    if (merged !== undefined) this.#out.push(merged)
  }
}

function placed(
  list: ListShape,
  values: readonly JsonValue[],
): {
  readonly items: readonly JsonValue[]
  readonly elements: readonly PathElement[]
  readonly byElement: ReadonlyMap<PathElement, JsonValue | undefined>
} {
  const items: JsonValue[] = []
  const elements: PathElement[] = []
  const byElement = new Map<PathElement, JsonValue | undefined>()
  for (const item of values) {
    const element = itemElement(list, item)
    if (!isPlaced(element)) continue
    // a duplicate item has no single value to merge with
    byElement.set(element, byElement.has(element) ? undefined : item)
    items.push(item)
    elements.push(element)
  }
  return { items, elements, byElement }
}
