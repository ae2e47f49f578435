// A graph as a diagram: nodes and arrows for Mermaid and Graphviz. Arrows point from what comes first to what comes of
// it.
import type { GraphDirection, GraphNode, RelationGraph, RelationType, StateName } from '@fairlead/controller'
import { pluralOf } from '@fairlead/offline'
import { outlineOf } from './outline.ts'
import type { OutlineItem } from './outline.ts'
import { objectName, stateStyles } from './state-text.ts'

/** A box of a diagram. */
interface Box {
  readonly id: string
  readonly label: readonly string[]
  readonly state: StateName
}

/** An arrow of a diagram. */
interface Arrow {
  readonly from: string
  readonly to: string
  readonly label: string
}

interface Diagram {
  readonly boxes: readonly Box[]
  readonly arrows: readonly Arrow[]
}

/** Returns a graph in the language of Mermaid. */
export function mermaidText(graph: RelationGraph, direction: GraphDirection, isFull: boolean): string {
  const { boxes, arrows } = diagramOf(graph, direction, isFull)
  const used = new Set(boxes.map(({ state }) => state))
  const escaped = (text: string): string => text.replaceAll(/[&"<>#]/g, (char) => `#${char.codePointAt(0)!};`)
  return [
    'flowchart LR',
    ...boxes.map(({ id, label, state }) => `  ${id}["${label.map(escaped).join('<br/>')}"]:::${state}`),
    ...arrows.map(({ from, to, label }) => `  ${from} -->|${label}| ${to}`),
    ...Object.entries(mermaidStyles)
      .filter(([state]) => used.has(state as StateName))
      .map(([state, style]) => `  classDef ${state} ${style}`),
  ].join('\n')
}

const mermaidStyles: Readonly<Record<StateName, string>> = {
  Ready: 'stroke:#2e7d32',
  NotReady: 'stroke:#c62828,stroke-width:3px',
  Waiting: 'stroke:#f9a825,stroke-width:2px',
  Terminating: 'stroke:#f9a825,stroke-dasharray:2',
  Exists: 'stroke:#757575',
  Missing: 'stroke:#c62828,stroke-dasharray:5',
  Unknown: 'stroke:#757575,stroke-dasharray:5',
}

/** Returns a graph in the language of Graphviz. */
export function dotText(graph: RelationGraph, direction: GraphDirection, isFull: boolean): string {
  const { boxes, arrows } = diagramOf(graph, direction, isFull)
  const escaped = (text: string): string => text.replaceAll(/["\\]/g, String.raw`\$&`)
  return [
    'digraph relations {',
    '  rankdir=LR',
    '  node [shape=box]',
    ...boxes.map(
      ({ id, label, state }) => `  ${id} [label="${label.map(escaped).join(String.raw`\n`)}", ${dotStyles[state]}]`,
    ),
    ...arrows.map(({ from, to, label }) => `  ${from} -> ${to} [label="${label}"]`),
    '}',
  ].join('\n')
}

const dotStyles: Readonly<Record<StateName, string>> = {
  Ready: 'color="#2e7d32"',
  NotReady: 'color="#c62828", penwidth=3',
  Waiting: 'color="#f9a825", penwidth=2',
  Terminating: 'color="#f9a825", style=dotted',
  Exists: 'color="#757575"',
  Missing: 'color="#c62828", style=dashed',
  Unknown: 'color="#757575", style=dashed',
}

/** Labels of arrows, from what comes first to what comes of it. */
const labels: Readonly<Record<RelationType, string>> = {
  'made-from': 'makes',
  'refers-to': 'named by',
  'upstream-of': 'followed by',
  'input-of': 'reads',
}

/** Returns the boxes and arrows of a graph; many equal objects are one box unless `isFull`. */
function diagramOf(graph: RelationGraph, direction: GraphDirection, isFull: boolean): Diagram {
  const root = graph.nodes.get(graph.root)!
  const boxes = new Map<string, Box>()
  const arrows = new Map<string, Arrow>()
  const box = (key: string, label: readonly string[], state: StateName): string => {
    const known = boxes.get(key) ?? { id: `n${boxes.size}`, label, state }
    boxes.set(key, known)
    return known.id
  }
  const ofNode = (node: GraphNode): string => {
    const { mark, word } = stateStyles[node.state]
    return box(node.key, [objectName(node.reference, root.reference.namespace), `${mark} ${word}`], node.state)
  }
  const arrow = (from: string, to: string, label: string): void => {
    arrows.set(`${from} ${to} ${label}`, { from, to, label })
  }
  const add = (above: string, items: readonly OutlineItem[], way: 'up' | 'down'): void => {
    for (const item of items) {
      const id = item.type === 'object' ? ofNode(item.node) : ofCount(above, item)
      const [from, to] = way === 'up' ? [id, above] : [above, id]
      arrow(
        from,
        to,
        item.relation === 'input-of' && way === 'down' && !item.isFrom ? 'read by' : labels[item.relation],
      )
      if (item.type === 'object') add(id, item.below, way)
    }
  }
  const ofCount = (above: string, item: OutlineItem & { readonly type: 'count' }): string => {
    const { relation, kind, state, count } = item
    const { mark, word } = stateStyles[state]
    return box(
      `${above} ${relation} ${kind} ${state} ${item.belowEach}`,
      [`${count} ${pluralOf(kind)}`, `${mark} ${word}`],
      state,
    )
  }
  const top = ofNode(root)
  for (const way of direction === 'both' ? (['up', 'down'] as const) : [direction])
    add(top, outlineOf(graph, way, isFull), way)
  return { boxes: [...boxes.values()], arrows: [...arrows.values()] }
}
