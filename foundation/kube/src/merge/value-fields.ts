// The field set of a value: the fields that a manager owns after applying it.
import type { JsonValue } from '../object.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'
import type { FieldSet, FieldSetBuilder } from './field-set.ts'
import { insertPath } from './field-set.ts'
import { isPlaced, itemElement } from './list-items.ts'
import { fieldType, shapeOf } from './merge-type.ts'
import type { ListShape, MapShape, MergeType } from './merge-type.ts'
import { fieldElement } from './path-element.ts'
import type { PathElement } from './path-element.ts'

/**
 * Returns the field set of a value (`ToFieldSet`): its scalars and atomic values, every list item and every key of a
 * map; a struct only through its fields, unless it is empty or null.
 */
export function fieldsOfValue(value: JsonValue, type: MergeType): FieldSet {
  const collector = new Collector()
  collector.value(value, type)
  return collector.fields
}

class Collector {
  readonly fields: FieldSetBuilder = new Map()
  readonly #path: PathElement[] = []

  value(value: JsonValue, type: MergeType): void {
    switch (shapeOf(type, value)) {
      case 'map':
        return this.#map(value, type.map!)
      case 'list':
        return this.#list(value, type.list!)
      default:
        this.#insert()
    }
  }

  #insert(): void {
    if (this.#path.length > 0) insertPath(this.fields, this.#path)
  }

  #map(value: JsonValue, map: MapShape): void {
    if (map.atomic) return this.#insert()
    if (!isJsonObject(value)) return
    for (const [name, field] of Object.entries(value)) {
      this.#path.push(fieldElement(name))
      this.value(field, fieldType(map, name))
      const empty = field === null || (isJsonObject(field) && Object.keys(field).length === 0)
      if (empty || map.field(name) === undefined) this.#insert()
      this.#path.pop()
    }
  }

  #list(value: JsonValue, list: ListShape): void {
    if (list.atomic) return this.#insert()
    if (!isJsonArray(value)) return
    const elements = value.map((item) => itemElement(list, item))
    const seen = new Set<PathElement>()
    const repeated = new Set<PathElement>()
    for (const element of elements) {
      if (!isPlaced(element)) continue
      if (seen.has(element)) repeated.add(element)
      seen.add(element)
    }
    for (const [index, item] of value.entries()) {
      const element = elements[index]!
      if (!isPlaced(element)) continue
      this.#path.push(element)
      // a duplicate item is owned as a whole
      if (!repeated.has(element)) this.value(item, list.element)
      this.#insert()
      this.#path.pop()
    }
  }
}
