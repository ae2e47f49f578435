// The controllers of a cluster by name: a MapController, a CompositeController and a DecoratorController may have one
// name.
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { CompositeController, DecoratorController, MapController } from '../api.ts'
import { compositeControllerKind } from '../composite/composite-controllers.ts'
import { mapControllerKind } from '../controllers/map-controller.ts'
import { decoratorControllerKind } from '../decorator/decorator-controllers.ts'
import type { ResourceName } from '../engine/kinds.ts'
import { resourcesOf } from '../engine/kinds.ts'

const kinds = [mapControllerKind, compositeControllerKind, decoratorControllerKind]

/** Returns the controllers of a name. Throws StatusError 404 when there is none. */
export async function controllersNamed(client: Client, name: string): Promise<readonly KubeObject[]> {
  const controllers: KubeObject[] = []
  for (const kind of kinds) {
    const found = await client.find<KubeObject>(kind, name)
    if (found !== undefined) controllers.push(found)
  }
  return controllers.length === 0 ? [await client.get<KubeObject>(mapControllerKind, name)] : controllers
}

/** The spec of a controller of any of the three kinds. */
export type ControllerSpec = (MapController | CompositeController | DecoratorController)['spec']

/** Returns all resources that the spec of a controller names. */
export function resourcesNamedBy(spec: ControllerSpec): readonly ResourceName[] {
  if ('inputResources' in spec) return resourcesOf(spec)
  return 'resources' in spec
    ? [...spec.resources, ...(spec.attachments ?? [])]
    : [spec.parentResource, ...(spec.childResources ?? [])]
}

/** Returns the resources of a controller's parents. */
export function parentsOf(controller: KubeObject): readonly ResourceName[] {
  const { spec } = controller as unknown as MapController | CompositeController | DecoratorController
  return 'resources' in spec ? spec.resources : [spec.parentResource]
}
