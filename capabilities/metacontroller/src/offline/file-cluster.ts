// The cluster from the objects of some files: everything is known, and an object that the files lack does not exist.
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import { formatKey, keyOf, parseKey, selectorFrom } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import type { Cluster } from '../engine/cluster.ts'
import type { Group } from '../engine/group.ts'
import type { Identity } from '../engine/identity.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { inputFilter } from '../engine/input.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { OutputIndex } from '../engine/output-index.ts'
import { relatedObjects } from '../engine/related.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import type { OutputKind } from '../engine/resource.ts'
import type { SelectedParent } from '../engine/selection.ts'
import { Selection } from '../engine/selection.ts'
import { ObjectIndex } from './object-index.ts'

/** The content of a {@link FileCluster}. */
export interface FileClusterOptions {
  readonly controller: MapController
  readonly kinds: ControllerKinds
  /** Parents, inputs, outputs, related objects, namespaces. Namespaced ones without a namespace are in `default`. */
  readonly objects: readonly KubeObject[]
  /** Plurals of input kinds that cannot be listed, for tests: nothing is deleted then (Q23). */
  readonly unlistable?: ReadonlySet<string>
}

const namespaceKind = { apiVersion: 'v1', kind: 'Namespace' }

/** A {@link Cluster} that reads files. */
export class FileCluster implements Cluster {
  readonly controller: MapController
  readonly kinds: ControllerKinds
  readonly outputsKnown = true
  readonly relatedKnown = true
  readonly inputsKnown: boolean
  readonly parents: readonly SelectedParent[]
  readonly #objects: ObjectIndex
  readonly #selection: Selection
  readonly #outputs: OutputIndex
  readonly #unlistable: ReadonlySet<string>
  readonly #related = new Map<string, readonly ObjectsOfKind[]>()

  /** Indexes the objects. Throws SelectorError. */
  constructor({ controller, kinds, objects, unlistable = new Set() }: FileClusterOptions) {
    this.controller = controller
    this.kinds = kinds
    this.#unlistable = unlistable
    this.#objects = new ObjectIndex(objects.map((object) => withNamespace(object, kinds)))
    this.#outputs = new OutputIndex(controller.metadata.name ?? '', kinds.outputs.length)
    for (const [index, kind] of kinds.outputs.entries())
      for (const object of this.#objects.list(kind)) this.#outputs.set(index, formatKey(keyOf(object)), object)
    this.#selection = new Selection(kinds.inputs.map(inputFilter), (name) => this.#namespaceLabels(name))
    const { labelSelector } = controller.spec.parentResource
    const selector = labelSelector === undefined ? undefined : selectorFrom(labelSelector)
    this.parents = [...this.#objects.list(kinds.parent)]
      .filter(({ metadata }) => selector?.matches(metadata.labels) !== false)
      .filter(({ metadata }) => controller.spec.namespaces?.includes(metadata.namespace ?? '') !== false)
      .map((object) => this.#selection.setParent(withUid(object), () => []).parent)
    for (const [index, kind] of kinds.inputs.entries())
      for (const object of this.#objects.list(kind)) this.#selection.setInput(index, identityOf(object), object)
    this.inputsKnown = !kinds.inputs.some(({ plural }) => unlistable.has(plural))
  }

  /** Returns the groups of a parent: map keys, and their inputs as `Kind.group/namespace/name`. */
  groupsOf(parent: SelectedParent): ReadonlyMap<string, string> {
    const groups = new Map<string, string>()
    for (const [mapKey, { kind, key }] of parent.inputs) {
      const { group, kind: inputKind } = this.kinds.inputs[kind]!
      groups.set(mapKey, formatIdentity({ group, kind: inputKind, ...parseKey(key) }))
    }
    for (const [mapKey, input] of this.#outputs.groupsOf(parent)) groups.set(mapKey, formatIdentity(input))
    return groups
  }

  /** Returns the number of inputs of each kind that a parent selects; undefined where it is not known. */
  inputTotals(parent: SelectedParent): readonly (number | undefined)[] {
    return this.kinds.inputs.map(({ plural }, index) => {
      if (!parent.selector.valid || this.#unlistable.has(plural)) return undefined
      return [...parent.inputs.values()].filter(({ kind, role }) => kind === index && role === 'input').length
    })
  }

  input(kind: number, key: string): KubeObject | undefined {
    return this.#objects.get(this.kinds.inputs[kind]!, key)
  }

  output(kind: OutputKind, identity: Identity): KubeObject | undefined {
    return this.#objects.get(kind, formatKey(identity))
  }

  outputsOf({ parent, mapKey }: Group): readonly KubeObject[] {
    return this.#outputs.outputsOf(parent, mapKey)
  }

  orphansOf({ parent, mapKey }: Group): readonly KubeObject[] {
    return this.#outputs.orphansOf(parent, mapKey)
  }

  related(parent: KubeObject): readonly ObjectsOfKind[] {
    const id = parent.metadata.uid ?? ''
    const known = this.#related.get(id)
    if (known !== undefined) return known
    const rules = this.kinds.related
    const reader = {
      get: (rule: number, key: ObjectKey) => this.#objects.get(rules[rule]!, formatKey(key)),
      list: (rule: number, namespace: string | undefined) => this.#objects.list(rules[rule]!, namespace),
      namespaceLabels: (name: string) => this.#namespaceLabels(name),
    }
    const found = relatedObjects(rules, reader, parent)
    this.#related.set(id, found)
    return found
  }

  #namespaceLabels(name: string): Readonly<Record<string, string>> | undefined {
    const found = this.#objects.get(namespaceKind, name)
    return found === undefined ? undefined : (found.metadata.labels ?? {})
  }
}

/** Returns a namespaced object in the namespace `default` when it names none. */
function withNamespace(object: KubeObject, { parent, inputs, outputs, related }: ControllerKinds): KubeObject {
  if (object.metadata.namespace !== undefined) return object
  const kind = [parent, ...inputs, ...outputs, ...related].find(
    (one) => one.kind === object.kind && one.apiVersion === object.apiVersion,
  )
  return kind?.namespaced === true ? { ...object, metadata: { ...object.metadata, namespace: 'default' } } : object
}

function withUid(object: KubeObject): KubeObject {
  const { uid, namespace = '', name = '' } = object.metadata
  return { ...object, metadata: { ...object.metadata, uid: uid ?? `uid-of-${namespace}-${name}` } }
}
