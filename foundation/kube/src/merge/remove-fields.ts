// Takes fields out of a value, and widens field sets by the structs on the way so that emptied structs go too.
import type { JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonArray, isJsonObject, setOwn } from '../own-property.ts'
import type { FieldNode, FieldSet } from './field-set.ts'
import { isPlaced, itemElement } from './list-items.ts'
import { memberType, shapeOf } from './merge-type.ts'
import type { ListShape, MapShape, MergeType } from './merge-type.ts'
import { fieldElement } from './path-element.ts'
import type { PathElement } from './path-element.ts'

/** `value` without the fields of `gone`. A map or list that loses its last member becomes null. */
export function removeFields(value: JsonValue, gone: FieldSet, type: MergeType): JsonValue {
  if (gone.size === 0) return value
  switch (shapeOf(type, value)) {
    case 'map':
      return removeFromMap(value, gone, type.map!)
    case 'list':
      return removeFromList(value, gone, type.list!)
    default:
      return value
  }
}

function removeFromMap(value: JsonValue, gone: FieldSet, map: MapShape): JsonValue {
  if (!isJsonObject(value) || map.atomic) return null
  const out: MutableJsonObject = {}
  let kept = 0
  let changed = false
  for (const [name, member] of Object.entries(value)) {
    const node = gone.get(fieldElement(name))
    if (node?.member === true) {
      changed = true
      continue
    }
    const rest = node?.children === undefined ? member : removeFields(member, node.children, memberType(map, name))
    changed ||= rest !== member
    setOwn(out, name, rest)
    kept++
  }
  return kept === 0 ? null : changed ? out : value
}

function removeFromList(value: JsonValue, gone: FieldSet, list: ListShape): JsonValue {
  if (!isJsonArray(value) || list.atomic) return null
  const out: JsonValue[] = []
  for (const item of value) {
    const element = itemElement(list, item)
    const node = isPlaced(element) ? gone.get(element) : undefined
    if (node?.member === true) continue
    out.push(node?.children === undefined ? item : removeFields(item, node.children, list.element))
  }
  if (out.length === 0) return null
  return out.length === value.length && out.every((item, index) => item === value[index]) ? value : out
}

/** The set with every declared field on the way to a member as a member itself. */
export function withNamedFields(set: FieldSet, type: MergeType | undefined): FieldSet {
  let out: Map<PathElement, FieldNode> | undefined
  for (const [element, node] of set) {
    if (node.children === undefined) continue
    const isField = element[0] === 'f'
    const name = element.slice(2)
    const declared = isField ? type?.map?.field(name) : undefined
    const below = isField ? (declared ?? type?.map?.element) : element[0] === 'k' ? type?.list?.element : undefined
    const member = node.member || declared !== undefined
    const children = withNamedFields(node.children, below)
    if (member === node.member && children === node.children) continue
    out ??= new Map(set)
    out.set(element, { member, children })
  }
  return out ?? set
}
