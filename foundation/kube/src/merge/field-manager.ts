// Names of field managers: where they come from and what they may be; and the checks of managedFields that clients send.
import type { ObjectMeta } from '../object.ts'
import { fieldErrors, fieldPath } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'

/** The longest name of a field manager, in bytes. */
export const maxFieldManagerLength = 128

/** The longest name of a subresource in managedFields, in bytes. */
const maxSubresourceLength = 256

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u
const encoder = new TextEncoder()

/** The manager of a request: what it says, else the first part of its User-Agent, else ''. */
export function fieldManagerOf(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager) return fieldManager
  let name = ''
  let bytes = 0
  for (const character of (userAgent ?? '').split('/')[0]!) {
    if (!printable.test(character)) continue
    bytes += encoder.encode(character).length
    if (bytes > maxFieldManagerLength) break
    name += character
  }
  return name
}

/** What is wrong with the name of a field manager; '' counts as not given. */
export function validateFieldManager(name: string, path: string): readonly FieldError[] {
  const errors: FieldError[] = []
  if (encoder.encode(name).length > maxFieldManagerLength) errors.push(fieldErrors.tooLong(path, maxFieldManagerLength))
  let position = 0
  for (const character of name) {
    if (!printable.test(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      errors.push(fieldErrors.invalid(path, name, `invalid character U+${code} (at position ${position})`))
    }
    position += encoder.encode(character).length
  }
  return errors
}

/** What is wrong with `metadata.managedFields` beyond their shape. */
export function validateManagedFields(entries: ObjectMeta['managedFields'], path: string): readonly FieldError[] {
  return (entries ?? []).flatMap((entry, index) => {
    const at = fieldPath(path, index)
    const { operation = '', fieldsType = '', manager = '', subresource = '' } = entry
    return [
      ...(operation === 'Apply' || operation === 'Update'
        ? []
        : [fieldErrors.invalid(fieldPath(at, 'operation'), operation, 'must be `Apply` or `Update`')]),
      ...(fieldsType === '' || fieldsType === 'FieldsV1'
        ? []
        : [fieldErrors.invalid(fieldPath(at, 'fieldsType'), fieldsType, 'must be `FieldsV1`')]),
      ...validateFieldManager(manager, fieldPath(at, 'manager')),
      ...(encoder.encode(subresource).length > maxSubresourceLength
        ? [fieldErrors.tooLong(fieldPath(at, 'subresource'), maxSubresourceLength)]
        : []),
    ]
  })
}
