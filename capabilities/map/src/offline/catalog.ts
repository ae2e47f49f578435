// Kinds without a server: from the definitions and objects at hand, and the few kinds that everybody knows.
import type { KubeObject } from '@fairlead/kube'
import { formatApiVersion, parseApiVersion } from '@fairlead/kube'
import type { MapControllerSpec } from '../api.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { outputKind } from '../engine/resource.ts'
import type { ControllerKinds } from '../runtime/kinds.ts'
import { pluralOf, wellKnownKinds } from './well-known-kinds.ts'

/** A kind that cannot be told from what is given. */
export class UnknownKindError extends Error {
  override readonly name = 'UnknownKindError'
  readonly code = 'UnknownKind'
}

interface Definition extends KubeObject {
  readonly spec: {
    readonly group: string
    readonly scope: string
    readonly names: { readonly kind: string; readonly plural: string }
    readonly versions: readonly { readonly name: string }[]
  }
}

/** What resources and kinds are called. */
export class Catalog {
  readonly #known = new Map<string, ResolvedResource>()
  readonly #objects: readonly KubeObject[]

  /** Learns from CustomResourceDefinitions and from the objects themselves. */
  constructor(objects: readonly KubeObject[]) {
    this.#objects = objects
    for (const known of wellKnownKinds) this.#learn(known)
    for (const object of objects) {
      if (object.kind !== 'CustomResourceDefinition') continue
      const { group, scope, names, versions } = (object as Definition).spec
      for (const { name } of versions)
        this.#learn({
          apiVersion: formatApiVersion(group, name),
          group,
          kind: names.kind,
          plural: names.plural,
          namespaced: scope !== 'Cluster',
        })
    }
  }

  /** The resource of that plural. Throws UnknownKindError. */
  resource({
    apiVersion,
    resource: plural,
  }: {
    readonly apiVersion: string
    readonly resource: string
  }): ResolvedResource {
    const known = this.#known.get(`${apiVersion}/${plural}`)
    if (known !== undefined) return known
    const object = this.#objects.find((one) => one.apiVersion === apiVersion && pluralOf(one.kind) === plural)
    if (object === undefined) {
      throw new UnknownKindError(
        `Nothing tells the kind of ${plural} in ${apiVersion}; add its CustomResourceDefinition, or an object of it, to the files`,
      )
    }
    const resolved = {
      apiVersion,
      group: parseApiVersion(apiVersion).group,
      kind: object.kind,
      plural,
      namespaced:
        object.metadata.namespace !== undefined || this.#isNamespaced(parseApiVersion(apiVersion).group, object.kind),
    }
    return this.#learn(resolved)
  }

  /** All kinds of a spec. Throws UnknownKindError. */
  kinds(spec: MapControllerSpec): ControllerKinds {
    return {
      parent: this.resource(spec.parentResource),
      inputs: spec.inputResources.map((input) => ({ ...this.resource(input), spec: input })),
      outputs: spec.outputResources.map((output) => outputKind(this.resource(output), output)),
      related: (spec.hooks.map.relatedResources ?? []).map((rule) => ({ ...this.resource(rule), spec: rule })),
    }
  }

  /** As in another version of the kind; nothing else is known of it. */
  #isNamespaced(group: string, kind: string): boolean {
    const known = [...this.#known.values()].find((one) => one.group === group && one.kind === kind)
    return known?.namespaced ?? true
  }

  #learn(resource: ResolvedResource): ResolvedResource {
    this.#known.set(`${resource.apiVersion}/${resource.plural}`, resource)
    return resource
  }
}
