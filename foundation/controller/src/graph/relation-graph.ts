// The graph of what an object comes of and what comes of it, through all sources. Start with exploreGraph.
import type { KubeObject } from '@fairlead/kube'
import { objectReference } from '../object-reference.ts'
import type { ObjectReference } from '../object-reference.ts'
import type { ObjectReader, Unreadable } from './object-reader.ts'
import { stateOf } from './object-state.ts'
import type { ObjectState } from './object-state.ts'
import { orderOf, referenceKey } from './relation.ts'
import type { Relation, RelationSource } from './relation.ts'

/** `up`: what the object comes of. `down`: what comes of it. */
export type GraphDirection = 'up' | 'down' | 'both'

/** An object of a graph. */
export interface GraphNode extends ObjectState {
  /** See {@link referenceKey}. */
  readonly key: string
  readonly reference: ObjectReference
}

/** Sources and reader of a graph. */
export interface GraphInput {
  readonly sources: readonly RelationSource[]
  readonly read: ObjectReader
  /** Says that a kind has a controller that sets conditions: an object without them waits for it. */
  readonly reports?: (object: KubeObject) => boolean
}

/** Limits of a graph. */
export interface GraphOptions {
  readonly direction?: GraphDirection
  /** Edges between the root and the last objects; no limit when left out. */
  readonly depth?: number
  /** Objects at most; 10,000 when left out. */
  readonly maxObjects?: number
}

/** A graph. */
export interface RelationGraph {
  readonly root: string
  readonly nodes: ReadonlyMap<string, GraphNode>
  /** Each once, in the order of discovery. */
  readonly edges: readonly Relation[]
  /** Objects that were left out because there are too many. */
  readonly leftOut: number
}

/** Objects, states and relations, each looked up once. */
export class ObjectLookup {
  readonly #input: GraphInput
  readonly #relations = new Map<string, Promise<readonly Relation[]>>()

  constructor(input: GraphInput) {
    this.#input = input
  }

  /** Returns an object with its state; no object when it is missing or cannot be read. */
  async node(reference: ObjectReference): Promise<{ readonly node: GraphNode; readonly object?: KubeObject }> {
    const { apiVersion, kind, namespace = '', name } = reference
    const read = await this.#input.read.get({ apiVersion, kind }, { namespace, name })
    if (read.found === 'yes') return { node: this.nodeOf(read.object), object: read.object }
    const state = read.found === 'no' ? missing(reference) : unreadable(read.why)
    return { node: { key: referenceKey(reference), reference, ...state } }
  }

  /** Returns the node of an object. */
  nodeOf(object: KubeObject): GraphNode {
    const reference = objectReference(object)
    return { key: referenceKey(reference), reference, ...this.#stateOf(object) }
  }

  /** Returns the edges of an object, each once. */
  relations(object: KubeObject): Promise<readonly Relation[]> {
    const key = referenceKey(objectReference(object))
    let found = this.#relations.get(key)
    if (found === undefined) {
      found = this.#find(object)
      this.#relations.set(key, found)
    }
    return found
  }

  async #find(object: KubeObject): Promise<readonly Relation[]> {
    const { sources, read } = this.#input
    const found = await Promise.all(sources.map((source) => source.relations(object, read)))
    const edges = new Map<string, Relation>()
    for (const edge of found.flat()) addEdge(edges, edge)
    return [...edges.values()]
  }

  #stateOf(object: KubeObject): ObjectState {
    const { sources, reports = () => false } = this.#input
    const own = object.metadata.deletionTimestamp === undefined ? sources : []
    for (const source of own) {
      const state = source.stateOf?.(object)
      if (state !== undefined) return state
    }
    return stateOf(object, reports(object))
  }
}

/**
 * Returns the graph of an object: what it comes of, what that comes of, and so on; and what comes of it, what comes of
 * that, and so on. Its siblings, which come of the same, are not among them.
 */
export async function exploreGraph(
  object: KubeObject,
  lookup: ObjectLookup,
  { direction = 'both', depth = Infinity, maxObjects = 10_000 }: GraphOptions = {},
): Promise<RelationGraph> {
  const root = lookup.nodeOf(object)
  const nodes = new Map([[root.key, root]])
  const edges = new Map<string, Relation>()
  const leftOut = new Set<string>()
  for (const way of direction === 'both' ? (['up', 'down'] as const) : [direction]) {
    const seen = new Set([root.key])
    let level: readonly KubeObject[] = [object]
    for (let distance = 0; distance < depth && level.length > 0; distance++) {
      const found = await Promise.all(level.map(async (one) => nextOf(one, await lookup.relations(one), way)))
      const ends = new Map<string, ObjectReference>()
      for (const { edge, end } of found.flat()) {
        const key = referenceKey(end)
        if (!nodes.has(key) && !ends.has(key) && nodes.size + ends.size >= maxObjects) {
          leftOut.add(key)
          continue
        }
        addEdge(edges, edge)
        if (!seen.has(key)) ends.set(key, end)
      }
      for (const key of ends.keys()) seen.add(key)
      const read = await Promise.all([...ends.values()].map((end) => lookup.node(end)))
      // The key of a reference is that of its object.
      for (const { node } of read) nodes.set(node.key, node)
      level = read.flatMap((one) => one.object ?? [])
    }
  }
  return { root: root.key, nodes, edges: [...edges.values()], leftOut: leftOut.size }
}

/** Returns the edges of an object that lead one way, with their other ends. */
function nextOf(
  object: KubeObject,
  relations: readonly Relation[],
  way: 'up' | 'down',
): readonly { readonly edge: Relation; readonly end: ObjectReference }[] {
  const key = referenceKey(objectReference(object))
  return relations.flatMap((edge) => {
    const { first, second } = orderOf(edge)
    const [near, end] = way === 'up' ? [second, first] : [first, second]
    return referenceKey(near) === key ? [{ edge, end }] : []
  })
}

function missing({ kind, namespace, name }: ObjectReference): ObjectState {
  const place = namespace === undefined ? '' : ` in namespace ${namespace}`
  return {
    state: 'Missing',
    reason: 'NotFound',
    message: 'it does not exist',
    next: `create the ${kind} ${name}${place}, or correct what names it`,
  }
}

function unreadable({ reason, message, verb, resource, namespace }: Unreadable): ObjectState {
  const place = namespace === undefined ? '' : ` in namespace ${namespace}`
  const next = {
    Forbidden: `have the right to ${verb} ${resource}${place} granted`,
    NotServed: 'install the definition of its kind',
    Failed: undefined,
    TooMany: undefined,
  }[reason]
  return { state: 'Unknown', reason, message, ...(next === undefined ? {} : { next }) }
}

/** Adds an edge; of two sources that have it, the one that knows whether it holds wins. */
function addEdge(edges: Map<string, Relation>, edge: Relation): void {
  const key = edgeKey(edge)
  if (edges.get(key)?.holds === undefined) edges.set(key, edge)
}

function edgeKey({ type, from, to }: Relation): string {
  return `${type} ${referenceKey(from)} ${referenceKey(to)}`
}
