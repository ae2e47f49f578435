// Graphs and their parts for programs: `-o json` and `-o yaml`. The form is stable: fields are added, not renamed.
import { referenceKey } from '@fairlead/controller'
import type { GraphNode, ObjectReference, RelationGraph, Unreadable } from '@fairlead/controller'

/** Returns a graph with nodes in the order of their ids, and edges in the order of their ends. */
export function graphData(graph: RelationGraph, unreadable: readonly Unreadable[]): object {
  return {
    root: graph.root,
    nodes: [...graph.nodes.values()].toSorted((a, b) => compare(a.key, b.key)).map(nodeData),
    edges: graph.edges
      .map(({ type, from, to, holds }) => ({
        type,
        from: referenceKey(from),
        to: referenceKey(to),
        ...(holds === undefined || holds === true ? {} : { waitsFor: holds }),
      }))
      .toSorted((a, b) => compare(`${a.from} ${a.to} ${a.type}`, `${b.from} ${b.to} ${b.type}`)),
    unreadable,
    leftOut: graph.leftOut,
  }
}

/** Returns an object with its state. */
export function nodeData({ key, reference, state, reason, message, next }: GraphNode): object {
  return { id: key, ...referenceData(reference), state, reason, message, ...(next === undefined ? {} : { next }) }
}

function referenceData({ apiVersion, kind, namespace, name, uid }: ObjectReference): object {
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, ...(uid ? { uid } : {}) }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
