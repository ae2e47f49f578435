// Field errors as the validators of this capability build them.
import { fieldErrors } from '@fairlead/kube'
import type { FieldError } from '@fairlead/kube'

/** Returns the error of an invalid field. */
export function invalid(field: string, message: string): FieldError {
  return fieldErrors.invalid(field, undefined, message)
}

/** Returns one error when `isWrong`, none otherwise. */
export function invalidWhen(isWrong: boolean, field: string, message: string): FieldError[] {
  return isWrong ? [invalid(field, message)] : []
}

/** Returns the strings that occur more than once, without duplicates. */
export function duplicates(values: readonly string[]): string[] {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const value of values) (seen.has(value) ? repeated : seen).add(value)
  return [...repeated]
}
