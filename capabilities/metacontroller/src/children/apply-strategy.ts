// The ways to write children: by the three-way merge of Metacontroller, or by server-side apply. Pure but for the
// memory of what the server made of a configuration; child-writer.ts carries it out.
import { isApplied } from '@fairlead/client'
import type { JsonObject, KubeObject, ManagedFieldsEntry } from '@fairlead/kube'
import { asJson, ownerReferenceTo } from '@fairlead/kube'
import { digest } from '../engine/digest.ts'
import { isAsWritten } from './as-written.ts'
import { systemFields, updatedChild, withLastApplied, withoutLastApplied, lastAppliedAnnotation } from './merge.ts'

/** Names of the strategies, as Metacontroller's flag `--apply-strategy` has them. */
export type ApplyStrategyName = 'dynamic-apply' | 'server-side-apply'

/** The field manager of Metacontroller, so that objects do not depend on their writer. */
export const fieldManager = 'metacontroller'

/** The way in which the children of one controller are written. */
export interface ApplyStrategy {
  /** The field manager of server-side applies; undefined: whole objects are created and updated. */
  readonly applyManager: string | undefined
  /** Returns a desired child as it is created. */
  created(parent: KubeObject, desired: KubeObject): KubeObject
  /**
   * Returns the observed child itself when it is as desired; otherwise the object to write. Throws LastAppliedError.
   */
  updated(parent: KubeObject, observed: KubeObject, desired: KubeObject): KubeObject
  /** Remembers what the server made of an object that was written. */
  remember(after: KubeObject, written: KubeObject): void
  /** Forgets a child that was deleted. */
  forget(uid: string): void
}

/** Metacontroller's default: a three-way merge with the last response, which an annotation records. */
export class DynamicApply implements ApplyStrategy {
  readonly applyManager = undefined
  /** By uid of the child: digests of the desired child and of what the server has instead. */
  readonly #written = new Map<string, string>()

  created(parent: KubeObject, desired: KubeObject): KubeObject {
    return owned(withLastApplied(desired), parent)
  }

  updated(_parent: KubeObject, observed: KubeObject, desired: KubeObject): KubeObject {
    if (isAsWritten(observed, desired, fieldManager)) return observed
    const updated = updatedChild(observed, desired)
    const written = this.#written.get(observed.metadata.uid ?? '')
    return written !== undefined && written === writtenDigest(observed, updated) ? observed : updated
  }

  /** Remembers a write that changed nothing: the server has other values for the same object. */
  remember(after: KubeObject, written: KubeObject): void {
    this.#written.set(after.metadata.uid ?? '', writtenDigest(after, written))
  }

  /** Forgets a child that was deleted. */
  forget(uid: string): void {
    this.#written.delete(uid)
  }
}

/** The default strategy, for plans that nothing carries out. */
export const dynamicApply: ApplyStrategy = new DynamicApply()

function writtenDigest(observed: KubeObject, written: KubeObject): string {
  return digest([contentOf(observed), contentOf(written)])
}

/** Returns all but the status and the fields that only the server sets. */
export function contentOf(object: KubeObject): JsonObject {
  const { status: _status, metadata, ...content } = asJson(object)
  const own = { ...(metadata as JsonObject) }
  for (const field of systemFields) delete own[field]
  return { ...content, metadata: own }
}

/** Returns the content of a child without the annotation that records the last response. */
export function unrecordedContentOf(object: KubeObject): JsonObject {
  return contentOf(withoutLastApplied({ ...object, metadata: { annotations: {}, ...object.metadata } }))
}

/** A configuration that was applied, and the fields that the manager had afterwards. */
interface Applied {
  readonly configuration: string
  readonly fields: string
}

/** Server-side apply: the server removes the fields that the last response had and this one lacks. */
export class ServerSideApply implements ApplyStrategy {
  readonly applyManager: string
  /** By uid of the child. The server may have stored other values, such as a quantity in another form. */
  readonly #applied = new Map<string, Applied>()

  /** `applyManager` becomes the manager of the fields of children. */
  constructor(applyManager: string) {
    this.applyManager = applyManager
  }

  created(parent: KubeObject, desired: KubeObject): KubeObject {
    return owned(configurationOf(desired), parent)
  }

  updated(parent: KubeObject, observed: KubeObject, desired: KubeObject): KubeObject {
    const configuration = this.created(parent, desired)
    if (this.#wasApplied(observed, configuration)) return observed
    return !needsUpgrade(observed) && isApplied(observed, configuration, this.applyManager) ? observed : configuration
  }

  /** Remembers what the server made of a configuration. */
  remember(after: KubeObject, configuration: KubeObject): void {
    const { uid = '' } = after.metadata
    this.#applied.set(uid, { configuration: digest(configuration), fields: this.#fieldsOf(after) })
  }

  /** Forgets a child that was deleted. */
  forget(uid: string): void {
    this.#applied.delete(uid)
  }

  /** Another manager that changes one of the fields takes it over, so the values need no comparison. */
  #wasApplied(observed: KubeObject, configuration: KubeObject): boolean {
    const applied = this.#applied.get(observed.metadata.uid ?? '')
    return applied?.configuration === digest(configuration) && applied.fields === this.#fieldsOf(observed)
  }

  #fieldsOf({ metadata: { managedFields = [] } }: KubeObject): string {
    const own = managedFields.find(
      ({ manager, operation, subresource }) =>
        manager === this.applyManager && operation === 'Apply' && subresource === undefined,
    )
    return digest(own?.fieldsV1 ?? null)
  }
}

/** Returns whether a child was written by the other strategy. */
export function needsUpgrade({ metadata: { annotations, managedFields = [] } }: KubeObject): boolean {
  return annotations?.[lastAppliedAnnotation] !== undefined || managedFields.some(isOldEntry)
}

/**
 * Returns the managedFields of a child whose fields of the other strategy become those of an apply: the next apply
 * removes what the hook no longer returns.
 */
export function upgradedFields(
  { apiVersion, metadata: { managedFields = [] } }: KubeObject,
  applyManager: string,
  now: string,
): readonly ManagedFieldsEntry[] {
  const isApply = (entry: ManagedFieldsEntry): boolean =>
    entry.manager === applyManager && entry.operation === 'Apply' && entry.subresource === undefined
  const sources = managedFields.filter((entry) => isOldEntry(entry) || isApply(entry))
  const fields = sources.map(({ fieldsV1 }) => fieldsV1 ?? {})
  if (fields.length === 0) return managedFields
  const [first = {}, ...rest] = fields as readonly JsonObject[]
  const merged: ManagedFieldsEntry = {
    manager: applyManager,
    operation: 'Apply',
    apiVersion,
    time: now,
    fieldsType: 'FieldsV1',
    fieldsV1: withoutField(rest.reduce(union, first), ['f:metadata', 'f:annotations', `f:${lastAppliedAnnotation}`]),
  }
  return [merged, ...managedFields.filter((entry) => !sources.includes(entry))]
}

/** Adoptions and releases of this strategy are updates, too: of owner references only, which each apply sets again. */
function isOldEntry({ manager, operation, subresource, fieldsV1 = {} }: ManagedFieldsEntry): boolean {
  if (manager !== fieldManager || operation !== 'Update' || subresource !== undefined) return false
  const { 'f:metadata': metadata = {}, ...content } = fieldsV1 as Readonly<Record<string, JsonObject>>
  return Object.keys(content).length > 0 || Object.keys(metadata).some((field) => field !== 'f:ownerReferences')
}

function configurationOf(desired: KubeObject): KubeObject {
  const { status: _status, ...content } = withoutLastApplied(desired)
  const metadata: Record<string, unknown> = { ...content.metadata }
  for (const field of systemFields) delete metadata[field]
  return { ...content, metadata }
}

function owned(object: KubeObject, parent: KubeObject): KubeObject {
  const { ownerReferences = [] } = object.metadata
  if (ownerReferences.some(({ uid }) => uid === parent.metadata.uid)) return object
  return {
    ...object,
    metadata: { ...object.metadata, ownerReferences: [...ownerReferences, ownerReferenceTo(parent)] },
  }
}

function union(one: JsonObject, other: JsonObject): JsonObject {
  const merged = new Map(Object.entries(one))
  for (const [key, value] of Object.entries(other)) {
    const before = merged.get(key)
    merged.set(key, before === undefined ? value : union(before as JsonObject, value as JsonObject))
  }
  return Object.fromEntries(merged)
}

function withoutField(fields: JsonObject, [first = '', ...rest]: readonly string[]): JsonObject {
  const { [first]: found, ...others } = fields
  if (found === undefined) return fields
  if (rest.length === 0) return others
  return { ...fields, [first]: withoutField(found as JsonObject, rest) }
}
