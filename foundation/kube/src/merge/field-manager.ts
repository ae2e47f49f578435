// Names of field managers and their validation, and the validation of managedFields in request bodies.
import type { ObjectMeta } from '../object.ts'
import { fieldErrors, fieldPath } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'

/** The maximum length of a field manager's name, in bytes. */
export const maxFieldManagerLength = 128

/** The maximum length of a subresource's name in managedFields, in bytes. */
const maxSubresourceLength = 256

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u
const encoder = new TextEncoder()

/** Returns the manager of a request: its fieldManager, else the first part of its User-Agent, else ''. */
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

/** Validates the name of a field manager; '' means not given. */
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

/** Validates the values in `metadata.managedFields`; the types are checked by the decoder. */
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
