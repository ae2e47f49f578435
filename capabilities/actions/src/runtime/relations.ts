// The edges of mappings and maps in the graph of derived objects. Start with relations.
import { ConfigMap } from '@fairlead/client'
import { objectReference } from '@fairlead/controller'
import type { ObjectReader, ObjectReference, Relation, RelationSource } from '@fairlead/controller'
import { controllerOf, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { apiGroup, kindActionMapping } from '../api.ts'
import type { KindActionMappingObject } from '../api.ts'
import { autoCreatedLabel } from '../engine/embedded-mapping.ts'

/**
 * The edges that begin or end at an object, as far as status and owner references show them:
 * - a mapping refers to the ConfigMaps that its rules name;
 * - an embedded mapping is made from the ConfigMap that carries it.
 */
export const relations: RelationSource = { relations: relationsOf }

async function relationsOf(object: KubeObject, read: ObjectReader): Promise<readonly Relation[]> {
  if (isMapping(object)) return mappingRelations(object)
  if (object.apiVersion !== ConfigMap.apiVersion || object.kind !== ConfigMap.kind) return []
  const mappings = await read.list(kindActionMapping)
  const { namespace = '', name = '' } = object.metadata
  return mappings.objects
    .flatMap(mappingRelations)
    .filter(({ to }) => to.kind === ConfigMap.kind && to.namespace === namespace && to.name === name)
}

function isMapping(object: KubeObject): object is KindActionMappingObject {
  return object.kind === kindActionMapping.kind && parseApiVersion(object.apiVersion).group === apiGroup
}

function mappingRelations(mapping: KindActionMappingObject): readonly Relation[] {
  const { namespace = '', labels } = mapping.metadata
  const from = objectReference(mapping)
  const owner = labels?.[autoCreatedLabel] === undefined ? undefined : controllerOf(mapping)
  const { found = [] } = mapping.status?.maps ?? {}
  return [
    ...found.map((key): Relation => ({ type: 'refers-to', from, to: mapReference(key) })),
    ...(owner?.kind === ConfigMap.kind
      ? [{ type: 'made-from', from, to: { ...mapReference(`${namespace}/${owner.name}`), uid: owner.uid } } as const]
      : []),
  ]
}

/** `key` is `namespace/name`. */
function mapReference(key: string): ObjectReference {
  const slash = key.indexOf('/')
  return {
    apiVersion: ConfigMap.apiVersion,
    kind: ConfigMap.kind,
    namespace: key.slice(0, slash),
    name: key.slice(slash + 1),
  }
}
