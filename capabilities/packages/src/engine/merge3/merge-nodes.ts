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

/** Merges nodes of one resource and collects its conflicts. */
export class NodeMerge {
  readonly conflicts: FieldConflict[] = []
  readonly #takesUpstream: boolean
  readonly #yaml = yamlLibrary()

  constructor(policy: ConflictPolicy) {
    this.#takesUpstream = policy !== 'local'
  }

  /**
   * Returns the merged value. Local nodes are changed and reused; those of upstream are copied. Maps merge by key,
   * lists as their shape says; everything else is one value.
   */
  merge(base: Value, upstream: Value, local: Value, shape: Shape | undefined, path: string): Value {
    if (shape?.isLocal === true || equalNodes(base, upstream) || equalNodes(upstream, local)) return local
    if (this.#areMaps(base, upstream, local))
      return this.#mergeMaps(base as YAMLMap, upstream as YAMLMap, local as YAMLMap, shape, path)
    const list = shape?.list
    if (list !== undefined && this.#areLists(base, upstream, local)) {
      const lists = [base, upstream, local].map((value) => itemsOf(value)) as [Node[], Node[], Node[]]
      const keyed = list.type === 'set' ? this.#keyed(lists, setKey) : this.#keyed(lists, list.keyOf)
      if (keyed !== undefined && this.#yaml.isSeq(upstream) && this.#yaml.isSeq(local))
        return this.#mergeLists(keyed, local, list.type === 'map' ? list.element : undefined, path)
    }
    if (equalNodes(base, local)) return this.#taken(base, upstream, local)
    // An explicit null where the base had a value asks for no value, whatever upstream has.
    if (local === null || (local !== undefined && isNull(local) && !isNull(base))) {
      this.#report(base, upstream, local, path, 'local')
      return undefined
    }
    return this.#conflict(base, upstream, local, path)
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

  #conflict(base: Value, upstream: Value, local: Value, path: string): Value {
    const taken = this.#takesUpstream ? 'upstream' : 'local'
    this.#report(base, upstream, local, path, taken)
    return this.#takesUpstream ? this.#taken(base, upstream, local) : local
  }

  #report(base: Value, upstream: Value, local: Value, path: string, taken: FieldConflict['taken']): void {
    this.conflicts.push({ path, base: yamlOf(base), ours: yamlOf(local), theirs: yamlOf(upstream), taken })
  }

  /** Returns a copy of upstream's value, without null where the base had a value. Local quotes and comments stay. */
  #taken(base: Value, upstream: Value, local: Value): Value {
    if (upstream === undefined || (isNull(upstream) && !isNull(base))) return undefined
    if (upstream === null) return null
    const copy = upstream.clone() as Node
    const { isScalar } = this.#yaml
    if (!isScalar(copy) || !isScalar(local)) return copy
    if (copy.comment === (isScalar(base) ? base.comment : undefined)) copy.comment = local.comment
    if (typeof copy.value === 'string' && copy.type === 'PLAIN' && isQuoted(local)) copy.type = local.type
    return copy
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
      const value = this.merge(
        valueAt(before, name),
        valueAt(theirs, name),
        pair.value,
        shape?.field?.(name),
        join(path, name),
      )
      if (value === undefined) continue
      pair.value = value
      items.push(pair)
    }
    for (const [name, pair] of theirs) {
      if (ours.has(name)) continue
      const value = this.merge(valueAt(before, name), pair.value, undefined, shape?.field?.(name), join(path, name))
      if (value === undefined) continue
      const copy = pair.clone() as Pair<Node, Node | null>
      copy.value = value
      items.push(copy)
    }
    const isEmptied = items.length === 0 && (upstream === undefined || local === undefined || upstream.items.length > 0)
    if (isEmptied) return undefined
    const map = local ?? (upstream!.clone() as YAMLMap)
    if (local !== undefined && local.items.length === 0) map.flow = upstream?.flow
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
    if (equalNodes(base, local)) return this.#taken(base, upstream, local)
    return this.#conflict(base, upstream, local, path)
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

function isQuoted({ type }: Scalar): boolean {
  return type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE'
}

/** Appends a key to a path; one with dots or brackets in brackets. */
function join(path: string, name: string): string {
  if (/[.[\]]/.test(name)) return `${path}["${name}"]`
  return path === '' ? name : `${path}.${name}`
}
