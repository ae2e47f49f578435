// Reads the groups of a MapController: its parents, their inputs and outputs, in a namespace or in all of them.
import type { ObjectReader } from '@fairlead/controller'
import { Namespace } from '@fairlead/client'
import { SelectorError, everything, formatKey, keyOf, selectorFrom } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { MapControllerObject } from '../controllers/map-controller.ts'
import { mapControllerKind } from '../controllers/map-controller.ts'
import { identityOf } from '../engine/identity.ts'
import { inputFilter } from '../engine/input.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { resolveKinds } from '../engine/kinds.ts'
import { OutputIndex } from '../engine/output-index.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { Selection } from '../engine/selection.ts'
import { clientKind } from '../runtime/client-kind.ts'
import type { ControllerGroups } from './map-relations.ts'
import { servedResource } from './served-resource.ts'

/** A MapController with its kinds; its groups are read once for each scope. */
export class MapControllerReader {
  readonly controller: MapControllerObject
  readonly #kinds: ControllerKinds
  readonly #read: ObjectReader
  readonly #groups = new Map<string, Promise<ControllerGroups>>()

  private constructor(controller: MapControllerObject, kinds: ControllerKinds, read: ObjectReader) {
    this.controller = controller
    this.#kinds = kinds
    this.#read = read
  }

  /** Returns all that can be read and whose selectors are valid. */
  static async all(read: ObjectReader): Promise<readonly MapControllerReader[]> {
    const { objects } = await read.list(mapControllerKind)
    const served = objects.length === 0 ? [] : await read.served()
    return Promise.all(
      objects.map(async (controller) => {
        const kinds = await resolveKinds(controller.spec, (name) => servedResource(name, served))
        return new MapControllerReader(controller, kinds, read)
      }),
    )
  }

  /** Returns whether an object is of a kind of parents or inputs. */
  concerns(object: KubeObject): boolean {
    return [this.#kinds.parent, ...this.#kinds.inputs].some((kind) => isOfKind(object, kind))
  }

  /** Returns the groups that an object can belong to. */
  groupsAround({ metadata }: KubeObject): Promise<ControllerGroups> {
    return this.groups(this.#kinds.parent.namespaced ? metadata.namespace : undefined)
  }

  /** Returns the groups of the parents of a namespace; of all parents when undefined. */
  groups(namespace: string | undefined): Promise<ControllerGroups> {
    const scope = namespace ?? ''
    let groups = this.#groups.get(scope)
    if (groups === undefined) {
      groups = this.#readGroups(namespace)
      this.#groups.set(scope, groups)
    }
    return groups
  }

  async #readGroups(namespace: string | undefined): Promise<ControllerGroups> {
    const { controller } = this
    const { parent, inputs, outputs } = this.#kinds
    const { spec } = controller
    const list = async (kind: ResolvedResource): Promise<readonly KubeObject[]> => {
      const { objects } = await this.#read.list(clientKind(kind), kind.namespaced ? namespace : undefined)
      return spec.namespaces === undefined || !kind.namespaced
        ? objects
        : objects.filter(({ metadata }) => spec.namespaces!.includes(metadata.namespace ?? ''))
    }
    const labels = await this.#namespaceLabels()
    const outputIndex = new OutputIndex(controller.metadata.name ?? '', outputs.length)
    try {
      const selection = new Selection(inputs.map(inputFilter), (name) => labels.get(name))
      const { labelSelector } = spec.parentResource
      const selector = labelSelector === undefined ? everything : selectorFrom(labelSelector)
      for (const object of await list(parent))
        if (selector.matches(object.metadata.labels ?? {})) selection.setParent(object, () => [])
      for (const [at, kind] of inputs.entries())
        for (const object of await list(kind)) selection.setInput(at, identityOf(object), object)
      for (const [at, kind] of outputs.entries())
        for (const object of await list(kind)) outputIndex.set(at, formatKey(keyOf(object)), object)
      return { controller, kinds: this.#kinds, selection, outputs: outputIndex }
    } catch (error) {
      // The controller says so in its condition Ready, and maps nothing.
      if (!(error instanceof SelectorError)) throw error
      return { controller, kinds: this.#kinds, selection: new Selection([], () => undefined), outputs: outputIndex }
    }
  }

  async #namespaceLabels(): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
    if (!this.#kinds.inputs.some(({ spec }) => spec.namespaceSelector !== undefined)) return new Map()
    const { objects } = await this.#read.list(Namespace)
    return new Map(objects.map(({ metadata }) => [metadata.name ?? '', metadata.labels ?? {}]))
  }
}

function isOfKind(object: KubeObject, kind: ResolvedResource): boolean {
  const identity = identityOf(object)
  return kind.group === identity.group && kind.kind === identity.kind
}
