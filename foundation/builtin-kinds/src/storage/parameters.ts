// Parameters of storage classes and volume attributes classes, and the names of their drivers.
import type { FieldError } from '@fairlead/kube'
import { fieldErrors, qualifiedName } from '@fairlead/kube'
import { invalidWith } from '../checks.ts'

const mostParameters = 512
const largestParameters = 256 * 1024

/** Validates the name of a provisioner or driver. */
export function provisionerErrors(field: string, provisioner: string): FieldError[] {
  if (provisioner === '') return [fieldErrors.required(field)]
  return invalidWith(field, provisioner.toLowerCase(), qualifiedName(provisioner.toLowerCase()))
}

/** Validates the parameters of a class. */
export function parameterErrors(
  field: string,
  parameters: Readonly<Record<string, string>>,
  mayBeEmpty: boolean,
): FieldError[] {
  const entries = Object.entries(parameters)
  if (entries.length > mostParameters) return [fieldErrors.tooLong(field, mostParameters)]
  const errors: FieldError[] = []
  if (entries.some(([key]) => key === '')) errors.push(fieldErrors.invalid(field, '', 'field can not be empty.'))
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  if (size > largestParameters) errors.push(fieldErrors.tooLong(field, largestParameters))
  if (!mayBeEmpty && entries.length === 0)
    errors.push(fieldErrors.required(field, 'must contain at least one key/value pair'))
  return errors
}
