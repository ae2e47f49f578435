// A graph as a tree of lines for a terminal.
import { isFine } from '@fairlead/controller'
import type { GraphDirection, GraphNode, RelationGraph } from '@fairlead/controller'
import { pluralOf } from '@fairlead/offline'
import { outlineOf } from './outline.ts'
import type { OutlineItem } from './outline.ts'
import { inColour, objectName, reasonText, stateStyles } from './state-text.ts'

/** Characters of a reason in a tree; `fairlead why` and `-o json` have all of it. */
const reasonWidth = 100

/** Returns the lines of a tree. */
export function treeLines(graph: RelationGraph, direction: GraphDirection, isFull: boolean): readonly string[] {
  const root = graph.nodes.get(graph.root)!
  const { namespace } = root.reference
  const ways = direction === 'both' ? (['up', 'down'] as const) : [direction]
  const parts = ways.flatMap((way) => {
    const items = outlineOf(graph, way, isFull)
    if (items.length === 0) return []
    return ['', way === 'up' ? 'Comes from' : 'Leads to', ...linesBelow(items, way, namespace, '')]
  })
  const place = namespace === undefined ? '' : ` in ${namespace}`
  const rest = parts.length === 0 ? ['', nothing[direction]] : parts
  const more = graph.leftOut === 0 ? [] : ['', `${graph.leftOut} more objects are left out; choose a smaller --depth`]
  return [`${nodeText(root, namespace)}${place}${stateText(root)}`, ...rest, ...more]
}

const nothing: Readonly<Record<GraphDirection, string>> = {
  up: 'It comes from nothing that is known.',
  down: 'Nothing that is known comes of it.',
  both: 'It comes from nothing that is known, and nothing comes of it.',
}

function linesBelow(
  items: readonly OutlineItem[],
  way: 'up' | 'down',
  namespace: string | undefined,
  indent: string,
): string[] {
  return items.flatMap((item, index) => {
    const isLast = index === items.length - 1
    const line = `${indent}${isLast ? '└─' : '├─'} ${relationText(item, way)} ${itemText(item, namespace)}`
    const rest = item.type === 'count' ? [] : item.below
    return [line, ...linesBelow(rest, way, namespace, `${indent}${isLast ? '   ' : '│  '}`)]
  })
}

function itemText(item: OutlineItem, namespace: string | undefined): string {
  if (item.type === 'object') {
    const { node, cut, problem } = item
    // A state that is not ready says it already.
    const waits = problem === undefined || !isFine(node) ? '' : `  (waits: ${reasonText(problem, reasonWidth)})`
    const mark = cut === undefined ? '' : cut === 'cycle' ? '  (a cycle: see above)' : '  (see above)'
    return `${nodeText(node, namespace)}${stateText(node)}${waits}${mark}`
  }
  const { count, kind, state, belowEach } = item
  const { mark, word } = stateStyles[state]
  const below = belowEach === 0 ? '' : `, each with ${belowEach} below`
  return `${inColour(state, mark)} ${count} ${pluralOf(kind)}  ${inColour(state, word)}${below} (--all shows each)`
}

function nodeText(node: GraphNode, namespace: string | undefined): string {
  return `${inColour(node.state, stateStyles[node.state].mark)} ${objectName(node.reference, namespace)}`
}

function stateText(node: GraphNode): string {
  if (node.state === 'Exists') return ''
  const reason = isFine(node) || node.state === 'Missing' ? '' : reasonText(node, reasonWidth)
  return `  ${inColour(node.state, stateStyles[node.state].word)}${reason === '' ? '' : `, ${reason}`}`
}

/** Returns the words between the object above and the one of a line. */
function relationText({ relation, isFrom }: OutlineItem, way: 'up' | 'down'): string {
  switch (relation) {
    case 'made-from':
      return way === 'up' ? 'made from' : 'makes'
    case 'refers-to':
      return way === 'up' ? 'refers to' : 'named by'
    case 'upstream-of':
      return way === 'up' ? 'follows' : 'followed by'
    case 'input-of':
      return isFrom ? 'reads' : 'read by'
  }
}
