// References among objects of all kinds, in both directions. A change of a referent wakes the dependents that see
// another value or readiness, and no other (originals/ack.md §6.4 step 10).
import { AcyclicOrder } from './acyclic-order.ts'
import { cyclesOf } from './cycles.ts'
import { gate } from './gate.ts'
import type { View } from './gate.ts'
import { idKey } from './object-id.ts'
import type { ObjectId } from './object-id.ts'
import { occurrencesOf } from './occurrences.ts'
import { parseReference } from './reference.ts'
import type { ReferenceRow } from './reference-table.ts'
import type { Lookup, ObjectCycle } from './referents.ts'
import type { JsonObject } from '@fairlead/kube'
import { isJsonArray } from '@fairlead/kube'

/** One reference from an object to another, with the view that the dependent has of it. */
export interface Edge extends View {
  readonly to: ObjectId
}

/** Returns the references of an object to other objects, as far as they are well formed. */
export function edgesOf(id: ObjectId, spec: JsonObject, rows: readonly ReferenceRow[]): readonly Edge[] {
  return rows.flatMap((row) =>
    occurrencesOf(row, spec).flatMap(({ plain, reference }) => {
      if (reference === undefined || plain !== undefined) return []
      return (isJsonArray(reference) ? reference : [reference]).flatMap((one) => {
        const parsed = parseReference(one, row, id.namespace)
        if (parsed.form !== 'object') return []
        const { kind, namespace, name } = parsed
        const to = { group: kind.group, kind: kind.kind, namespace, name }
        return [{ to, valuePath: kind.valuePath, waitFor: row.waitFor }]
      })
    }),
  )
}

interface Dependents {
  readonly id: ObjectId
  /** View -> keys of the dependents that have it. */
  readonly byView: Map<string, { readonly view: View; readonly keys: Set<string>; seen?: string }>
}

/** A cycle of objects. Its fields are computed when they are first read. */
interface Component {
  readonly keys: readonly string[]
  objects?: readonly ObjectId[]
  waits?: boolean
}

/** The cycle of an object whose references were followed. */
interface Explored {
  readonly cycle?: Component
}

function viewKey({ valuePath, waitFor }: View): string {
  return `${waitFor} ${valuePath}`
}

/** The part of a referent that a dependent sees: two equal ones need no reconcile. */
function seenOf(found: Lookup, view: View): string {
  const result = gate(found, view)
  return JSON.stringify(
    result.state === 'ready' ? ['ready', result.value, result.uid] : [result.state, result.message, result.uid],
  )
}

/** References among objects of all kinds. */
export class ReferenceIndex {
  readonly #edges = new Map<string, { readonly id: ObjectId; readonly edges: readonly Edge[] }>()
  readonly #referents = new Map<string, Dependents>()
  /** Kind (`group/kind`) -> keys of the referents of that kind that something refers to. */
  readonly #kinds = new Map<string, Set<string>>()
  readonly #order = new AcyclicOrder()
  /** Cycles by the keys of objects, as far as they were read since an edge changed. */
  readonly #components = { all: new Map<string, Explored>(), synced: new Map<string, Explored>() }

  /** Replaces the references of an object; none removes it. */
  set(id: ObjectId, edges: readonly Edge[]): void {
    const key = idKey(id)
    const before = this.#edges.get(key)?.edges ?? []
    const wanted = new Set(edges.map((edge) => `${idKey(edge.to)} ${viewKey(edge)}`))
    const former = new Set(before.map((edge) => `${idKey(edge.to)} ${viewKey(edge)}`))
    if (former.size === wanted.size && wanted.isSubsetOf(former)) return
    for (const known of Object.values(this.#components)) known.clear()
    for (const edge of before) if (!wanted.has(`${idKey(edge.to)} ${viewKey(edge)}`)) this.#remove(key, edge)
    for (const edge of edges) this.#add(key, edge)
    const [old, next] = [before, edges].map((list) => new Set(list.map(({ to }) => idKey(to)))) as [
      Set<string>,
      Set<string>,
    ]
    for (const to of old) if (!next.has(to)) this.#order.remove(key, to)
    for (const to of next) if (!old.has(to)) this.#order.add(key, to)
    if (edges.length === 0) this.#edges.delete(key)
    else this.#edges.set(key, { id, edges })
  }

  delete(id: ObjectId): void {
    this.set(id, [])
  }

  /** Returns the objects that refer to this one. */
  dependentsOf(id: ObjectId): readonly ObjectId[] {
    const keys = new Set([...(this.#referents.get(idKey(id))?.byView.values() ?? [])].flatMap((one) => [...one.keys]))
    return this.#ids(keys)
  }

  /** Returns the references of an object. */
  referencesOf(id: ObjectId): readonly Edge[] {
    return this.#edges.get(idKey(id))?.edges ?? []
  }

  /** Returns the objects of a kind that something refers to. */
  referentsOf(group: string, kind: string): readonly ObjectId[] {
    const keys = this.#kinds.get(`${group}/${kind}`) ?? []
    return [...keys].flatMap((key) => this.#referents.get(key)?.id ?? [])
  }

  /**
   * Notes the state of a referent and returns the dependents that see a change of value or readiness. The first state
   * after a reference was added wakes its dependents, too: it may have changed since they read it.
   */
  changed(id: ObjectId, found: Lookup): readonly ObjectId[] {
    const woken = new Set<string>()
    for (const one of this.#referents.get(idKey(id))?.byView.values() ?? []) {
      const seen = seenOf(found, one.view)
      if (seen === one.seen) continue
      one.seen = seen
      for (const key of one.keys) woken.add(key)
    }
    return this.#ids(woken)
  }

  /** Notes what a dependent has read, so that the same state does not wake it again. */
  noted(id: ObjectId, found: Lookup): void {
    for (const one of this.#referents.get(idKey(id))?.byView.values() ?? []) one.seen ??= seenOf(found, one.view)
  }

  /** Returns the cycle that holds the reference from one object to the other. */
  cycle(from: ObjectId, to: ObjectId): ObjectCycle | undefined {
    if (!this.#order.hasCycle) return undefined
    const component = this.#component(from, to, false)
    if (component === undefined) return undefined
    const waiting = this.#component(from, to, true)
    if (waiting !== undefined) return { objects: this.#objectsOf(waiting), waitFor: 'Synced' }
    component.waits ??= component.keys.some((key) =>
      this.#edges
        .get(key)
        ?.edges.some(
          (edge) => edge.waitFor === 'Synced' && this.#components.all.get(idKey(edge.to))?.cycle === component,
        ),
    )
    return { objects: this.#objectsOf(component), waitFor: component.waits ? 'mixed' : 'Value' }
  }

  /**
   * Returns the component of both objects in the graph of all references, or of those that wait for Synced; undefined
   * when they share none. What is found is kept until an edge changes.
   */
  #component(from: ObjectId, to: ObjectId, isSynced: boolean): Component | undefined {
    const known = isSynced ? this.#components.synced : this.#components.all
    const [start, end] = [idKey(from), idKey(to)]
    if (!known.has(start)) this.#explore(start, isSynced, known)
    const found = known.get(start)?.cycle
    return found !== undefined && known.get(end)?.cycle === found ? found : undefined
  }

  /** Notes the components of all objects that an object leads to. Those that are known lead to none that is not. */
  #explore(start: string, isSynced: boolean, known: Map<string, Explored>): void {
    const edges: (readonly [string, string])[] = []
    const open = [start]
    known.set(start, {})
    for (let key = open.pop(); key !== undefined; key = open.pop()) {
      for (const edge of this.#edges.get(key)?.edges ?? []) {
        if (isSynced && edge.waitFor !== 'Synced') continue
        const target = idKey(edge.to)
        edges.push([key, target])
        if (known.has(target)) continue
        known.set(target, {})
        open.push(target)
      }
    }
    for (const keys of cyclesOf(edges)) {
      const cycle: Component = { keys }
      for (const key of keys) known.set(key, { cycle })
    }
  }

  #objectsOf(component: Component): readonly ObjectId[] {
    return (component.objects ??= this.#ids(component.keys))
  }

  #ids(keys: Iterable<string>): readonly ObjectId[] {
    return [...keys].flatMap((key) => this.#edges.get(key)?.id ?? [])
  }

  #add(key: string, edge: Edge): void {
    const to = idKey(edge.to)
    const dependents = this.#referents.get(to) ?? { id: edge.to, byView: new Map() }
    this.#referents.set(to, dependents)
    const kind = `${edge.to.group}/${edge.to.kind}`
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? new Set()).add(to))
    const view = viewKey(edge)
    const one = dependents.byView.get(view) ?? { view: edge, keys: new Set() }
    one.keys.add(key)
    dependents.byView.set(view, one)
  }

  #remove(key: string, edge: Edge): void {
    const to = idKey(edge.to)
    const dependents = this.#referents.get(to)
    const one = dependents?.byView.get(viewKey(edge))
    if (dependents === undefined || one === undefined) return
    one.keys.delete(key)
    if (one.keys.size === 0) dependents.byView.delete(viewKey(edge))
    if (dependents.byView.size > 0) return
    this.#referents.delete(to)
    const kind = `${edge.to.group}/${edge.to.kind}`
    const referents = this.#kinds.get(kind)
    referents?.delete(to)
    if (referents?.size === 0) this.#kinds.delete(kind)
  }
}
