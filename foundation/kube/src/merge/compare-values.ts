// The differences between two values of a type, as field sets. Parts that are the same object are skipped.
import type { JsonObject, JsonValue } from '../object.ts'
import { jsonEqual } from '../json.ts'
import { isJsonArray, isJsonObject, ownValue } from '../own-property.ts'
import type { FieldSet, FieldSetBuilder } from './field-set.ts'
import { insertPath } from './field-set.ts'
import { isPlaced, itemElement } from './list-items.ts'
import { fieldType, shapeOf } from './merge-type.ts'
import type { ListShape, MapShape, MergeType } from './merge-type.ts'
import { fieldElement } from './path-element.ts'
import type { PathElement } from './path-element.ts'

/** The fields that were added, removed, and changed from the first value to the second. */
export interface Comparison {
  readonly added: FieldSet
  readonly removed: FieldSet
  readonly modified: FieldSet
}

/** Compares two objects of a type. */
export function compareValues(before: JsonValue, after: JsonValue, type: MergeType): Comparison {
  const comparer = new Comparer()
  comparer.value(before, after, type)
  return comparer
}

type Item = JsonValue | undefined

class Comparer implements Comparison {
  readonly added: FieldSetBuilder = new Map()
  readonly removed: FieldSetBuilder = new Map()
  readonly modified: FieldSetBuilder = new Map()
  readonly #path: PathElement[] = []

  /** Undefined means absent; at least one side is present. */
  value(before: Item, after: Item, type: MergeType): void {
    if (before === after) return
    const left = shapeOf(type, before)
    const right = shapeOf(type, after)
    if (after === undefined) this.#shape(left, before, after, type)
    else {
      if (before !== undefined && left !== right) this.#shape(left, before, after, type)
      this.#shape(right, before, after, type)
    }
  }

  #shape(shape: 'map' | 'list' | 'scalar', before: Item, after: Item, type: MergeType): void {
    const walked =
      shape === 'map'
        ? this.#map(before, after, type.map!)
        : shape === 'list'
          ? this.#list(before, after, type.list!)
          : false
    if (!walked) this.#leaf(before, after)
    else if (before === undefined) this.#insert(this.added)
    else if (after === undefined) this.#insert(this.removed)
  }

  #insert(set: FieldSetBuilder): void {
    if (this.#path.length > 0) insertPath(set, this.#path)
  }

  #leaf(before: Item, after: Item): void {
    if (before === undefined) this.#insert(this.added)
    else if (after === undefined) this.#insert(this.removed)
    else if (!jsonEqual(before, after)) this.#insert(this.modified)
  }

  #descend(element: PathElement, before: Item, after: Item, type: MergeType): void {
    this.#path.push(element)
    this.value(before, after, type)
    this.#path.pop()
  }

  /**
   * Returns false when the values are compared as a whole: the map is atomic, or both are empty (which distinguishes
   * empty from null).
   */
  #map(before: Item, after: Item, map: MapShape): boolean {
    const left: JsonObject = isJsonObject(before) ? before : {}
    const right: JsonObject = isJsonObject(after) ? after : {}
    const leftNames = Object.keys(left)
    const rightNames = Object.keys(right)
    if (map.atomic || (leftNames.length === 0 && rightNames.length === 0)) return false
    for (const name of leftNames) {
      const other = ownValue(right, name)
      if (left[name] !== other) this.#descend(fieldElement(name), left[name], other, fieldType(map, name))
    }
    for (const name of rightNames) {
      if (!Object.hasOwn(left, name)) this.#descend(fieldElement(name), undefined, right[name], fieldType(map, name))
    }
    return true
  }

  #list(before: Item, after: Item, list: ListShape): boolean {
    const left: readonly JsonValue[] = isJsonArray(before) ? before : []
    const right: readonly JsonValue[] = isJsonArray(after) ? after : []
    if (list.atomic || (left.length === 0 && right.length === 0)) return false
    const lefts = itemsByElement(list, left)
    const rights = itemsByElement(list, right)
    for (const [element, items] of lefts) this.#items(element, items, rights.get(element) ?? [], list.element)
    for (const [element, items] of rights) if (!lefts.has(element)) this.#items(element, [], items, list.element)
    return true
  }

  /** Duplicate items are compared as a whole. */
  #items(element: PathElement, lefts: readonly JsonValue[], rights: readonly JsonValue[], type: MergeType): void {
    if (lefts.length <= 1 && rights.length <= 1) return this.#descend(element, lefts[0], rights[0], type)
    if (lefts.length >= 2 && rights.length >= 2) {
      if (!jsonEqual(lefts, rights)) insertPath(this.modified, [...this.#path, element])
    } else if (lefts.length >= 2) {
      if (rights.length > 0) this.#descend(element, undefined, rights[0], type)
      insertPath(this.removed, [...this.#path, element])
    } else {
      if (lefts.length > 0) this.#descend(element, lefts[0], undefined, type)
      insertPath(this.added, [...this.#path, element])
    }
  }
}

function itemsByElement(list: ListShape, items: readonly JsonValue[]): Map<PathElement, JsonValue[]> {
  const byElement = new Map<PathElement, JsonValue[]>()
  for (const item of items) {
    const element = itemElement(list, item)
    if (!isPlaced(element)) continue
    const known = byElement.get(element)
    if (known === undefined) byElement.set(element, [item])
    else known.push(item)
  }
  return byElement
}
