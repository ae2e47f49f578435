// The controller of DecoratorControllers.
import type { Kind } from '@fairlead/client'
import { kind } from '@fairlead/client'
import type { Manager } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { DecoratorController } from '../api.ts'
import { apiVersion } from '../api.ts'
import { isRolling } from '../children/child.ts'
import type { Flavour } from '../sync/flavour.ts'
import type { KindResolver } from '../sync/kind-resolver.ts'
import { SpecError, checkNamespaces } from '../engine/spec-error.ts'
import type { SyncControllersOptions } from '../sync/sync-controllers.ts'
import { SyncControllers } from '../sync/sync-controllers.ts'
import { decoratorFlavour, finalizerPrefix } from './decorator.ts'

/** A DecoratorController as the client reads it. */
export type DecoratorControllerObject = DecoratorController & KubeObject

/** DecoratorController, for clients. */
export const decoratorControllerKind: Kind<DecoratorControllerObject> = kind<DecoratorControllerObject>(
  apiVersion,
  'DecoratorController',
  { plural: 'decoratorcontrollers', namespaced: false },
)

/** Returns the flavour of a DecoratorController. Throws SpecError, SelectorError and what the lookup throws. */
export async function decoratorFlavourOf(controller: DecoratorController, resolve: KindResolver): Promise<Flavour> {
  const { resources, attachments = [] } = controller.spec
  const parents = await Promise.all(resources.map((resource) => resolve.parent(resource)))
  checkNamespaces(controller.spec, parents)
  const rolling = attachments.find(({ updateStrategy }) => isRolling({ method: updateStrategy?.method ?? 'OnDelete' }))
  if (rolling !== undefined)
    throw new SpecError(
      'UnsupportedUpdateStrategy',
      `updateStrategy.method ${rolling.updateStrategy?.method} of ${rolling.resource} is for CompositeControllers; use OnDelete, Recreate or InPlace`,
    )
  const children = await Promise.all(attachments.map((attachment) => resolve.child(attachment)))
  return decoratorFlavour(controller, parents, children)
}

/** Runs all DecoratorControllers of a cluster. */
export function decoratorControllers(
  manager: Manager,
  dependencies: Pick<SyncControllersOptions<DecoratorControllerObject>, 'http' | 'metrics' | 'settings'>,
): SyncControllers<DecoratorControllerObject> {
  return new SyncControllers(manager, {
    ...dependencies,
    name: 'decorator',
    kind: decoratorControllerKind,
    finalizerPrefix,
    specOf: ({ spec }) => spec,
    resources: ({ spec }) => [...spec.resources, ...(spec.attachments ?? [])],
    flavour: decoratorFlavourOf,
  })
}
