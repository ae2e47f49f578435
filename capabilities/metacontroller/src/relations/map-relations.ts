// The edges of one MapController, from its groups. Pure.
import { objectReference } from '@fairlead/controller'
import type { ObjectReference, Relation } from '@fairlead/controller'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import { parseKey } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import type { Identity } from '../engine/identity.ts'
import { identityOf } from '../engine/identity.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { mapKeyOf } from '../engine/map-key.ts'
import type { InputKind } from '../engine/resource.ts'
import type { OutputIndex } from '../engine/output-index.ts'
import type { SelectedParent, Selection } from '../engine/selection.ts'

/** A MapController with its groups. */
export interface ControllerGroups {
  readonly controller: MapController
  readonly kinds: ControllerKinds
  readonly selection: Selection
  readonly outputs: OutputIndex
}

/** Returns the edges of a parent and of an input; an object can be both. */
export function relationsOf(object: KubeObject, groups: ControllerGroups): readonly Relation[] {
  const parent = groups.selection.parents.get(object.metadata.uid ?? '')
  const isInput = groups.kinds.inputs.some((kind) => isOfKind(kind, identityOf(object)))
  return [
    ...(parent === undefined ? [] : parentRelations(parent, groups)),
    ...(isInput ? inputRelations(object, groups) : []),
  ]
}

/** Returns the edges from parents and inputs to the MapController; each input once, however many parents select it. */
export function controllerRelations({ controller, kinds, selection }: ControllerGroups): readonly Relation[] {
  const inputs = new Map<string, ObjectReference>()
  for (const parent of selection.parents.values())
    for (const [mapKey, { kind, key }] of parent.inputs)
      if (!inputs.has(mapKey)) inputs.set(mapKey, reference(kinds.inputs[kind]!, parseKey(key)))
  return [
    ...[...selection.parents.values()].map((parent) => refersTo(parent, controller)),
    ...[...inputs.values()].map((from) => inputOf(from, controller)),
  ]
}

/** Edges from a parent to the MapController, and from its outputs to it. */
function parentRelations(parent: SelectedParent, { controller, outputs }: ControllerGroups): Relation[] {
  const to = objectReference(parent.object)
  return [
    refersTo(parent, controller),
    ...[...outputs.groupsOf(parent).keys()].flatMap((mapKey) =>
      outputs.outputsOf(parent, mapKey).map((output) => madeFrom(objectReference(output), to)),
    ),
  ]
}

/** Edges from the outputs of an input to it, and from it to the MapController. */
function inputRelations(object: KubeObject, { controller, selection, outputs }: ControllerGroups): Relation[] {
  const input = objectReference(object)
  const mapKey = mapKeyOf(identityOf(object))
  const parents = [...selection.parents.values()]
  return [
    ...parents.flatMap((parent) =>
      outputs.outputsOf(parent, mapKey).map((output) => madeFrom(objectReference(output), input)),
    ),
    ...(parents.some(({ inputs }) => inputs.has(mapKey)) ? [inputOf(input, controller)] : []),
  ]
}

function madeFrom(from: ObjectReference, to: ObjectReference): Relation {
  return { type: 'made-from', from, to }
}

function inputOf(from: ObjectReference, controller: MapController): Relation {
  return { type: 'input-of', from, to: referenceTo(controller) }
}

function refersTo(parent: SelectedParent, controller: MapController): Relation {
  return { type: 'refers-to', from: objectReference(parent.object), to: referenceTo(controller) }
}

function referenceTo({ metadata }: MapController): ObjectReference {
  const { name = '', uid } = metadata
  return { apiVersion, kind: 'MapController', name, ...(uid === undefined ? {} : { uid }) }
}

function isOfKind({ group, kind }: InputKind, identity: Identity): boolean {
  return group === identity.group && kind === identity.kind
}

function reference({ apiVersion: version, kind }: InputKind, { namespace, name }: ObjectKey): ObjectReference {
  return { apiVersion: version, kind, ...(namespace === '' ? {} : { namespace }), name }
}
