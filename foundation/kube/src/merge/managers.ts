// The field managers of an object and the fields that each owns: metadata.managedFields, decoded (`ManagedFields` of
// structured-merge-diff). Managers are immutable; an unchanged one encodes to the entry that it was decoded from.
import type { ManagedFieldsEntry, ObjectMeta } from '../object.ts'
import { goQuote } from '../go-text.ts'
import { isJsonObject } from '../own-property.ts'
import { runSteps } from '../steps.ts'
import type { Steps } from '../steps.ts'
import { decodeFieldSet, decodeFieldSetSteps, emptyFieldSet, encodeFieldSet, encodeFieldSetSteps } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { compareStrings, FieldsV1Error } from './path-element.ts'

/** One entry of managedFields, decoded. */
export interface Manager {
  readonly name: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  /** When the manager last changed the object; undefined when it never did. */
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** Managers by {@link managerIdentifier}. */
export type Managers = ReadonlyMap<string, Manager>

/**
 * Returns the key of a manager within an object: name, operation and subresource, for updates apiVersion too
 * (apimachinery's `BuildManagerIdentifier`). Identifiers sort as the real server's do.
 */
export function managerIdentifier({
  name,
  operation,
  apiVersion,
  subresource,
}: Pick<Manager, 'name' | 'operation' | 'apiVersion' | 'subresource'>): string {
  return JSON.stringify({
    ...(name === '' ? {} : { manager: name }),
    operation,
    ...(operation === 'Apply' ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  })
}

const decoded = new WeakMap<ManagedFieldsEntry, Manager>()
const encoded = new WeakMap<Manager, ManagedFieldsEntry>()

/**
 * Decodes metadata.managedFields.
 * @throws FieldsV1Error for an entry that cannot be decoded
 */
export function decodeManagers(managedFields: ObjectMeta['managedFields']): Map<string, Manager> {
  return runSteps(decodeManagersSteps(managedFields))
}

/** Computes {@link decodeManagers} in steps. */
export function* decodeManagersSteps(managedFields: ObjectMeta['managedFields']): Steps<Map<string, Manager>> {
  const out = new Map<string, Manager>()
  if (managedFields === undefined || managedFields === null) return out
  for (const [index, entry] of managedFields.entries()) {
    const manager = yield* decodeManagerSteps(entry, index)
    out.set(managerIdentifier(manager), manager)
  }
  return out
}

function* decodeManagerSteps(entry: ManagedFieldsEntry, index: number): Steps<Manager> {
  const known = decoded.get(entry)
  if (known !== undefined) return known
  const { manager: name = '', operation, apiVersion = '', subresource = '', time, fieldsType = '', fieldsV1 } = entry
  if (operation !== 'Apply' && operation !== 'Update') throw new FieldsV1Error('operation must be `Apply` or `Update`')
  if (apiVersion === '') throw new FieldsV1Error('apiVersion must not be empty')
  if (fieldsType === '') throw new FieldsV1Error(`missing fieldsType in managed fields entry ${index}`)
  if (fieldsType !== 'FieldsV1') {
    throw new FieldsV1Error(`invalid fieldsType ${goQuote(fieldsType)} in managed fields entry ${index}`)
  }
  const fields = isJsonObject(fieldsV1) ? yield* decodeFieldSetSteps(fieldsV1) : emptyFieldSet
  const manager: Manager = { name, operation, apiVersion, subresource, time: time ?? undefined, fields }
  if (Object.isFrozen(entry) && (fieldsV1 === undefined || Object.isFrozen(fieldsV1))) {
    decoded.set(entry, manager)
    if (fieldsV1 !== undefined) encoded.set(manager, entry)
  }
  return manager
}

/**
 * Encodes metadata.managedFields, ordered by operation, time, manager, apiVersion and subresource. Undefined without
 * managers.
 */
export function encodeManagers(managers: Managers): readonly ManagedFieldsEntry[] | undefined {
  return managers.size === 0 ? undefined : [...managers.values()].map(encodeManager).sort(compareEntries)
}

/** Encodes the fields of a manager in steps; {@link encodeManagers} finds them encoded. */
export function* encodeManagerSteps({ fields }: Manager): Steps<void> {
  yield* encodeFieldSetSteps(fields)
}

function encodeManager(manager: Manager): ManagedFieldsEntry {
  const known = encoded.get(manager)
  if (known !== undefined) return known
  const { name, operation, apiVersion, subresource, time, fields } = manager
  const entry: ManagedFieldsEntry = Object.freeze({
    ...(name === '' ? {} : { manager: name }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: encodeFieldSet(fields),
    ...(subresource === '' ? {} : { subresource }),
  })
  encoded.set(manager, entry)
  // Keeps the set that other objects share, not that of this manager alone.
  const kept: Manager = { ...manager, fields: decodeFieldSet(entry.fieldsV1!) }
  decoded.set(entry, kept)
  encoded.set(kept, entry)
  return entry
}

function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    compareStrings(a.operation!, b.operation!) ||
    secondsOf(a.time) - secondsOf(b.time) ||
    compareStrings(a.manager ?? '', b.manager ?? '') ||
    compareStrings(a.apiVersion!, b.apiVersion!) ||
    compareStrings(a.subresource ?? '', b.subresource ?? '')
  )
}

/** Returns a time as whole seconds since the epoch; 0 for none. */
export function secondsOf(time: string | undefined): number {
  const milliseconds = time === undefined ? 0 : Date.parse(time)
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1000)
}
