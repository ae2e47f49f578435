// One step of a path through an object, in the text form that fieldsV1 uses as its keys: `f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`.
// The text is canonical (sorted keys, Go's JSON), so that equal steps are equal strings.
import type { JsonObject, JsonValue } from '../object.ts'
import { canonicalJson } from './canonical-json.ts'
import { formatGoNumber, goQuote } from '../go-text.ts'
import { parseJson } from '../json.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'

/** A step of a path as fieldsV1 writes it. */
export type PathElement = string

/** Why a fieldsV1 document cannot be read. */
export class FieldsV1Error extends Error {
  override readonly name = 'FieldsV1Error'
  readonly code = 'InvalidFieldsV1'
}

/** The step to the member `name` of an object. */
export function fieldElement(name: string): PathElement {
  return `f:${name}`
}

/** The step to an item of a set: the item itself. */
export function valueElement(value: JsonValue): PathElement {
  return `v:${canonicalJson(value)}`
}

/** The step to an item of a list map. `keys` must be sorted by name. */
export function keyElement(keys: readonly (readonly [string, JsonValue])[]): PathElement {
  let text = 'k:{'
  for (const [index, [name, value]] of keys.entries()) {
    text += `${index === 0 ? '' : ','}${canonicalJson(name)}:${canonicalJson(value)}`
  }
  return `${text}}`
}

/**
 * Brings a key of a fieldsV1 document into canonical form. Undefined for a step of an unknown sort, which readers skip.
 * Throws FieldsV1Error when it cannot be read at all.
 */
export function parsePathElement(text: string): PathElement | undefined {
  if (text.length < 2) throw new FieldsV1Error(`key must be 2 characters long: ${goQuote(text)}`)
  if (text[1] !== ':') throw new FieldsV1Error(`missing colon: ${goQuote(text)}`)
  const rest = text.slice(2)
  switch (text[0]) {
    case 'f':
      return text
    case 'v':
      return valueElement(parseStep(rest))
    case 'k': {
      const keys = parseStep(rest)
      if (!isJsonObject(keys)) throw new FieldsV1Error(`incomplete key: ${goQuote(text)}`)
      return keyElement(Object.entries(keys).toSorted(([a], [b]) => compareText(a, b)))
    }
    case 'i':
      if (!/^-?\d+$/.test(rest)) throw new FieldsV1Error(`invalid index: ${goQuote(text)}`)
      return `i:${Number(rest)}`
    default:
      return undefined
  }
}

/** A step as messages show it: `.name`, `[name="c"]`, `[="x"]`, `[0]`. */
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

/** A path as messages show it: `.spec.ports[port=80,protocol="TCP"].name`. */
export function formatFieldPath(path: readonly PathElement[]): string {
  return path.map(formatPathElement).join('')
}

/** A value as the texts of structured-merge-diff show it: strings quoted, lists in brackets, maps as `name=value`. */
export function formatMergeValue(value: JsonValue): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value)
  if (isJsonArray(value)) return `[${value.map(formatMergeValue).join(',')}]`
  if (isJsonObject(value)) {
    return Object.entries(value)
      .map(([name, member]) => `${name}=${formatMergeValue(member)}`)
      .join('')
  }
  return String(value)
}

const sorts = 'fkvi'

/** The order in which steps stand in fieldsV1 and in lists of conflicts: members by name, list items by key, set items, indexes. */
export function comparePathElements(a: PathElement, b: PathElement): number {
  if (a === b) return 0
  const sort = sorts.indexOf(a[0]!) - sorts.indexOf(b[0]!)
  if (sort !== 0) return sort
  if (a[0] === 'f') return compareText(a, b)
  const left = parseJson(a.slice(2))
  const right = parseJson(b.slice(2))
  if (!isJsonObject(left) || !isJsonObject(right)) return compareScalars(left, right)
  const rightEntries = Object.entries(right)
  for (const [index, [name, value]] of Object.entries(left).entries()) {
    const other = rightEntries[index]
    if (other === undefined) return 1
    const order = compareText(name, other[0]) || compareScalars(value, other[1])
    if (order !== 0) return order
  }
  return -1
}

/** Orders texts by code units, as Go orders strings. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function compareScalars(a: JsonValue, b: JsonValue): number {
  const rank = scalarRank(a) - scalarRank(b)
  if (rank !== 0) return rank
  if (typeof a === 'string' || typeof a === 'boolean') return a < b! ? -1 : a > b! ? 1 : 0
  if (typeof a === 'number' || typeof a === 'bigint') return a < (b as number) ? -1 : a > (b as number) ? 1 : 0
  return compareText(canonicalJson(a), canonicalJson(b))
}

function scalarRank(value: JsonValue): number {
  if (typeof value === 'number' || typeof value === 'bigint') return 0
  return typeof value === 'string' ? 1 : typeof value === 'boolean' ? 2 : 3
}

function parseStep(text: string): JsonValue {
  try {
    return parseJson(text)
  } catch (error) {
    throw new FieldsV1Error(`invalid path element: ${(error as Error).message}`)
  }
}
