// Printer columns, subresources and selectable fields of a CRD.
import { fieldErrors, fieldPath } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import type { DefinitionColumn, DefinitionParts, DefinitionSubresources, JsonSchemaProps } from './definition.ts'
import { resolveFieldPath } from './field-path.ts'

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

/** Validates `additionalPrinterColumns`. */
export function validateColumns(columns: readonly DefinitionColumn[] | undefined, path: string): FieldError[] {
  return (columns ?? []).flatMap((column, index) => validateColumn(column, fieldPath(path, index)))
}

function validateColumn(column: DefinitionColumn, path: string): FieldError[] {
  const { name = '', type = '', format = '', jsonPath = '' } = column
  const errors: FieldError[] = []
  if (name === '') errors.push(fieldErrors.required(`${path}.name`))
  const oneOf = (choices: readonly string[]): string => `must be one of ${choices.join(',')}`
  if (type === '') errors.push(fieldErrors.required(`${path}.type`, oneOf(columnTypes)))
  else if (!columnTypes.includes(type)) errors.push(fieldErrors.invalid(`${path}.type`, type, oneOf(columnTypes)))
  if (format !== '' && !columnFormats.includes(format)) {
    errors.push(fieldErrors.invalid(`${path}.format`, format, oneOf(columnFormats)))
  }
  if (jsonPath === '') errors.push(fieldErrors.required(`${path}.JSONPath`))
  else errors.push(...validateSimplePath(jsonPath, `${path}.JSONPath`))
  return errors
}

/** Validates `subresources`. */
export function validateSubresources(subresources: DefinitionSubresources | undefined, path: string): FieldError[] {
  const scale = subresources?.scale
  if (scale === undefined) return []
  return [
    ...validateReplicasPath(scale.specReplicasPath ?? '', '.spec', `${path}.scale.specReplicasPath`),
    ...validateReplicasPath(scale.statusReplicasPath ?? '', '.status', `${path}.scale.statusReplicasPath`),
    ...validateSelectorPath(scale.labelSelectorPath ?? '', `${path}.scale.labelSelectorPath`),
  ]
}

function validateReplicasPath(value: string, root: string, field: string): FieldError[] {
  if (value === '') return [fieldErrors.required(field)]
  const errors = validateSimplePath(value, field)
  if (errors.length > 0 || value.startsWith(`${root}.`)) return errors
  return [fieldErrors.invalid(field, value, `should be a json path under ${root}`)]
}

function validateSelectorPath(value: string, field: string): FieldError[] {
  if (value === '') return []
  const errors = validateSimplePath(value, field)
  if (errors.length > 0 || value.startsWith('.spec.') || value.startsWith('.status.')) return errors
  return [fieldErrors.invalid(field, value, 'should be a json path under either .spec or .status')]
}

function validateSimplePath(value: string, field: string): FieldError[] {
  return value.startsWith('.') ? [] : [fieldErrors.invalid(field, value, 'must be a simple json path starting with .')]
}

const selectableFieldLimit = 8

/** Validates `selectableFields`. `tooManyBefore`: they exceeded the limit before and are unchanged. */
export function validateSelectableFields(
  fields: DefinitionParts['selectableFields'],
  schema: JsonSchemaProps,
  path: string,
  tooManyBefore: boolean,
): FieldError[] {
  const errors: FieldError[] = []
  const unique = new Set<string>()
  for (const [index, { jsonPath = '' }] of (fields ?? []).entries()) {
    const field = fieldPath(path, index, 'jsonPath')
    if (jsonPath === '') {
      errors.push(fieldErrors.required(field))
      continue
    }
    const target = resolveFieldPath(jsonPath, schema, false)
    if ('problem' in target) {
      errors.push(fieldErrors.invalid(field, jsonPath, `is an invalid path: ${target.problem}`))
      continue
    }
    if (target.first === 'metadata')
      errors.push(fieldErrors.invalid(field, jsonPath, 'must not point to fields in metadata'))
    if (!['string', 'boolean', 'integer'].includes(target.schema.type ?? '')) {
      const detail =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'
      errors.push(fieldErrors.invalid(field, jsonPath, detail))
    }
    if (unique.has(target.path)) errors.push(fieldErrors.duplicate(field, jsonPath))
    unique.add(target.path)
  }
  if (unique.size > selectableFieldLimit && !tooManyBefore)
    errors.push(fieldErrors.tooMany(path, unique.size, selectableFieldLimit))
  return errors
}
