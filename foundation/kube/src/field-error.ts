// Validation errors of a field, with Kubernetes' messages (apimachinery's field.Error). Create them with `fieldErrors`.
import { marshalGoJson } from './go-json.ts'
import { formatGoNumber, goQuote } from './go-text.ts'
import type { JsonValue } from './object.ts'

/** The kinds of field errors; each is the `reason` of a Status cause. */
export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'InternalError'
  | 'FieldValueTypeInvalid'

/** One error about one field. Without `badValue` the message has no value; null is shown as `null`. */
export interface FieldError {
  readonly type: FieldErrorType
  /** `spec.ports[0].name`, `metadata.labels[key]`. */
  readonly field: string
  readonly badValue?: JsonValue
  /** `badValue` as Go prints it, for structs, which keep the order of their fields. */
  readonly shown?: string
  readonly detail: string
}

const titles: Readonly<Record<FieldErrorType, string>> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  InternalError: 'Internal error',
  FieldValueTypeInvalid: 'Invalid value',
}

const withoutValue: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'InternalError',
])

/** Formats the error without its field, as the message of a Status cause: `Invalid value: "x": must be y`. */
export function fieldErrorBody(error: FieldError): string {
  const parts = [titles[error.type]]
  if (!withoutValue.has(error.type) && error.badValue !== undefined)
    parts.push(error.shown ?? formatBadValue(error.badValue))
  if (error.detail !== '') parts.push(error.detail)
  return parts.join(': ')
}

/** Formats the error with its field: `spec.replicas: Invalid value: -3: must be greater than or equal to 0`. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${fieldErrorBody(error)}`
}

/**
 * Joins errors to one message (apimachinery's Aggregate): a single one as it is, several distinct ones in brackets; ''
 * for none.
 */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const messages = [...new Set(errors.map(formatFieldError))]
  return messages.length === 1 ? messages[0]! : messages.length === 0 ? '' : `[${messages.join(', ')}]`
}

function formatBadValue(value: JsonValue): string {
  switch (typeof value) {
    case 'string':
      return goQuote(value)
    case 'number':
    case 'bigint':
      return formatGoNumber(value)
    case 'boolean':
      return String(value)
    default:
      return marshalGoJson(value)
  }
}

/** A step of a path: a field's name, a list index (number), or a map key (`{ key }`). */
export type PathStep = string | number | { readonly key: string }

/**
 * Appends steps to a path: `fieldPath('spec', 'ports', 0, 'name')` is `spec.ports[0].name`, `{ key: 'a/b' }` gives
 * `[a/b]`.
 */
export function fieldPath(base: string, ...steps: readonly PathStep[]): string {
  let out = base
  for (const step of steps) {
    if (typeof step === 'string') out = out === '' ? step : `${out}.${step}`
    else out += `[${typeof step === 'number' ? step : step.key}]`
  }
  return out
}

/** Constructors of field errors. The first argument is always the field's path. */
export const fieldErrors: {
  required(field: string, detail?: string): FieldError
  invalid(field: string, value: JsonValue | undefined, detail: string): FieldError
  forbidden(field: string, detail: string): FieldError
  /** Choices are shown in the given order; Kubernetes sorts most of its own. */
  notSupported(field: string, value: JsonValue, choices: readonly string[]): FieldError
  duplicate(field: string, value: JsonValue): FieldError
  /** `limit` in bytes; negative when the message has no limit. */
  tooLong(field: string, limit: number): FieldError
  /** `limit` in code points. */
  tooLongCharacters(field: string, limit: number): FieldError
  tooMany(field: string, actual: number | undefined, limit: number): FieldError
  notFound(field: string, value: JsonValue): FieldError
  typeInvalid(field: string, value: JsonValue, detail: string): FieldError
  internal(field: string, detail: string): FieldError
} = {
  required: (field, detail = '') => ({ type: 'FieldValueRequired', field, detail }),
  invalid: (field, badValue, detail) => ({ type: 'FieldValueInvalid', field, badValue, detail }),
  forbidden: (field, detail) => ({ type: 'FieldValueForbidden', field, detail }),
  notSupported: (field, badValue, choices) => ({
    type: 'FieldValueNotSupported',
    field,
    badValue,
    detail: choices.length === 0 ? '' : `supported values: ${choices.map(goQuote).join(', ')}`,
  }),
  duplicate: (field, badValue) => ({ type: 'FieldValueDuplicate', field, badValue, detail: '' }),
  tooLong: (field, limit) => ({
    type: 'FieldValueTooLong',
    field,
    detail: limit >= 0 ? `may not be more than ${limit} ${limit === 1 ? 'byte' : 'bytes'}` : 'value is too long',
  }),
  tooLongCharacters: (field, limit) => ({
    type: 'FieldValueTooLong',
    field,
    detail:
      limit >= 0 ? `may not be more than ${limit} ${limit === 1 ? 'character' : 'characters'}` : 'value is too long',
  }),
  tooMany: (field, badValue, limit) => ({
    type: 'FieldValueTooMany',
    field,
    badValue,
    detail: limit >= 0 ? `must have at most ${limit} ${limit === 1 ? 'item' : 'items'}` : 'has too many items',
  }),
  notFound: (field, badValue) => ({ type: 'FieldValueNotFound', field, badValue, detail: '' }),
  typeInvalid: (field, badValue, detail) => ({ type: 'FieldValueTypeInvalid', field, badValue, detail }),
  internal: (field, detail) => ({ type: 'InternalError', field, detail }),
}
