// Walks the fields of a resource in the order in which they are written.
import type { Node, Pair, Scalar, YAMLSeq } from 'yaml'
import { isMap, isScalar, isSeq } from 'yaml'
import { keyText } from '../engine/render/fields.ts'

/** Called for lists that are values of a key, before their elements, and for every scalar. */
export interface FieldVisitor {
  list?(pair: Pair<Node, Node>, list: YAMLSeq, path: string): void
  scalar?(scalar: Scalar, path: string): void
}

/** Walks a node; paths are written `spec.containers[0].image`. */
export function walkFields(node: Node | null | undefined, visitor: FieldVisitor, path: string = ''): void {
  if (isMap(node)) {
    const pairs = node.items as Pair<Node, Node>[]
    const below = (pair: Pair<Node, Node>): string => (path === '' ? keyText(pair) : `${path}.${keyText(pair)}`)
    for (const pair of pairs) if (isSeq(pair.value)) visitor.list?.(pair, pair.value, below(pair))
    for (const pair of pairs) walkFields(pair.value, visitor, below(pair))
  } else if (isSeq(node)) {
    for (const [index, item] of (node.items as Node[]).entries()) walkFields(item, visitor, `${path}[${index}]`)
  } else if (isScalar(node)) visitor.scalar?.(node, path)
}
