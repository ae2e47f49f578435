// The edges of the controllers of metacontroller.k8s.io in the graph of derived objects. Start with relations.
import type { ObjectReader, Relation, RelationSource } from '@fairlead/controller'
import { objectReference } from '@fairlead/controller'
import { parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { apiGroup } from '../api.ts'
import { compositeControllerKind } from '../composite/composite-controllers.ts'
import { decoratorControllerKind } from '../decorator/decorator-controllers.ts'
import { outputRole } from '../engine/group.ts'
import type { Identity } from '../engine/identity.ts'
import { tagOf } from '../engine/tag.ts'
import { controllerRelations, relationsOf } from './map-relations.ts'
import { MapControllerReader } from './map-controller-reader.ts'
import { compositeReaders, decoratorReaders } from './sync-controller-reader.ts'
import type { SyncControllerReader } from './sync-controller-reader.ts'

/**
 * The edges that begin or end at an object:
 * - an output is made from its input and from its parent, by its tag;
 * - an input that some parent selects is input of the MapController;
 * - children and attachments are made from their parent, by owner references;
 * - a parent refers to the controllers that select it.
 */
export const relations: RelationSource = {
  async relations(object, read) {
    const controllers = controllersOf(read)
    const isController = parseApiVersion(object.apiVersion).group === apiGroup
    const { name } = object.metadata
    const maps = (await controllers.maps).map(async (reader) => {
      if (!isController || object.kind !== 'MapController')
        return reader.concerns(object) ? relationsOf(object, await reader.groupsAround(object)) : []
      return reader.controller.metadata.name === name ? controllerRelations(await reader.groups(undefined)) : []
    })
    const syncs = [...(await controllers.composites), ...(await controllers.decorators)].map(async (reader) => {
      const isOwn = isController && object.kind === reader.controller.kind && reader.controller.metadata.name === name
      return isOwn ? reader.controllerRelations() : reader.relations(object)
    })
    return [...(await outputRelations(object, read)), ...(await Promise.all([...maps, ...syncs])).flat()]
  },
}

interface Controllers {
  readonly maps: Promise<readonly MapControllerReader[]>
  readonly composites: Promise<readonly SyncControllerReader[]>
  readonly decorators: Promise<readonly SyncControllerReader[]>
}

/** The controllers that a reader has read, with their parents, inputs and outputs: each once for all objects. */
const known = new WeakMap<ObjectReader, Controllers>()

function controllersOf(read: ObjectReader): Controllers {
  let controllers = known.get(read)
  if (controllers === undefined) {
    controllers = {
      maps: MapControllerReader.all(read),
      composites: compositeReaders(read, compositeControllerKind),
      decorators: decoratorReaders(read, decoratorControllerKind),
    }
    known.set(read, controllers)
  }
  return controllers
}

/** Returns the edges from an output to its input and its parent; they need no right to read MapControllers. */
async function outputRelations(object: KubeObject, read: ObjectReader): Promise<readonly Relation[]> {
  const tag = tagOf(object)
  if (tag === undefined || outputRole(object, tag.controller).role !== 'output') return []
  const from = objectReference(object)
  const ends = await Promise.all([tag.input, tag.parent].map((identity) => referenceTo(identity, read)))
  return ends.flatMap((to): Relation[] => (to === undefined ? [] : [{ type: 'made-from', from, to }]))
}

async function referenceTo(
  { group, kind, namespace, name }: Identity,
  read: ObjectReader,
): Promise<Relation['to'] | undefined> {
  const found = await read.preferred(group, kind)
  return found && { apiVersion: found.apiVersion, kind, ...(namespace === '' ? {} : { namespace }), name }
}
