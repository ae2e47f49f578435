// Reads the parents and children of CompositeControllers and DecoratorControllers.
import type { Kind, ServedKind } from '@fairlead/client'
import { objectReference } from '@fairlead/controller'
import type { ObjectReader, Relation } from '@fairlead/controller'
import { SelectorError } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { ownersOf } from '../children/child.ts'
import type { ChildKind } from '../children/child.ts'
import type { CompositeControllerObject } from '../composite/composite-controllers.ts'
import { compositeFlavour } from '../composite/composite.ts'
import type { DecoratorControllerObject } from '../decorator/decorator-controllers.ts'
import { decoratorFlavour } from '../decorator/decorator.ts'
import { identityOf } from '../engine/identity.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { clientKind } from '../runtime/client-kind.ts'
import type { Flavour, ParentKind } from '../sync/flavour.ts'
import { childKindOf } from '../sync/kind-resolver.ts'
import type { ChildName } from '../sync/kind-resolver.ts'
import type { ResourceName } from '../engine/kinds.ts'
import { servedResource } from './served-resource.ts'

/** The part of a flavour that says which objects belong to a controller. */
type Selecting = Pick<Flavour, 'parents' | 'children' | 'selects' | 'claim'>

/** Returns the CompositeControllers that can be read, but those whose selectors are invalid. */
export function compositeReaders(
  read: ObjectReader,
  kind: Kind<CompositeControllerObject>,
): Promise<readonly SyncControllerReader[]> {
  return readersOf(read, kind, (controller, served) => {
    const { parentResource, childResources = [] } = controller.spec
    return compositeFlavour(
      controller,
      parentKind(parentResource, served),
      childResources.map((child) => childKind(child, served)),
    )
  })
}

/** Returns the DecoratorControllers that can be read, but those whose selectors are invalid. */
export function decoratorReaders(
  read: ObjectReader,
  kind: Kind<DecoratorControllerObject>,
): Promise<readonly SyncControllerReader[]> {
  return readersOf(read, kind, (controller, served) => {
    const { resources, attachments = [] } = controller.spec
    return decoratorFlavour(
      controller,
      resources.map((resource) => parentKind(resource, served)),
      attachments.map((child) => childKind(child, served)),
    )
  })
}

async function readersOf<C extends KubeObject & { readonly spec: { readonly namespaces?: readonly string[] } }>(
  read: ObjectReader,
  kind: Kind<C>,
  flavourOf: (controller: C, served: readonly ServedKind[]) => Selecting,
): Promise<readonly SyncControllerReader[]> {
  const { objects } = await read.list(kind)
  const served = objects.length === 0 ? [] : await read.served()
  return objects.flatMap((controller) => {
    try {
      return [new SyncControllerReader(controller, flavourOf(controller, served), read, controller.spec.namespaces)]
    } catch (error) {
      if (error instanceof SelectorError) return []
      throw error
    }
  })
}

/** A CompositeController or DecoratorController with its kinds. */
export class SyncControllerReader {
  readonly controller: KubeObject
  readonly #flavour: Selecting
  readonly #read: ObjectReader
  readonly #namespaces: readonly string[] | undefined

  constructor(
    controller: KubeObject,
    flavour: Selecting,
    read: ObjectReader,
    namespaces: readonly string[] | undefined,
  ) {
    this.controller = controller
    this.#flavour = flavour
    this.#read = read
    this.#namespaces = namespaces
  }

  /** Returns the edges of a parent, to the controller and from its children, and of a child, to its parent. */
  async relations(object: KubeObject): Promise<readonly Relation[]> {
    const [own, ofChild] = [this.#isParent(object) ? await this.#ofParent(object) : [], this.#ofChild(object)]
    return [...own, ...ofChild]
  }

  /** Returns the edges from the parents to the controller. */
  async controllerRelations(): Promise<readonly Relation[]> {
    const lists = await Promise.all(this.#flavour.parents.map((kind) => this.#read.list(clientKind(kind))))
    return lists
      .flatMap(({ objects }) => objects)
      .filter((object) => this.#isParent(object))
      .map((parent) => this.#refersToController(parent))
  }

  #isParent(object: KubeObject): boolean {
    const { namespace } = object.metadata
    if (namespace !== undefined && this.#namespaces?.includes(namespace) === false) return false
    return this.#flavour.parents.some((kind) => isOfKind(object, kind)) && this.#flavour.selects(object)
  }

  async #ofParent(parent: KubeObject): Promise<readonly Relation[]> {
    const { uid = '', namespace } = parent.metadata
    const lists = await Promise.all(
      this.#flavour.children.map(async (kind) => {
        const { objects } = await this.#read.list(clientKind(kind), kind.namespaced ? namespace : undefined)
        return objects.filter((object) => ownersOf(kind, object).includes(uid)).map((object) => ({ kind, object }))
      }),
    )
    const to = objectReference(parent)
    const children = this.#claimed(parent, lists.flat())
    return [
      this.#refersToController(parent),
      ...children.map((child): Relation => ({ type: 'made-from', from: objectReference(child), to })),
    ]
  }

  /** Returns the children of a parent among what it owns; nothing where its selector is invalid. */
  #claimed(parent: KubeObject, owned: readonly { kind: ChildKind; object: KubeObject }[]): readonly KubeObject[] {
    try {
      return this.#flavour.claim(parent, { owned, orphans: [] }).children.map(({ object }) => object)
    } catch (error) {
      if (error instanceof SelectorError) return []
      throw error
    }
  }

  #ofChild(object: KubeObject): readonly Relation[] {
    const kind = this.#flavour.children.find((one) => isOfKind(object, one))
    if (kind === undefined) return []
    const uids = ownersOf(kind, object)
    const { namespace, ownerReferences = [] } = object.metadata
    return ownerReferences.flatMap((owner): Relation[] => {
      const parent = this.#flavour.parents.find((one) => one.apiVersion === owner.apiVersion && one.kind === owner.kind)
      if (parent === undefined || !uids.includes(owner.uid)) return []
      const place = parent.namespaced && namespace !== undefined ? { namespace } : {}
      const to = { apiVersion: owner.apiVersion, kind: owner.kind, ...place, name: owner.name, uid: owner.uid }
      return [{ type: 'made-from', from: objectReference(object), to }]
    })
  }

  #refersToController(parent: KubeObject): Relation {
    return { type: 'refers-to', from: objectReference(parent), to: objectReference(this.controller) }
  }
}

function parentKind(name: ResourceName, served: readonly ServedKind[]): ParentKind {
  return { ...servedResource(name, served), ignoreStatusChanges: false, hasStatusSubresource: true }
}

function childKind({ apiVersion, resource, ...rest }: ChildName, served: readonly ServedKind[]): ChildKind {
  return childKindOf(servedResource({ apiVersion, resource }, served), rest)
}

function isOfKind(object: KubeObject, kind: ResolvedResource): boolean {
  const identity = identityOf(object)
  return kind.group === identity.group && kind.kind === identity.kind
}
