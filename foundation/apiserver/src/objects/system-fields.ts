// The fields of metadata that the server sets: on create, on update, when deletion begins.
import type { JsonObject, JsonValue, MutableJsonObject, ObjectMeta } from '@fairlead/kube'
import { jsonEqual } from '@fairlead/kube'
import type { Draft, ResourceDefinition } from '@fairlead/builtin-kinds'

/** Removes the fields that only the server sets from the metadata of a new object. */
export function wipeSystemFields(metadata: MutableJsonObject): void {
  for (const name of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink', 'uid'])
    delete metadata[name]
}

/**
 * Sets uid, creationTimestamp and generation of a new object. Its name is set already, or will be by {@link
 * generatedName}.
 */
export function fillSystemFields(draft: Draft, definition: ResourceDefinition, uid: string, now: string): void {
  const { metadata } = draft
  wipeSystemFields(metadata)
  metadata['uid'] = uid
  metadata['creationTimestamp'] = now
  if (definition.strategy.tracksGeneration) metadata['generation'] = 1
}

/** Restores the fields that a client cannot change from the old object. */
export function keepSystemFields(draft: Draft, old: ObjectMeta): void {
  const { metadata } = draft
  delete metadata['selfLink']
  keep(metadata, 'generation', old.generation)
  if ((metadata['uid'] ?? '') === '') keep(metadata, 'uid', old.uid)
  keep(metadata, 'creationTimestamp', old.creationTimestamp ?? undefined)
  if (old.deletionTimestamp !== undefined) keep(metadata, 'deletionTimestamp', old.deletionTimestamp)
  if (old.deletionGracePeriodSeconds !== undefined && metadata['deletionGracePeriodSeconds'] === undefined) {
    keep(metadata, 'deletionGracePeriodSeconds', old.deletionGracePeriodSeconds)
  }
}

/** Increments the generation when something besides metadata and status has changed. */
export function raiseGeneration(
  draft: Draft,
  old: JsonObject,
  hasStatus: boolean,
  counted?: 'annotations' | 'labels',
): void {
  const changed = [...new Set([...Object.keys(draft), ...Object.keys(old)])].some(
    (name) =>
      name !== 'metadata' &&
      name !== 'apiVersion' &&
      !(name === 'status' && hasStatus) &&
      !jsonEqual(draft[name] ?? null, old[name] ?? null),
  )
  const counts =
    counted !== undefined && !jsonEqual(draft.metadata[counted] ?? {}, (old['metadata'] as JsonObject)[counted] ?? {})
  if (changed || counts) draft.metadata['generation'] = Number((old['metadata'] as ObjectMeta).generation ?? 0) + 1
}

function keep(metadata: MutableJsonObject, name: string, value: JsonValue | undefined): void {
  if (value === undefined) delete metadata[name]
  else metadata[name] = value
}
