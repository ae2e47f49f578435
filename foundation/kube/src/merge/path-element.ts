// Path elements in the string form of fieldsV1 keys: `f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`. The form is canonical
// (sorted keys, Go's JSON), so equal elements are equal strings.
import type { JsonObject, JsonValue } from '../object.ts'
import { canonicalJson } from './canonical-json.ts'
import { formatGoNumber, goQuote } from '../go-text.ts'
import { parseJson } from '../json.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'

/** One element of a field path, as fieldsV1 writes it. */
export type PathElement = string

/** Thrown for a fieldsV1 document or managedFields entry that cannot be decoded. */
export class FieldsV1Error extends Error {
  override readonly name = 'FieldsV1Error'
  readonly code = 'InvalidFieldsV1'
}

/** Returns the element of the field `name`. */
export function fieldElement(name: string): PathElement {
  return `f:${name}`
}

/** Returns the element of a set's item: its value. */
export function valueElement(value: JsonValue): PathElement {
  return `v:${canonicalJson(value)}`
}

/** Returns the element of a list map's item. `keys` must be sorted by name. */
export function keyElement(keys: readonly (readonly [string, JsonValue])[]): PathElement {
  let text = 'k:{'
  for (const [index, [name, value]] of keys.entries()) {
    text += `${index === 0 ? '' : ','}${canonicalJson(name)}:${canonicalJson(value)}`
  }
  return `${text}}`
}

/**
 * Parses a key of a fieldsV1 document to its canonical form. Undefined for an element of unknown type, which decoders
 * skip.
 * @throws FieldsV1Error for a malformed key
 */
export function parsePathElement(text: string): PathElement | undefined {
  if (text.length < 2) throw new FieldsV1Error(`key must be 2 characters long: ${goQuote(text)}`)
  if (text[1] !== ':') throw new FieldsV1Error(`missing colon: ${goQuote(text)}`)
  const rest = text.slice(2)
  switch (text[0]) {
    case 'f':
      return text
    case 'v':
      return valueElement(parseElementValue(rest))
    case 'k': {
      const keys = parseElementValue(rest)
      if (!isJsonObject(keys)) throw new FieldsV1Error(`incomplete key: ${goQuote(text)}`)
      return keyElement(Object.entries(keys).toSorted(([a], [b]) => compareStrings(a, b)))
    }
    case 'i':
      if (!/^-?\d+$/.test(rest)) throw new FieldsV1Error(`invalid index: ${goQuote(text)}`)
      return `i:${Number(rest)}`
    default:
      return undefined
  }
}

/** Formats an element for messages: `.name`, `[name="c"]`, `[="x"]`, `[0]`. */
export function formatPathElement(element: PathElement): string {
  const rest = element.slice(2)
  switch (element[0]) {
    case 'f':
      return `.${rest}`
    case 'k': {
      const keys = parseJson(rest) as JsonObject
      return `[${Object.entries(keys)
        .map(([name, value]) => `${name}=${formatMergeValue(value)}`)
        .join(',')}]`
    }
    case 'v':
      return `[=${formatMergeValue(parseJson(rest))}]`
    default:
      return `[${rest}]`
  }
}

/** Formats a path for messages: `.spec.ports[port=80,protocol="TCP"].name`. */
export function formatFieldPath(path: readonly PathElement[]): string {
  return path.map(formatPathElement).join('')
}

/**
 * Formats a value as the messages of structured-merge-diff do: strings quoted, lists in brackets, maps as `name=value`.
 */
export function formatMergeValue(value: JsonValue): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value)
  if (isJsonArray(value)) return `[${value.map(formatMergeValue).join(',')}]`
  if (isJsonObject(value)) {
    return Object.entries(value)
      .map(([name, field]) => `${name}=${formatMergeValue(field)}`)
      .join('')
  }
  return String(value)
}

/** Sorts elements in the order of fieldsV1 and of conflicts: fields by name, list items by key, set items, indices. */
export function sortPathElements(elements: readonly PathElement[]): readonly PathElement[] {
  if (elements.length < 2) return elements
  if (elements.every((element) => element[0] === 'f')) return elements.toSorted()
  return elementTypes.flatMap((type) => {
    const ofType = elements.filter((element) => element[0] === type)
    return type === 'f' ? ofType.sort() : sortByValue(ofType)
  })
}

function sortByValue(elements: readonly PathElement[]): readonly PathElement[] {
  return elements
    .map((element): readonly [PathElement, JsonValue] => [element, parseJson(element.slice(2))])
    .sort(([, left], [, right]) => compareElementValues(left, right))
    .map(([element]) => element)
}

const elementTypes = ['f', 'k', 'v', 'i']

function compareElementValues(left: JsonValue, right: JsonValue): number {
  if (!isJsonObject(left) || !isJsonObject(right)) return compareScalars(left, right)
  const rightEntries = Object.entries(right)
  for (const [index, [name, value]] of Object.entries(left).entries()) {
    const other = rightEntries[index]
    if (other === undefined) return 1
    const order = compareStrings(name, other[0]) || compareScalars(value, other[1])
    if (order !== 0) return order
  }
  return rightEntries.length > Object.keys(left).length ? -1 : 0
}

/** Compares strings by code units, as Go does. */
export function compareStrings(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function compareScalars(a: JsonValue, b: JsonValue): number {
  const rank = scalarRank(a) - scalarRank(b)
  if (rank !== 0) return rank
  if (typeof a === 'string' || typeof a === 'boolean') return a < b! ? -1 : a > b! ? 1 : 0
  if (typeof a === 'number' || typeof a === 'bigint') return a < (b as number) ? -1 : a > (b as number) ? 1 : 0
  return compareStrings(canonicalJson(a), canonicalJson(b))
}

function scalarRank(value: JsonValue): number {
  if (typeof value === 'number' || typeof value === 'bigint') return 0
  return typeof value === 'string' ? 1 : typeof value === 'boolean' ? 2 : 3
}

function parseElementValue(text: string): JsonValue {
  try {
    return parseJson(text)
  } catch (error) {
    throw new FieldsV1Error(`invalid path element: ${(error as Error).message}`)
  }
}
