// Field-level merge of YAML nodes: what upstream changed since the base goes into the local nodes, whose order, style
// and comments stay. Start with NodeMerge.merge.
import type { Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import type { JsonValue } from '@fairlead/kube'
import { yamlLibrary } from '@fairlead/kube'
import { jsonOf, keyOf } from '../yaml/json-value.ts'
import type { ConflictPolicy } from './conflict.ts'
import { yamlOf } from './conflict.ts'
import { equalNodes, isNull } from './equal-nodes.ts'
import type { ElementKey, Shape } from './shape.ts'
import { CommentMerge } from './three-way-comments.ts'

/** A value, null for an empty one, undefined for an absent one. */
type Value = Node | null | undefined

/** A field that upstream and local changed in different ways. */
export interface FieldConflict {
  readonly path: string
  readonly base: string | undefined
  readonly ours: string | undefined
  readonly theirs: string | undefined
  /** The side that was taken. */
  readonly taken: 'upstream' | 'local'
}

/** Options of a {@link NodeMerge}. */
export interface NodeMergeOptions {
  readonly policy: ConflictPolicy
  /** Fields that upstream adds come in alphabetical order, as kpt writes them; else in upstream's. */
  readonly sortsNewFields: boolean
}

/** Merges nodes of one resource and collects its conflicts. */
export class NodeMerge {
  readonly conflicts: FieldConflict[] = []
  readonly comments: CommentMerge = new CommentMerge()
  readonly #takesUpstream: boolean
  readonly #sortsNewFields: boolean
  readonly #yaml = yamlLibrary()

  constructor({ policy, sortsNewFields }: NodeMergeOptions) {
    this.#takesUpstream = policy !== 'local'
    this.#sortsNewFields = sortsNewFields
  }

  /**
   * Returns the merged value. Local nodes are changed and reused; those of upstream are copied. Maps merge by key,
   * lists as their shape says; everything else is one value.
   */
  merge(base: Value, upstream: Value, local: Value, shape: Shape | undefined, path: string): Value {
    if (shape?.isLocal === true) return local
    // An explicit null asks for no value, unless the base has one too.
    if (isExplicitNull(local) && !isExplicitNull(base)) {
      if (!equalNodes(base, upstream) && !isNull(upstream)) this.#report(base, upstream, local, path, 'local')
      return undefined
    }
    if (isExplicitNull(upstream) && !isExplicitNull(base)) {
      if (isNull(local) || equalNodes(base, local)) return undefined
      return this.#conflict(base, upstream, local, path)
    }
    if (equalNodes(base, upstream) || equalNodes(upstream, local)) {
      this.comments.mergeKept(base, upstream, local)
      return local
    }
    if (this.#areMaps(base, upstream, local))
      return this.#mergeMaps(base as YAMLMap, upstream as YAMLMap, local as YAMLMap, shape, path)
    const list = shape?.list
    if (list !== undefined && this.#areLists(base, upstream, local)) {
      const lists = [base, upstream, local].map((value) => itemsOf(value)) as [Node[], Node[], Node[]]
      const keyed = list.type === 'set' ? this.#keyed(lists, setKey) : this.#keyed(lists, list.keyOf)
      if (keyed !== undefined && this.#yaml.isSeq(upstream) && this.#yaml.isSeq(local))
        return this.#mergeLists(keyed, local, list.type === 'map' ? list.element : undefined, path)
    }
    return equalNodes(base, local)
      ? this.#taken(base, upstream, local, shape)
      : this.#conflict(base, upstream, local, path, shape)
  }

  /** At least two of the three are maps and the other is a map or absent. */
  #areMaps(...values: readonly Value[]): boolean {
    return (
      values.every((value) => isNull(value) || this.#yaml.isMap(value)) &&
      values.filter((value) => !isNull(value)).length > 1
    )
  }

  #areLists(...values: readonly Value[]): boolean {
    return values.every((value) => isNull(value) || this.#yaml.isSeq(value))
  }

  #conflict(base: Value, upstream: Value, local: Value, path: string, shape?: Shape): Value {
    const taken = this.#takesUpstream ? 'upstream' : 'local'
    this.#report(base, upstream, local, path, taken)
    return this.#takesUpstream ? this.#taken(base, upstream, local, shape) : local
  }

  #report(base: Value, upstream: Value, local: Value, path: string, taken: FieldConflict['taken']): void {
    this.conflicts.push({ path, base: yamlOf(base), ours: yamlOf(local), theirs: yamlOf(upstream), taken })
  }

  /** Returns a copy of upstream's value with its comments, in the style of the local one. */
  #taken(base: Value, upstream: Value, local: Value, shape: Shape | undefined): Value {
    if (upstream === undefined || (isNull(upstream) && !isNull(base))) return undefined
    if (upstream === null) return null
    const copy = upstream.clone() as Node
    const { isCollection, isScalar } = this.#yaml
    if (local === undefined && this.#sortsNewFields) this.#sortFields(copy, shape)
    if (isScalar(copy) && isScalar(local) && typeof copy.value === 'string' && typeof local.value === 'string') {
      if (copy.type !== local.type) delete copy.source
      copy.type = local.type
    }
    if (isCollection(copy) && isCollection(local) && copy.items.length > 0) copy.flow = local.flow
    return copy
  }

  /** Puts the fields of maps in order, and those of list elements that merge by key. Other lists are one value. */
  #sortFields(node: Node, shape: Shape | undefined): void {
    const { isMap, isSeq } = this.#yaml
    if (isMap(node)) {
      node.items.sort((a, b) => compareKeys(keyOf(a.key), keyOf(b.key)))
      for (const { key, value } of node.items as Pair<Node, Node | null>[])
        if (value !== null) this.#sortFields(value, shape?.field?.(keyOf(key)))
    }
    const list = shape?.list
    if (isSeq(node) && list?.type === 'map')
      for (const item of node.items as Node[]) this.#sortFields(item, list.element)
  }

  #mergeMaps(
    base: YAMLMap | undefined,
    upstream: YAMLMap | undefined,
    local: YAMLMap | undefined,
    shape: Shape | undefined,
    path: string,
  ): Value {
    const before = pairsOf(base)
    const theirs = pairsOf(upstream)
    const ours = pairsOf(local)
    const items: Pair<Node, Node | null>[] = []
    for (const [name, pair] of ours) {
      const other = theirs.get(name)
      const value = this.merge(
        valueAt(before, name),
        valueAt(theirs, name),
        pair.value,
        shape?.field?.(name),
        join(path, name),
      )
      if (value === undefined) continue
      if (other !== undefined) this.comments.merge(before.get(name)?.key, other.key, pair.key)
      pair.value = value
      items.push(pair)
    }
    const added = [...theirs].filter(([name]) => !ours.has(name))
    if (this.#sortsNewFields) added.sort(([a], [b]) => compareKeys(a, b))
    for (const [name, pair] of added) {
      const value = this.merge(valueAt(before, name), pair.value, undefined, shape?.field?.(name), join(path, name))
      if (value === undefined) continue
      const copy = pair.clone() as Pair<Node, Node | null>
      copy.value = value
      items.push(copy)
    }
    const isEmptied = items.length === 0 && (upstream === undefined || local === undefined || upstream.items.length > 0)
    if (isEmptied) return undefined
    if (local !== undefined && upstream !== undefined) this.comments.merge(base, upstream, local)
    const map = local ?? (upstream!.clone() as YAMLMap)
    map.items = items
    return map
  }

  /** Returns the elements of the three lists by key; undefined when one has no key or two have the same. */
  #keyed(lists: readonly [Node[], Node[], Node[]], keyOfElement: ElementKey): KeyedLists | undefined {
    const maps: Map<string, Node>[] = []
    for (const items of lists) {
      const map = new Map<string, Node>()
      for (const item of items) {
        const key = keyOfElement(shallowJson(item))
        if (key === undefined || map.has(key)) return undefined
        map.set(key, item)
      }
      maps.push(map)
    }
    return { base: maps[0]!, upstream: maps[1]!, local: maps[2]! }
  }

  #mergeLists({ base, upstream, local }: KeyedLists, list: YAMLSeq, element: Shape | undefined, path: string): Value {
    const items: Node[] = []
    for (const [key, ours] of local) {
      const merged = this.#mergeElement(base.get(key), upstream.get(key), ours, element, `${path}[${key}]`)
      if (merged !== undefined && merged !== null) items.push(merged)
    }
    for (const [key, theirs] of upstream) {
      if (local.has(key)) continue
      const merged = this.#mergeElement(base.get(key), theirs, undefined, element, `${path}[${key}]`)
      if (merged !== undefined && merged !== null) items.push(merged)
    }
    if (items.length === 0) return undefined
    if (list.items.length === 0) list.flow = false
    list.items = items
    return list
  }

  /** An element that one side removed and the other changed is a conflict about the whole element. */
  #mergeElement(base: Value, upstream: Value, local: Value, shape: Shape | undefined, path: string): Value {
    if (upstream !== undefined && local !== undefined) return this.merge(base, upstream, local, shape, path)
    if (equalNodes(base, upstream)) return local
    if (equalNodes(base, local)) return this.#taken(base, upstream, local, shape)
    return this.#conflict(base, upstream, local, path, shape)
  }
}

interface KeyedLists {
  readonly base: ReadonlyMap<string, Node>
  readonly upstream: ReadonlyMap<string, Node>
  readonly local: ReadonlyMap<string, Node>
}

function setKey(element: JsonValue): string | undefined {
  return typeof element === 'object' ? undefined : String(element)
}

/** Returns a scalar's value, or a map with its scalars: all that a key can be made of. */
function shallowJson(node: Node): JsonValue {
  const { Document, isMap, isScalar } = yamlLibrary()
  if (isScalar(node)) return jsonOf(node, new Document())
  if (!isMap(node)) return null
  return Object.fromEntries(
    (node.items as Pair<Node, Node | null>[]).map(({ key, value }) => [
      keyOf(key),
      isScalar(value) ? ((value as Scalar).value as JsonValue) : value === null ? null : {},
    ]),
  )
}

function itemsOf(value: Value): readonly Node[] {
  return yamlLibrary().isSeq(value) ? (value.items as Node[]) : []
}

function pairsOf(map: YAMLMap | null | undefined): Map<string, Pair<Node, Node | null>> {
  if (!yamlLibrary().isMap(map)) return new Map()
  return new Map((map.items as Pair<Node, Node | null>[]).map((pair) => [keyOf(pair.key), pair]))
}

function valueAt(pairs: ReadonlyMap<string, Pair<Node, Node | null>>, name: string): Value {
  return pairs.get(name)?.value
}

/** The value is there, and is null. */
function isExplicitNull(value: Value): boolean {
  return value !== undefined && isNull(value)
}

/** Compares keys by their bytes. */
function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Appends a key to a path; one with dots or brackets in brackets. */
function join(path: string, name: string): string {
  if (/[.[\]]/.test(name)) return `${path}["${name}"]`
  return path === '' ? name : `${path}.${name}`
}
