// The inputs that parents select, updated by single changes (Q31): a change of an input visits only parents that could
// select it, a change of a parent only that parent's inputs. Pure: it reads nothing but its arguments.
import type { KubeObject } from '@fairlead/kube'
import { formatKey, keyOf } from '@fairlead/kube'
import type { Identity } from './identity.ts'
import { formatIdentity, identityOf } from './identity.ts'
import type { InputFilter, InputRole, NamespaceLabels, ParentSelector } from './input.ts'
import { inputRole, parentSelector } from './input.ts'
import { mapKeyOf } from './map-key.ts'

/** An input of a parent, by the position of its kind in the spec and its key (`namespace/name`, or `name`). */
export interface InputRef {
  readonly kind: number
  readonly key: string
  readonly role: Exclude<InputRole, 'none'>
}

/** A parent and the inputs it selects, by map key. */
export interface SelectedParent {
  readonly object: KubeObject
  readonly uid: string
  readonly identity: string
  readonly selector: ParentSelector
  readonly inputs: ReadonlyMap<string, InputRef>
}

interface MutableParent extends SelectedParent {
  object: KubeObject
  readonly inputs: Map<string, InputRef>
}

/** The effect of an input's change on one parent. */
export interface InputMove {
  readonly parent: SelectedParent
  readonly mapKey: string
  readonly before: InputRef | undefined
  readonly after: InputRef | undefined
}

/** The parents of one controller. */
export class Selection {
  readonly #filters: readonly InputFilter[]
  readonly #namespaceLabels: NamespaceLabels
  readonly #parents = new Map<string, MutableParent>()
  readonly #byIdentity = new Map<string, MutableParent>()
  readonly #byNamespace = new Map<string, ParentBucket>()
  readonly #everyParent = new ParentBucket()
  readonly #selectors = new Map<string, Set<MutableParent>>()

  constructor(filters: readonly InputFilter[], namespaceLabels: NamespaceLabels) {
    this.#filters = filters
    this.#namespaceLabels = namespaceLabels
  }

  get parents(): ReadonlyMap<string, SelectedParent> {
    return this.#parents
  }

  /** Returns the parent of an identity in the form of {@link formatIdentity}. */
  byIdentity(identity: string): SelectedParent | undefined {
    return this.#byIdentity.get(identity)
  }

  /**
   * Adds or changes a parent. `inputs` returns the objects of an input kind in a namespace ('' for all). Returns the
   * parent, and the map keys that it no longer selects.
   */
  setParent(
    object: KubeObject,
    inputs: (kind: number, namespace: string) => Iterable<KubeObject>,
  ): { parent: SelectedParent; left: string[] } {
    const uid = object.metadata.uid ?? ''
    const old = this.#parents.get(uid)
    const before = old === undefined ? [] : [...old.inputs.keys()]
    if (old !== undefined) this.#unlink(old)
    const parent: MutableParent = {
      object,
      uid,
      identity: formatIdentity(identityOf(object)),
      selector: parentSelector(object),
      inputs: new Map(),
    }
    this.#parents.set(uid, parent)
    this.#byIdentity.set(parent.identity, parent)
    for (const bucket of this.#bucketsOf(parent)) bucket.add(parent)
    for (const [kind] of this.#filters.entries()) {
      for (const input of inputs(kind, object.metadata.namespace ?? '')) this.#link(parent, kind, input)
    }
    return { parent, left: before.filter((mapKey) => !parent.inputs.has(mapKey)) }
  }

  /** Replaces the object of a parent whose selector did not change. */
  refreshParent(object: KubeObject): void {
    const parent = this.#parents.get(object.metadata.uid ?? '')
    if (parent !== undefined) parent.object = object
  }

  /** Removes a parent. Returns it, undefined when it is unknown. */
  removeParent(uid: string): SelectedParent | undefined {
    const parent = this.#parents.get(uid)
    if (parent === undefined) return undefined
    this.#unlink(parent)
    this.#parents.delete(uid)
    if (this.#byIdentity.get(parent.identity) === parent) this.#byIdentity.delete(parent.identity)
    return parent
  }

  /**
   * Adds, changes or removes (`object` undefined) an input. Returns every parent that selected it before or does now.
   */
  setInput(kind: number, identity: Identity, object: KubeObject | undefined): InputMove[] {
    const mapKey = mapKeyOf(identity)
    const before = new Map<MutableParent, InputRef>()
    for (const parent of this.#selectors.get(mapKey) ?? []) {
      const ref = parent.inputs.get(mapKey)
      if (ref !== undefined) before.set(parent, ref)
    }
    for (const parent of before.keys()) this.#drop(parent, mapKey)
    if (object !== undefined)
      for (const parent of this.#candidates(kind, object)) this.#link(parent, kind, object, mapKey)
    const moved = new Set([...before.keys(), ...(this.#selectors.get(mapKey) ?? [])])
    return [...moved].map((parent) => ({
      parent,
      mapKey,
      before: before.get(parent),
      after: parent.inputs.get(mapKey),
    }))
  }

  #candidates(kind: number, input: KubeObject): Set<MutableParent> {
    const labels = input.metadata.labels ?? {}
    const found = new Set<MutableParent>()
    if (this.#filters[kind]?.kind.namespaced !== true) {
      this.#everyParent.collect(labels, found)
    } else {
      this.#byNamespace.get(input.metadata.namespace ?? '')?.collect(labels, found)
      this.#byNamespace.get('')?.collect(labels, found)
    }
    return found
  }

  #link(parent: MutableParent, kind: number, input: KubeObject, known?: string): void {
    const filter = this.#filters[kind]
    if (filter === undefined || !parent.selector.valid) return
    const role = inputRole(input, filter, parent.object, parent.selector.selector, this.#namespaceLabels)
    if (role === 'none') return
    const mapKey = known ?? mapKeyOf(identityOf(input))
    parent.inputs.set(mapKey, { kind, key: formatKey(keyOf(input)), role })
    const selecting = this.#selectors.get(mapKey)
    if (selecting === undefined) this.#selectors.set(mapKey, new Set([parent]))
    else selecting.add(parent)
  }

  #unlink(parent: MutableParent): void {
    for (const mapKey of parent.inputs.keys()) this.#dropSelector(parent, mapKey)
    parent.inputs.clear()
    for (const bucket of this.#bucketsOf(parent)) bucket.remove(parent)
  }

  #drop(parent: MutableParent, mapKey: string): void {
    parent.inputs.delete(mapKey)
    this.#dropSelector(parent, mapKey)
  }

  #dropSelector(parent: MutableParent, mapKey: string): void {
    const selecting = this.#selectors.get(mapKey)
    selecting?.delete(parent)
    if (selecting?.size === 0) this.#selectors.delete(mapKey)
  }

  #bucketsOf(parent: MutableParent): ParentBucket[] {
    const namespace = parent.object.metadata.namespace ?? ''
    let own = this.#byNamespace.get(namespace)
    if (own === undefined) this.#byNamespace.set(namespace, (own = new ParentBucket()))
    return [own, this.#everyParent]
  }
}

/** Parents by one label that their inputs must have; those that require none are under ''. */
class ParentBucket {
  readonly #byLabel = new Map<string, Set<MutableParent>>()

  add(parent: MutableParent): void {
    const label = requiredLabel(parent)
    const parents = this.#byLabel.get(label)
    if (parents === undefined) this.#byLabel.set(label, new Set([parent]))
    else parents.add(parent)
  }

  remove(parent: MutableParent): void {
    const label = requiredLabel(parent)
    const parents = this.#byLabel.get(label)
    parents?.delete(parent)
    if (parents?.size === 0) this.#byLabel.delete(label)
  }

  /** Adds the parents that may select an input with these labels. */
  collect(labels: Readonly<Record<string, string>>, into: Set<MutableParent>): void {
    for (const parent of this.#byLabel.get('') ?? []) into.add(parent)
    for (const name in labels) for (const parent of this.#byLabel.get(`${name}=${labels[name]}`) ?? []) into.add(parent)
  }
}

function requiredLabel(parent: SelectedParent): string {
  const [first] = parent.selector.valid ? Object.entries(parent.selector.matchLabels) : []
  return first === undefined ? '' : `${first[0]}=${first[1]}`
}
