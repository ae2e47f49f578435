// Reconciles owned fields with a schema that changed: managers of a list or map that became atomic own it as a whole
// (structured-merge-diff's typed/reconcile_schema.go).
import type { FieldNode, FieldSet } from './field-set.ts'
import { deducedType, fieldType } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'
import type { PathElement } from './path-element.ts'

const known = new WeakMap<FieldSet, WeakMap<MergeType, FieldSet>>()

/** Returns the set in terms of the current type; the set itself when nothing changed. */
export function reconcileFields(set: FieldSet, type: MergeType): FieldSet {
  if (type === deducedType) return set
  let byType = known.get(set)
  if (byType === undefined) known.set(set, (byType = new WeakMap()))
  let out = byType.get(type)
  if (out === undefined) {
    out = reconcileLevel(set, type)
    byType.set(type, out)
  }
  return out
}

function reconcileLevel(set: FieldSet, type: MergeType): FieldSet {
  let out: Map<PathElement, FieldNode> | undefined
  for (const [element, node] of set) {
    if (node.children === undefined) continue
    const below = typeBelow(type, element)
    const reconciled = below === undefined ? node : reconcileNode(node, below)
    if (reconciled === node) continue
    out ??= new Map(set)
    out.set(element, reconciled)
  }
  return out ?? set
}

/** Returns the type below an element; undefined where field sets are not reconciled. */
function typeBelow(type: MergeType, element: PathElement): MergeType | undefined {
  if (type.map !== undefined) {
    if (type.map.deduced || element[0] !== 'f') return undefined
    const name = element.slice(2)
    return type.map.field(name) ?? (type.map.element === undefined ? undefined : fieldType(type.map, name))
  }
  return type.scalar === undefined ? type.list?.element : undefined
}

function reconcileNode(node: FieldNode, type: MergeType): FieldNode {
  const isAtomic =
    type.map !== undefined
      ? type.map.atomic && !type.map.deduced
      : type.scalar === undefined && type.list?.atomic === true
  if (isAtomic) return { member: true, children: undefined }
  const children = reconcileLevel(node.children!, type)
  return children === node.children ? node : { member: node.member, children }
}
