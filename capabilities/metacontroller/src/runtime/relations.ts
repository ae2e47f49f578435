// The edges of map controllers in the graph of derived objects, from the index of a run.
import type { ObjectReference, Relation } from '@fairlead/controller'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import { parseApiVersion, parseKey } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { apiGroup, apiVersion } from '../api.ts'
import type { Identity } from '../engine/identity.ts'
import { identityOf } from '../engine/identity.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { mapKeyOf } from '../engine/map-key.ts'
import type { InputKind } from '../engine/resource.ts'
import type { SelectedParent } from '../engine/selection.ts'
import type { GroupIndex } from './group-index.ts'

/** A MapController with the index of its groups. */
export interface IndexedController {
  readonly controller: MapController
  readonly kinds: ControllerKinds
  readonly index: GroupIndex
}

/**
 * Returns the edges that begin or end at an object, as far as one MapController knows them:
 * - an output is made from its input and from its parent;
 * - an input that some parent selects is input of the MapController.
 */
export function relationsOf(object: KubeObject, indexed: IndexedController): readonly Relation[] {
  const { controller, kinds, index } = indexed
  if (object.kind === 'MapController' && parseApiVersion(object.apiVersion).group === apiGroup)
    return object.metadata.name === controller.metadata.name ? controllerRelations(indexed) : []
  const parent = index.selection.parents.get(object.metadata.uid ?? '')
  const isInput = kinds.inputs.some((kind) => isOfKind(kind, identityOf(object)))
  return [
    ...outputRelations(object, indexed),
    ...(parent === undefined ? [] : parentRelations(parent, index)),
    ...(isInput ? inputRelations(object, indexed) : []),
  ]
}

/** Edges from the inputs to the MapController; each input once, however many parents select it. */
function controllerRelations({ controller, kinds, index }: IndexedController): Relation[] {
  const inputs = new Map<string, ObjectReference>()
  for (const parent of index.selection.parents.values())
    for (const [mapKey, { kind, key }] of parent.inputs)
      if (!inputs.has(mapKey)) inputs.set(mapKey, reference(kinds.inputs[kind]!, parseKey(key)))
  return [...inputs.values()].map((from) => inputOf(from, controller))
}

/** Edges from an output to its input and its parent. */
function outputRelations(object: KubeObject, { kinds, index }: IndexedController): Relation[] {
  const role = index.outputs.roleOf(object)
  const parent = role.role === 'output' ? index.selection.parents.get(role.parentUid) : undefined
  if (role.role !== 'output' || parent?.identity !== role.parent) return []
  const from = referenceTo(object)
  const kind = kinds.inputs.find((one) => isOfKind(one, role.input))
  return [
    ...(kind === undefined ? [] : [madeFrom(from, reference(kind, role.input))]),
    madeFrom(from, referenceTo(parent.object)),
  ]
}

/** Edges from the outputs of a parent to it. */
function parentRelations(parent: SelectedParent, index: GroupIndex): Relation[] {
  const to = referenceTo(parent.object)
  return [...index.groupsOf(parent)].flatMap((mapKey) =>
    index.outputs.outputsOf(parent, mapKey).map((output) => madeFrom(referenceTo(output), to)),
  )
}

/** Edges from the outputs of an input to it, and from it to the MapController. */
function inputRelations(object: KubeObject, { controller, index }: IndexedController): Relation[] {
  const input = referenceTo(object)
  const mapKey = mapKeyOf(identityOf(object))
  const parents = [...index.selection.parents.values()]
  return [
    ...parents.flatMap((parent) =>
      index.outputs.outputsOf(parent, mapKey).map((output) => madeFrom(referenceTo(output), input)),
    ),
    ...(parents.some(({ inputs }) => inputs.has(mapKey)) ? [inputOf(input, controller)] : []),
  ]
}

function madeFrom(from: ObjectReference, to: ObjectReference): Relation {
  return { type: 'made-from', from, to }
}

function inputOf(from: ObjectReference, { metadata }: MapController): Relation {
  const { name = '', uid } = metadata
  const to = { apiVersion, kind: 'MapController', name, ...(uid === undefined ? {} : { uid }) }
  return { type: 'input-of', from, to }
}

function isOfKind({ group, kind }: InputKind, identity: Identity): boolean {
  return group === identity.group && kind === identity.kind
}

function reference({ apiVersion: version, kind }: InputKind, { namespace, name }: ObjectKey): ObjectReference {
  return { apiVersion: version, kind, ...(namespace === '' ? {} : { namespace }), name }
}

function referenceTo({ apiVersion: version, kind, metadata }: KubeObject): ObjectReference {
  const { namespace, name = '', uid } = metadata
  return {
    apiVersion: version,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(uid === undefined ? {} : { uid }),
  }
}
