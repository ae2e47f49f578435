// The outline of a graph: a tree of lines below its root, one way. Objects that come again are not repeated, cycles are
// cut, and many equal ones are counted. Pure.
import { isFine, orderOf, referenceKey } from '@fairlead/controller'
import type { GraphNode, Relation, RelationGraph, RelationProblem, RelationType, StateName } from '@fairlead/controller'

/** One line of an outline. */
export type OutlineItem = OutlineNode | OutlineCount

/** A line for one object. */
export interface OutlineNode {
  readonly type: 'object'
  readonly relation: RelationType
  /** The object is the `from` of the relation to the object above. */
  readonly isFrom: boolean
  readonly node: GraphNode
  /** The reason why the relation does not hold. */
  readonly problem?: RelationProblem
  /** `cycle`: an object above leads to itself. `above`: what is below it is shown elsewhere. */
  readonly cut?: 'cycle' | 'above'
  readonly below: readonly OutlineItem[]
}

/** A line for many equal objects. */
export interface OutlineCount {
  readonly type: 'count'
  readonly relation: RelationType
  readonly isFrom: boolean
  readonly kind: string
  readonly state: StateName
  readonly count: number
  /** Objects below each of them. */
  readonly belowEach: number
}

/** Equal objects below one that are shown one by one; more are counted. */
const shownEqual = 10

const typeOrder: readonly RelationType[] = ['refers-to', 'input-of', 'upstream-of', 'made-from']

/** Returns the outline below the root. With `isFull` every object has a line. */
export function outlineOf(graph: RelationGraph, way: 'up' | 'down', isFull: boolean): readonly OutlineItem[] {
  const next = Map.groupBy(
    graph.edges.map((edge) => ({ edge, ...endsOf(edge, way) })),
    ({ near }) => near,
  )
  const shown = new Set<string>()
  const path = new Set<string>()
  const below = (key: string): readonly OutlineItem[] => {
    path.add(key)
    shown.add(key)
    const items = (next.get(key) ?? [])
      .flatMap(({ edge, far }) => {
        const node = graph.nodes.get(far)
        return node === undefined ? [] : [{ edge, node }]
      })
      .toSorted((a, b) => order(a, b))
      .map(({ edge, node }): OutlineNode => {
        const isFrom = referenceKey(edge.from) === node.key
        const problem = edge.holds === undefined || edge.holds === true ? {} : { problem: edge.holds }
        const base = { type: 'object', relation: edge.type, isFrom, node, ...problem } as const
        if (path.has(node.key)) return { ...base, cut: 'cycle', below: [] }
        const leads = (next.get(node.key) ?? []).some(({ far }) => graph.nodes.has(far))
        if (shown.has(node.key)) return { ...base, ...(leads ? { cut: 'above' as const } : {}), below: [] }
        return { ...base, below: below(node.key) }
      })
    path.delete(key)
    return isFull ? items : counted(items)
  }
  return below(graph.root)
}

interface Next {
  readonly edge: Relation
  readonly node: GraphNode
}

/** Orders by relation, then by kind, the worst first, then by namespace and name. */
function order(a: Next, b: Next): number {
  const rank = ({ edge, node }: Next): readonly (number | string)[] => {
    const { kind, namespace = '', name } = node.reference
    return [typeOrder.indexOf(edge.type), kind, isFine(node) ? 1 : 0, namespace, name]
  }
  const [one, other] = [rank(a), rank(b)]
  const at = one.findIndex((part, index) => part !== other[index])
  return at < 0 ? 0 : one[at]! < other[at]! ? -1 : 1
}

/** Replaces many equal items by their count. */
function counted(items: readonly OutlineNode[]): readonly OutlineItem[] {
  const groups = Map.groupBy(items, shapeOf)
  return items.flatMap((item): readonly OutlineItem[] => {
    const group = groups.get(shapeOf(item))!
    if (group.length <= shownEqual) return [item]
    if (group[0] !== item) return []
    const { relation, isFrom, node } = item
    const { state, reference } = node
    return [
      { type: 'count', relation, isFrom, kind: reference.kind, state, count: group.length, belowEach: sizeOf(item) },
    ]
  })
}

/** Returns a string that is equal for items that differ in names and messages only. */
function shapeOf(item: OutlineItem): string {
  const known = shapes.get(item)
  if (known !== undefined) return known
  const { relation, isFrom } = item
  const shape =
    item.type === 'count'
      ? `${relation}${isFrom} ${item.count} ${item.kind} ${item.state} ${item.belowEach}`
      : `${relation}${isFrom} ${item.node.reference.apiVersion} ${item.node.reference.kind} ${item.node.state} ${item.problem?.reason ?? ''} ${item.cut ?? ''}[${item.below.map(shapeOf).join()}]`
  shapes.set(item, shape)
  return shape
}

const shapes = new WeakMap<OutlineItem, string>()

function sizeOf(item: OutlineItem): number {
  if (item.type === 'count') return item.count * (1 + item.belowEach)
  return item.below.reduce((sum, one) => sum + sizeOf(one) + (one.type === 'object' ? 1 : 0), 0)
}

function endsOf(edge: Relation, way: 'up' | 'down'): { readonly near: string; readonly far: string } {
  const { first, second } = orderOf(edge)
  const [near, far] = way === 'up' ? [second, first] : [first, second]
  return { near: referenceKey(near), far: referenceKey(far) }
}
