// The managers of an object with what each owns: metadata.managedFields, decoded. Owners are immutable; an unchanged one writes back
// the very entry that it was read from.
import type { ManagedFieldsEntry, ObjectMeta } from '../object.ts'
import { goQuote } from '../go-text.ts'
import { isJsonObject } from '../own-property.ts'
import { decodeFieldSet, emptyFieldSet, encodeFieldSet } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { compareText, FieldsV1Error } from './path-element.ts'

/** One manager's share of an object. */
export interface Owner {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  /** When the manager last changed the object; undefined when it never did. */
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** Owners by {@link ownerId}. */
export type Owners = ReadonlyMap<string, Owner>

/** What tells owners of an object apart: manager, operation and subresource; updates by apiVersion too. Sorts as the real server's does. */
export function ownerId(owner: Pick<Owner, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  const { manager, operation, apiVersion, subresource } = owner
  return JSON.stringify({
    ...(manager === '' ? {} : { manager }),
    operation,
    ...(operation === 'Apply' ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  })
}

const owners = new WeakMap<ManagedFieldsEntry, Owner>()
const entries = new WeakMap<Owner, ManagedFieldsEntry>()

/** Reads metadata.managedFields. Throws FieldsV1Error when an entry cannot be read. */
export function decodeOwners(list: ObjectMeta['managedFields']): Map<string, Owner> {
  const out = new Map<string, Owner>()
  if (list === undefined || list === null) return out
  for (const [index, entry] of list.entries()) {
    const owner = decodeOwner(entry, index)
    out.set(ownerId(owner), owner)
  }
  return out
}

function decodeOwner(entry: ManagedFieldsEntry, index: number): Owner {
  const known = owners.get(entry)
  if (known !== undefined) return known
  const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsType = '', fieldsV1 } = entry
  if (operation !== 'Apply' && operation !== 'Update') throw new FieldsV1Error('operation must be `Apply` or `Update`')
  if (apiVersion === '') throw new FieldsV1Error('apiVersion must not be empty')
  if (fieldsType === '') throw new FieldsV1Error(`missing fieldsType in managed fields entry ${index}`)
  if (fieldsType !== 'FieldsV1') {
    throw new FieldsV1Error(`invalid fieldsType ${goQuote(fieldsType)} in managed fields entry ${index}`)
  }
  const fields = isJsonObject(fieldsV1) ? decodeFieldSet(fieldsV1) : emptyFieldSet
  const owner: Owner = { manager, operation, apiVersion, subresource, time: time ?? undefined, fields }
  if (Object.isFrozen(entry) && (fieldsV1 === undefined || Object.isFrozen(fieldsV1))) {
    owners.set(entry, owner)
    if (fieldsV1 !== undefined) entries.set(owner, entry)
  }
  return owner
}

/** Writes metadata.managedFields: by operation, time, manager, apiVersion and subresource. Undefined when nobody owns anything. */
export function encodeOwners(list: Owners): readonly ManagedFieldsEntry[] | undefined {
  return list.size === 0 ? undefined : [...list.values()].map(encodeOwner).sort(compareEntries)
}

function encodeOwner(owner: Owner): ManagedFieldsEntry {
  const known = entries.get(owner)
  if (known !== undefined) return known
  const { manager, operation, apiVersion, subresource, time, fields } = owner
  const entry: ManagedFieldsEntry = Object.freeze({
    ...(manager === '' ? {} : { manager }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: encodeFieldSet(fields),
    ...(subresource === '' ? {} : { subresource }),
  })
  owners.set(entry, owner)
  entries.set(owner, entry)
  return entry
}

function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    compareText(a.operation!, b.operation!) ||
    secondsOf(a.time) - secondsOf(b.time) ||
    compareText(a.manager ?? '', b.manager ?? '') ||
    compareText(a.apiVersion!, b.apiVersion!) ||
    compareText(a.subresource ?? '', b.subresource ?? '')
  )
}

/** A time as whole seconds; 0 for none. */
export function secondsOf(time: string | undefined): number {
  const milliseconds = time === undefined ? 0 : Date.parse(time)
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1000)
}
