// Keys of items in associative lists: the value in a set, the key fields in a list map.
import type { JsonValue } from '../object.ts'
import { goQuote } from '../go-text.ts'
import { isJsonArray, isJsonObject, ownValue } from '../own-property.ts'
import type { ListShape } from './merge-type.ts'
import { keyElement, valueElement } from './path-element.ts'
import type { PathElement } from './path-element.ts'

/** An item that is invalid in an associative list; `reason` is structured-merge-diff's message. */
export interface MisplacedItem {
  readonly reason: string
}

/** Returns the path element of an item. Missing key fields take their default; at least one must be present. */
export function itemElement(list: ListShape, item: JsonValue): PathElement | MisplacedItem {
  return list.keys.length > 0 ? keyedElement(list, item) : setElement(item)
}

/** Reports whether the item is valid; narrows the result of {@link itemElement}. */
export function isPlaced(element: PathElement | MisplacedItem): element is PathElement {
  return typeof element === 'string'
}

function keyedElement(list: ListShape, item: JsonValue): PathElement | MisplacedItem {
  if (item === null) return { reason: 'associative list with keys may not have a null element' }
  if (!isJsonObject(item)) return { reason: 'associative list with keys may not have non-map elements' }
  const keys: [string, JsonValue][] = []
  for (const name of list.keys) {
    const given = ownValue(item, name)
    // an explicit null is a value, not a missing key
    const value = given === undefined ? list.element.map?.defaultOf(name) : given
    if (value !== undefined) keys.push([name, value])
  }
  if (keys.length > 0) return keyElement(keys)
  const names = list.keys.map(goQuote).join(' ')
  return {
    reason: `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  }
}

function setElement(item: JsonValue): PathElement | MisplacedItem {
  if (item === null) return { reason: "associative list without keys has an element that's an explicit null" }
  if (isJsonArray(item)) return { reason: 'not supported: associative list with lists as elements' }
  if (isJsonObject(item)) return { reason: "associative list without keys has an element that's a map type" }
  return valueElement(item)
}
