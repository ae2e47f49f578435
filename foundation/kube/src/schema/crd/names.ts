// Validation of the names of a custom resource.
import { fieldErrors, fieldPath } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import { dns1035Label } from '../../names.ts'
import type { DefinitionNames } from './definition.ts'

/** Validates `spec.names` or `status.acceptedNames`; missing names are checked elsewhere. */
export function validateNames(names: DefinitionNames, path: string): FieldError[] {
  const { kind = '', listKind = '' } = names
  const errors: FieldError[] = []
  for (const field of ['plural', 'singular'] as const)
    errors.push(...checkLabel(names[field] ?? '', `${path}.${field}`))
  for (const [field, name] of Object.entries({ kind, listKind })) {
    const problems = name === '' ? [] : dns1035Label(name.toLowerCase())
    if (problems.length === 0) continue
    const detail = `may have mixed case, but should otherwise match: ${problems.join(',')}`
    errors.push(fieldErrors.invalid(`${path}.${field}`, name, detail))
  }
  errors.push(...checkList(names.shortNames, `${path}.shortNames`))
  if (kind !== '' && kind === listKind) {
    errors.push(fieldErrors.invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same'))
  }
  errors.push(...checkList(names.categories, `${path}.categories`))
  return errors
}

/** The required names, in the order of their errors. */
export function requireNames(names: DefinitionNames, path: string): FieldError[] {
  const required = ['plural', 'singular', 'kind', 'listKind'] as const
  return required
    .filter((field) => (names[field] ?? '') === '')
    .map((field) => fieldErrors.required(`${path}.${field}`))
}

function checkLabel(name: string, field: string): FieldError[] {
  const problems = name === '' ? [] : dns1035Label(name)
  return problems.length === 0 ? [] : [fieldErrors.invalid(field, name, problems.join(','))]
}

function checkList(names: readonly string[] | undefined, field: string): FieldError[] {
  return (names ?? []).flatMap((name, index) => {
    const problems = dns1035Label(name)
    return problems.length === 0 ? [] : [fieldErrors.invalid(fieldPath(field, index), name, problems.join(','))]
  })
}
