// The objects of a case: outputs as a controller would have left them, and the effect of plans on them.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import {
  applyServerSide,
  asJson,
  asObject,
  controllerOf,
  jsonEqual,
  ownerReferenceTo,
  parseKey,
  trackUpdate,
} from '@fairlead/kube'
import { configurationOf, outputManager } from '../engine/configuration.ts'
import type { Identity } from '../engine/identity.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { mapKeyOf } from '../engine/map-key.ts'
import { OutputIndex } from '../engine/output-index.ts'
import type { Action } from '../engine/plan.ts'
import { adopted } from '../engine/plan.ts'
import { parentStatus } from '../engine/status.ts'
import { tagAnnotations, tagLabels } from '../engine/tag.ts'
import type { CaseOutput, MapCaseInput } from './map-case.ts'
import { refOf } from './map-case.ts'

/** A write of a case. */
export interface CaseWrite {
  readonly op: string
  readonly ref: string
  /** The object after the write; before it for a delete. */
  readonly object: KubeObject
  /** The uid that a delete requires. */
  readonly uid: string | undefined
}

/** Time of all writes: managedFields need one, and no case depends on it. */
const now = '2026-01-01T00:00:00Z'

/** The outputs of a case, changed by the actions of plans as a server would change them. */
export class CaseState {
  readonly #input: MapCaseInput
  readonly #kinds: ControllerKinds
  readonly #outputs: Map<string, KubeObject>

  constructor(input: MapCaseInput, kinds: ControllerKinds) {
    this.#input = input
    this.#kinds = kinds
    const stored = (input.outputs ?? []).map((output) => this.#stored(output))
    this.#outputs = new Map(stored.map((object) => [formatIdentity(identityOf(object)), object]))
  }

  /** The outputs as they are now. */
  get outputs(): readonly KubeObject[] {
    return [...this.#outputs.values()]
  }

  /** Returns the identity of a reference to an input. */
  inputIdentity(ref: string): Identity {
    const [kind = '', ...rest] = ref.split('/')
    const group = this.#kinds.inputs.find((one) => one.kind === kind)?.group ?? ''
    return { group, kind, ...parseKey(rest.join('/')) }
  }

  /** Carries out an action. Returns its writes. */
  carryOut(action: Action): readonly CaseWrite[] {
    if (action.op === 'create' || action.op === 'update') return [this.#apply(action.op, action.configuration.object)]
    if (action.op === 'adopt') return [this.#adopt(action.observed)]
    if (action.op === 'release') return [this.#release(action.observed)]
    if (action.op !== 'delete') return []
    const { observed, next } = action
    const deleted = { op: 'delete', ref: refOf(observed), object: observed, uid: observed.metadata.uid }
    const hasFinalizers = (observed.metadata.finalizers ?? []).length > 0
    if (!hasFinalizers) this.#outputs.delete(formatIdentity(identityOf(observed)))
    return next === undefined || hasFinalizers ? [deleted] : [deleted, this.#apply('create', next.configuration.object)]
  }

  /** Returns the status of the parent for the outputs as they are now. */
  parentStatus(inputTotals: readonly (number | undefined)[]): JsonObject {
    const { parent, controller } = this.#input
    const { inputs: inputKinds, outputs: outputKinds } = this.#kinds
    const index = new OutputIndex(controller.name, outputKinds.length)
    for (const [position, kind] of outputKinds.entries()) {
      for (const object of this.outputs)
        if (object.kind === kind.kind) index.set(position, formatIdentity(identityOf(object)), object)
    }
    return parentStatus({
      generation: parent.metadata.generation,
      inputKinds,
      inputTotals,
      outputKinds,
      outputs: index.countsOf({ uid: parent.metadata.uid ?? '', identity: formatIdentity(identityOf(parent)) }),
    })
  }

  #adopt(orphan: KubeObject): CaseWrite {
    const object = adopted(orphan, this.#input.parent)
    this.#outputs.set(formatIdentity(identityOf(object)), object)
    return { op: 'update', ref: refOf(object), object, uid: undefined }
  }

  #release(output: KubeObject): CaseWrite {
    const { uid } = this.#input.parent.metadata
    const ownerReferences = output.metadata.ownerReferences?.filter((owner) => owner.uid !== uid) ?? []
    const object = withMetadata(output, { ownerReferences })
    this.#outputs.set(formatIdentity(identityOf(object)), object)
    return { op: 'release', ref: refOf(object), object, uid: output.metadata.uid }
  }

  #apply(op: string, configuration: KubeObject): CaseWrite {
    const name = formatIdentity(identityOf(configuration))
    const object = applyServerSide({
      live: this.#outputs.get(name),
      applied: configuration,
      schemaFor: () => undefined,
      manager: outputManager(this.#input.controller.name, this.#input.parent),
      force: true,
      now,
    })
    this.#outputs.set(name, object)
    return { op, ref: refOf(object), object, uid: undefined }
  }

  /** Returns an output with owner reference, tag and managedFields as the controller would have written them. */
  #stored({ object, owner, taggedFor, taggedBy, lastApplied }: CaseOutput): KubeObject {
    const { controller, parent } = this.#input
    const ownerReferences =
      owner === null
        ? []
        : [{ ...ownerReferenceTo(parent), uid: owner === 'parent' ? (parent.metadata.uid ?? '') : owner }]
    if (taggedFor === null) return withMetadata(object, { ownerReferences })
    const input = this.inputIdentity(taggedFor)
    const tag = { controller: taggedBy ?? controller.name, parent: identityOf(parent), input, mapKey: mapKeyOf(input) }
    const kind = this.#kinds.outputs.find((one) => one.kind === object.kind)!
    const { object: configuration } = configurationOf(
      { identity: identityOf(object), kind, object: lastApplied ?? object },
      { tag, parent, hops: 1, seen: '' },
    )
    const manager = outputManager(controller.name, parent)
    const schemaFor = (): undefined => undefined
    const applied = applyServerSide({
      live: undefined,
      applied: configuration,
      schemaFor,
      manager,
      force: true,
      now,
    })
    const { labels, annotations } = object.metadata
    return withMetadata(object, {
      labels: { ...labels, ...tagLabels(tag) },
      annotations: { ...annotations, ...tagAnnotations(tag, 1), ...configuration.metadata.annotations },
      ownerReferences,
      managedFields: changedBy('others', applied, object).metadata.managedFields,
    })
  }
}

/** Returns the uid of an object's controlling owner. */
export function controllerUid(object: KubeObject): string | undefined {
  return controllerOf(object)?.uid
}

/** Returns the applied object changed to the given content by another manager, which owns what differs. */
function changedBy(manager: string, applied: KubeObject, given: KubeObject): KubeObject {
  const { metadata: _given, ...content } = asJson(given)
  const { metadata, ...before } = asJson(applied)
  if (jsonEqual(content, before)) return applied
  const updated = asObject({ ...content, metadata: metadata ?? {} })
  return trackUpdate({ live: applied, updated, schemaFor: () => undefined, manager, now })
}

function withMetadata(object: KubeObject, metadata: KubeObject['metadata']): KubeObject {
  return asObject({ ...asJson(object), metadata: { ...asJson(object.metadata), ...asJson(metadata) } })
}
