// How checks report: a path of the object and a sentence.
import { fieldErrors } from '@fairlead/kube'
import type { FieldError } from '@fairlead/kube'

/** Refuses a field. */
export function refusal(field: string, message: string): FieldError {
  return fieldErrors.invalid(field, undefined, message)
}

/** One refusal, or none. */
export function refusedWhen(isWrong: boolean, field: string, message: string): FieldError[] {
  return isWrong ? [refusal(field, message)] : []
}

/** Texts that stand more than once, each once. */
export function repeated(texts: readonly string[]): string[] {
  return [...new Set(texts.filter((text, index) => texts.indexOf(text) !== index))]
}
