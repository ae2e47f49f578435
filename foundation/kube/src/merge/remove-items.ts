// Removal of the fields of a field set from a value (structured-merge-diff's typed/remove.go).
import type { JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, setOwn } from '../own-property.ts'
import type { FieldNode, FieldSet } from './field-set.ts'
import { isPlaced, itemElement } from './list-items.ts'
import { fieldType, shapeOf } from './merge-type.ts'
import type { ListShape, MapShape, MergeType } from './merge-type.ts'
import { fieldElement } from './path-element.ts'
import type { PathElement } from './path-element.ts'

/** Returns `value` without the fields of `toRemove`. A map or list that loses its last field or item becomes null. */
export function removeItems(value: JsonValue, toRemove: FieldSet, type: MergeType): JsonValue {
  if (toRemove.size === 0) return value
  switch (shapeOf(type, value)) {
    case 'map':
      return removeFromMap(value, toRemove, type.map!)
    case 'list':
      return removeFromList(value, toRemove, type.list!)
    default:
      return value
  }
}

function removeFromMap(value: JsonValue, toRemove: FieldSet, map: MapShape): JsonValue {
  if (!isJsonObject(value) || map.atomic) return null
  const out: MutableJsonObject = {}
  let kept = 0
  let changed = false
  for (const [name, field] of Object.entries(value)) {
    const node = toRemove.get(fieldElement(name))
    if (node?.member === true) {
      changed = true
      continue
    }
    const rest = node?.children === undefined ? field : removeItems(field, node.children, fieldType(map, name))
    changed ||= rest !== field
    setOwn(out, name, rest)
    kept++
  }
  return kept === 0 ? null : changed ? out : value
}

function removeFromList(value: JsonValue, toRemove: FieldSet, list: ListShape): JsonValue {
  if (!isJsonArray(value) || list.atomic) return null
  const out: JsonValue[] = []
  for (const item of value) {
    const element = itemElement(list, item)
    const node = isPlaced(element) ? toRemove.get(element) : undefined
    if (node?.member === true) continue
    out.push(node?.children === undefined ? item : removeItems(item, node.children, list.element))
  }
  if (out.length === 0) return null
  return out.length === value.length && out.every((item, index) => item === value[index]) ? value : out
}

/**
 * Returns the set with every declared field above a member as a member too, so that structs left empty are removed
 * (`EnsureNamedFieldsAreMembers`).
 */
export function ensureNamedFieldsAreMembers(set: FieldSet, type: MergeType | undefined): FieldSet {
  let out: Map<PathElement, FieldNode> | undefined
  for (const [element, node] of set) {
    if (node.children === undefined) continue
    const isField = element[0] === 'f'
    const name = element.slice(2)
    const declared = isField ? type?.map?.field(name) : undefined
    const below = isField ? (declared ?? type?.map?.element) : element[0] === 'k' ? type?.list?.element : undefined
    const member = node.member || declared !== undefined
    const children = ensureNamedFieldsAreMembers(node.children, below)
    if (member === node.member && children === node.children) continue
    out ??= new Map(set)
    out.set(element, { member, children })
  }
  return out ?? set
}
