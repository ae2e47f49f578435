// Types of Kubernetes with a JSON form of their own: quantities, times, int-or-string, embedded JSON and the like.
import type { JsonValue } from '@fairlead/kube'
import {
  GoTimeSyntaxError,
  canonicalQuantity,
  formatGoDurationNanoseconds,
  formatGoMicroTime,
  formatGoTime,
  formatQuantity,
  isJsonArray,
  isJsonObject,
  parseGoDurationNanoseconds,
  parseGoMicroTime,
  parseGoTime,
  parseQuantity,
} from '@fairlead/kube'
import type { SpecialForm } from './message-type.ts'
import { TypeMismatch } from '../definition/resource-definition.ts'

/**
 * Returns the canonical form of a value that is not null. `readSchema` decodes a nested JSONSchemaProps.
 * @throws TypeMismatch with the message of the type's own decoder
 */
export function specialForm(
  form: SpecialForm,
  value: JsonValue,
  readSchema: (schema: JsonValue) => JsonValue,
): JsonValue {
  switch (form) {
    case 'quantity':
      return quantity(value)
    case 'intOrString':
      return intOrString(value)
    case 'time':
      return time(value, (text) => formatGoTime(parseGoTime(text)))
    case 'microTime':
      return time(value, (text) => formatGoMicroTime(parseGoMicroTime(text)))
    case 'duration':
      return duration(value)
    case 'strings':
      return strings(value)
    case 'schemaOrBool':
      return typeof value === 'boolean' ? value : readSchema(value)
    case 'schemaOrArray':
      return isJsonArray(value) ? value.map(readSchema) : readSchema(value)
    case 'schemaOrStrings':
      return isJsonArray(value) ? value : readSchema(value)
    default:
      return value
  }
}

const nanosPerMilli = 1_000_000n

/** Rounds a canonical quantity away from zero to thousandths, as SetDefaults_ResourceList of core/v1 does. */
export function roundedToMilli(text: string): string {
  if (!/[nue]/.test(text)) return text
  const { nanos, format } = parseQuantity(text)
  const rest = nanos % nanosPerMilli
  if (rest === 0n) return text
  return formatQuantity({ nanos: nanos - rest + (nanos > 0n ? nanosPerMilli : -nanosPerMilli), format })
}

/** Returns the zero value of such a type. */
export function specialZero(form: SpecialForm): JsonValue {
  if (form === 'quantity') return '0'
  if (form === 'intOrString') return 0
  if (form === 'duration') return '0s'
  return null
}

function quantity(value: JsonValue): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
    throw new TypeMismatch(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    )
  try {
    return canonicalQuantity(String(value))
  } catch (error) {
    throw new TypeMismatch(error instanceof Error ? error.message : String(error))
  }
}

function intOrString(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value
  if (typeof value !== 'number' && typeof value !== 'bigint')
    throw new TypeMismatch(`json: cannot unmarshal ${describe(value)} into Go value of type int32`)
  if (!Number.isInteger(value) || Number(value) > 2147483647 || Number(value) < -2147483648) {
    throw new TypeMismatch(`json: cannot unmarshal number ${String(value)} into Go value of type int32`)
  }
  return value
}

function time(value: JsonValue, convert: (text: string) => string): string {
  if (typeof value !== 'string')
    throw new TypeMismatch(`json: cannot unmarshal ${describe(value)} into Go value of type string`)
  try {
    return convert(value)
  } catch (error) {
    if (error instanceof GoTimeSyntaxError) throw new TypeMismatch(error.message)
    throw error
  }
}

function duration(value: JsonValue): string {
  if (typeof value !== 'string')
    throw new TypeMismatch(`json: cannot unmarshal ${describe(value)} into Go value of type string`)
  try {
    return formatGoDurationNanoseconds(parseGoDurationNanoseconds(value))
  } catch (error) {
    throw new TypeMismatch(error instanceof Error ? error.message : String(error))
  }
}

function strings(value: JsonValue): JsonValue {
  if (isJsonArray(value) && value.every((item) => typeof item === 'string')) return value
  throw new TypeMismatch(
    `json: cannot unmarshal ${isJsonArray(value) ? 'number' : describe(value)} into Go value of type []string`,
  )
}

function describe(value: JsonValue): string {
  if (typeof value === 'number' || typeof value === 'bigint') return 'number'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  if (isJsonArray(value)) return 'array'
  return isJsonObject(value) ? 'object' : 'null'
}
