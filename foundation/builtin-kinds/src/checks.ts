// Validation shared by many kinds (apimachinery's and pkg/apis' validation helpers, v1.35): each check returns the
// errors of one field.
import type { FieldError, JsonObject, JsonValue } from '@fairlead/kube'
import {
  dns1123Label,
  dns1123Subdomain,
  fieldErrors,
  fieldPath,
  isJsonObject,
  jsonEqual,
  labelValue,
  portName,
  qualifiedName,
  stringifyJson,
} from '@fairlead/kube'
import { has, mapAt, objectsAt, stringAt, stringsAt } from './fields.ts'

/** Converts the messages of a name check to errors of a field. */
export function invalidWith(field: string, value: JsonValue, messages: readonly string[]): FieldError[] {
  return messages.map((message) => fieldErrors.invalid(field, value, message))
}

/** Checks that a number is not negative; it may be absent. */
export function nonNegative(field: string, value: number | undefined): FieldError[] {
  return value !== undefined && value < 0
    ? [fieldErrors.invalid(field, value, 'must be greater than or equal to 0')]
    : []
}

/** Checks that a number is positive; it may be absent. */
export function positive(field: string, value: number | undefined): FieldError[] {
  return value !== undefined && value <= 0 ? [fieldErrors.invalid(field, value, 'must be greater than 0')] : []
}

/** Checks a port number, 1-65535. */
export function portNumber(field: string, value: number): FieldError[] {
  return value < 1 || value > 65535 ? [fieldErrors.invalid(field, value, 'must be between 1 and 65535, inclusive')] : []
}

/** Checks a port: a number or an IANA service name. */
export function portNumberOrName(field: string, value: JsonValue): FieldError[] {
  return typeof value === 'string' ? invalidWith(field, value, portName(value)) : portNumber(field, Number(value))
}

/**
 * Checks that a value is one of `choices`, which messages list in the given order; `missing` selects the error of an
 * absent value.
 */
export function oneOf(
  field: string,
  value: string,
  choices: readonly string[],
  missing: 'required' | 'unsupported' | 'fine' = 'unsupported',
): FieldError[] {
  if (value === '' && missing !== 'unsupported') return missing === 'fine' ? [] : [fieldErrors.required(field)]
  return choices.includes(value) ? [] : [fieldErrors.notSupported(field, value, choices)]
}

/**
 * Checks that a field is unchanged. Messages show objects with their fields in the order of their type, as Go's
 * structs.
 */
export function immutable(field: string, value: JsonValue | undefined, old: JsonValue | undefined): FieldError[] {
  if (jsonEqual(value ?? null, old ?? null)) return []
  return [
    isJsonObject(value)
      ? invalidStruct(field, value, 'field is immutable')
      : fieldErrors.invalid(field, value ?? null, 'field is immutable'),
  ]
}

/** Creates the error of an invalid struct: messages show its fields in the given order, not sorted as those of maps. */
export function invalidStruct(field: string, value: JsonObject, detail: string): FieldError {
  const shown = stringifyJson(withSortedLabels(value))
  return { type: 'FieldValueInvalid', field, detail: detail === '' ? shown : `${shown}: ${detail}` }
}

/** Sorts the map of a label selector, as Go does with every map that it prints. */
function withSortedLabels(value: JsonObject): JsonObject {
  const labels = value['matchLabels']
  if (!isJsonObject(labels)) return value
  return { ...value, matchLabels: Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))) }
}

/** Creates the error of an unsupported struct. */
export function unsupportedStruct(field: string, value: JsonObject, choices: readonly string[]): FieldError {
  const { detail } = fieldErrors.notSupported(field, '', choices)
  return { type: 'FieldValueNotSupported', field, detail: `${stringifyJson(value)}: ${detail}` }
}

/** Creates the error of a duplicate struct. */
export function duplicateStruct(field: string, value: JsonObject): FieldError {
  return { type: 'FieldValueDuplicate', field, detail: stringifyJson(value) }
}

/** Validates the labels of a template or a selector. */
export function labelErrors(field: string, labels: Readonly<Record<string, string>>): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...invalidWith(field, key, qualifiedName(key)),
    ...invalidWith(field, value, labelValue(value)),
  ])
}

const selectorOperators = ['In', 'NotIn', 'Exists', 'DoesNotExist']

/** Validates a LabelSelector; `allowsLabelValues` tolerates values that are not valid label values. */
export function labelSelectorErrors(field: string, selector: JsonObject, allowsLabelValues = false): FieldError[] {
  const labels = Object.entries(mapAt(selector, 'matchLabels')).flatMap(([key, value]) => [
    ...invalidWith(fieldPath(field, 'matchLabels'), key, qualifiedName(key)),
    ...invalidWith(fieldPath(field, 'matchLabels'), value, labelValue(value)),
  ])
  const expressions = objectsAt(selector, 'matchExpressions').flatMap((requirement, index) => {
    const path = fieldPath(field, 'matchExpressions', index)
    const operator = stringAt(requirement, 'operator')
    const values = stringsAt(requirement, 'values')
    const errors: FieldError[] = []
    if (!selectorOperators.includes(operator))
      errors.push(fieldErrors.invalid(fieldPath(path, 'operator'), operator, 'not a valid selector operator'))
    else if (operator.endsWith('In') && values.length === 0) {
      errors.push(
        fieldErrors.required(fieldPath(path, 'values'), "must be specified when `operator` is 'In' or 'NotIn'"),
      )
    } else if (!operator.endsWith('In') && values.length > 0) {
      errors.push(
        fieldErrors.forbidden(
          fieldPath(path, 'values'),
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
      )
    }
    errors.push(
      ...invalidWith(fieldPath(path, 'key'), stringAt(requirement, 'key'), qualifiedName(stringAt(requirement, 'key'))),
    )
    if (!allowsLabelValues)
      errors.push(
        ...values.flatMap((value, at) => invalidWith(fieldPath(path, 'values', at), value, labelValue(value))),
      )
    return errors
  })
  return [...labels, ...expressions]
}

/** Reports whether a selector selects everything: no labels and no expressions. */
export function isEmptySelector(selector: JsonObject): boolean {
  return Object.keys(mapAt(selector, 'matchLabels')).length === 0 && !has(selector, 'matchExpressions')
}

/** Returns the indices of the values that occur earlier in the list, too. */
export function repeatedIndices(values: readonly JsonValue[]): ReadonlySet<number> {
  const seen = new Set<JsonValue>()
  const repeated = new Set<number>()
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) repeated.add(index)
    seen.add(value)
  }
  return repeated
}

/** Checks that a string is a DNS label. */
export function labelName(field: string, value: string): FieldError[] {
  return invalidWith(field, value, dns1123Label(value))
}

/** Checks that a string is a DNS subdomain. */
export function subdomainName(field: string, value: string): FieldError[] {
  return invalidWith(field, value, dns1123Subdomain(value))
}

/** Checks an integer or a percentage of 0-100 %. */
export function countOrPercent(field: string, value: JsonValue | undefined): FieldError[] {
  return [...countOrPercentForm(field, value), ...percentLimit(field, value)]
}

/** Checks the form of an integer or a percentage. */
export function countOrPercentForm(field: string, value: JsonValue | undefined): FieldError[] {
  if (value === undefined || value === null) return []
  if (typeof value !== 'string') return nonNegative(field, Number(value))
  if (!isPercent.test(value))
    return [
      fieldErrors.invalid(
        field,
        value,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      ),
    ]
  return []
}

const isPercent = /^\d+%$/

/** Checks that a percentage is at most 100 %. */
export function percentLimit(field: string, value: JsonValue | undefined): FieldError[] {
  return percentOf(value) > 100 ? [fieldErrors.invalid(field, value ?? null, 'must not be greater than 100%')] : []
}

function percentOf(value: JsonValue | undefined): number {
  return typeof value === 'string' && isPercent.test(value) ? Number(value.slice(0, -1)) : 0
}

/** Returns the number of a percentage or of a string that is one; other strings count as zero, as in Go. */
function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'string' && /^[+-]?\d+$/.test(value) ? Number(value) : percentOf(value)
}

/** Reports whether a value is a positive integer or percentage; an invalid percentage counts as zero. */
export function isPositiveCount(value: JsonValue | undefined): boolean {
  return typeof value === 'number' ? value !== 0 : numberOf(value) !== 0
}

/** Reports whether a value is zero as an integer or as a percentage. */
export function isZeroCount(value: JsonValue | undefined): boolean {
  return value === 0 || (typeof value === 'string' && numberOf(value) === 0)
}

const conditionReason = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/
const reasonForm =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"

/** Validates the conditions of apimachinery's type (metav1.ValidateConditions). */
export function conditionErrors(field: string, conditions: readonly JsonObject[]): FieldError[] {
  const known = new Set<string>()
  return conditions.flatMap((condition, index) => {
    const path = fieldPath(field, index)
    const [type, reason] = [stringAt(condition, 'type'), stringAt(condition, 'reason')]
    const repeated = known.has(type) ? [fieldErrors.duplicate(`${path}.type`, type)] : []
    known.add(type)
    const observed = condition['observedGeneration']
    return [
      ...repeated,
      ...invalidWith(`${path}.type`, type, qualifiedName(type)),
      ...oneOf(`${path}.status`, stringAt(condition, 'status'), ['False', 'True', 'Unknown']),
      ...(typeof observed === 'number' && observed < 0
        ? [fieldErrors.invalid(`${path}.observedGeneration`, observed, 'must be greater than or equal to zero')]
        : []),
      ...(has(condition, 'lastTransitionTime') ? [] : [fieldErrors.required(`${path}.lastTransitionTime`)]),
      ...(reason === ''
        ? [fieldErrors.required(`${path}.reason`)]
        : conditionReason.test(reason)
          ? []
          : [fieldErrors.invalid(`${path}.reason`, reason, reasonForm)]),
      ...(reason.length > 1024 ? [fieldErrors.tooLong(`${path}.reason`, 1024)] : []),
      ...(stringAt(condition, 'message').length > 32_768 ? [fieldErrors.tooLong(`${path}.message`, 32_768)] : []),
    ]
  })
}
