// The controller of CompositeControllers.
import type { Kind } from '@fairlead/client'
import { kind } from '@fairlead/client'
import type { Manager } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { CompositeController } from '../api.ts'
import { apiVersion } from '../api.ts'
import type { Flavour } from '../sync/flavour.ts'
import type { KindResolver } from '../sync/kind-resolver.ts'
import { SpecError, checkNamespaces } from '../engine/spec-error.ts'
import type { SyncControllersOptions } from '../sync/sync-controllers.ts'
import { SyncControllers } from '../sync/sync-controllers.ts'
import { compositeFlavour, finalizerPrefix } from './composite.ts'

/** A CompositeController as the client reads it. */
export type CompositeControllerObject = CompositeController & KubeObject

/** CompositeController, for clients. */
export const compositeControllerKind: Kind<CompositeControllerObject> = kind<CompositeControllerObject>(
  apiVersion,
  'CompositeController',
  { plural: 'compositecontrollers', namespaced: false },
)

/** Returns the flavour of a CompositeController. Throws SpecError, SelectorError and what the lookup throws. */
export async function compositeFlavourOf(controller: CompositeController, resolve: KindResolver): Promise<Flavour> {
  const { parentResource, childResources = [] } = controller.spec
  const parent = await resolve.parent(parentResource)
  checkNamespaces(controller.spec, [parent])
  if (!parent.hasStatusSubresource)
    throw new SpecError(
      'NoStatusSubresource',
      `CRD [${parent.plural}.${parent.group}] does not have subresource 'Status' enabled`,
    )
  const children = await Promise.all(childResources.map((child) => resolve.child(child)))
  return compositeFlavour(controller, parent, children)
}

/** Runs all CompositeControllers of a cluster. */
export function compositeControllers(
  manager: Manager,
  dependencies: Pick<SyncControllersOptions<CompositeControllerObject>, 'http' | 'metrics' | 'settings'>,
): SyncControllers<CompositeControllerObject> {
  return new SyncControllers(manager, {
    ...dependencies,
    name: 'composite',
    kind: compositeControllerKind,
    finalizerPrefix,
    specOf: ({ spec }) => spec,
    resources: ({ spec }) => [spec.parentResource, ...(spec.childResources ?? [])],
    flavour: compositeFlavourOf,
  })
}
