// Validation of a value against a type before it is merged: no unknown fields, matching types, no duplicate items.
// Messages are those of structured-merge-diff, which clients see in `failed to create typed patch object (…)`.
import type { JsonObject, JsonValue } from '../object.ts'
import { formatGoNumber, formatGoValue, goQuote } from '../go-text.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'
import { isPlaced, itemElement } from './list-items.ts'
import { shapeOf } from './merge-type.ts'
import type { ListShape, MapShape, MergeType, ScalarShape } from './merge-type.ts'
import { fieldElement, formatFieldPath, formatPathElement } from './path-element.ts'
import type { PathElement } from './path-element.ts'

/**
 * Returns the errors of a value, such as `.spec.junk: field not declared in schema`; an empty list when it matches the
 * type.
 */
export function checkValue(
  value: JsonValue,
  type: MergeType,
  { allowsDuplicates = false }: { readonly allowsDuplicates?: boolean } = {},
): readonly string[] {
  const checker = new Checker(allowsDuplicates)
  checker.value(value, type)
  return checker.errors
}

/** Joins errors to one message: a single one as it is, several on lines of their own. */
export function joinErrors(errors: readonly string[]): string {
  return errors.length === 1 ? errors[0]! : ['errors:', ...errors.map((error) => `  ${error}`)].join('\n')
}

class Checker {
  readonly errors: string[] = []
  readonly #path: PathElement[] = []
  readonly #allowsDuplicates: boolean

  constructor(allowsDuplicates: boolean) {
    this.#allowsDuplicates = allowsDuplicates
  }

  value(value: JsonValue, type: MergeType): void {
    switch (shapeOf(type, value)) {
      case 'map':
        return this.#map(value, type.map!)
      case 'list':
        return this.#list(value, type.list!)
      default: {
        const error = checkScalar(value, type.scalar!)
        if (error !== undefined) this.#report(error)
      }
    }
  }

  #report(error: string): void {
    this.errors.push(this.#path.length === 0 ? error : `${formatFieldPath(this.#path)}: ${error}`)
  }

  #descend(element: PathElement, value: JsonValue, type: MergeType): void {
    this.#path.push(element)
    this.value(value, type)
    this.#path.pop()
  }

  #map(value: JsonValue, map: MapShape): void {
    if (value === null) return
    if (!isJsonObject(value)) return this.#report(`expected map, got &{${formatGoValue(value)}}`)
    for (const [name, field] of Object.entries(value)) {
      const element = fieldElement(name)
      const type = map.field(name) ?? map.element
      if (type === undefined) {
        this.#path.push(element)
        this.#report('field not declared in schema')
        this.#path.pop()
        return
      }
      this.#descend(element, field, type)
    }
  }

  #list(value: JsonValue, list: ListShape): void {
    if (value === null) return
    if (!isJsonArray(value)) return this.#report(`expected list, got &{${formatGoValue(value)}}`)
    const seen = new Set<PathElement>()
    for (const [index, item] of value.entries()) {
      if (list.atomic) {
        this.#descend(`i:${index}`, item, list.element)
        continue
      }
      const element = itemElement(list, item)
      if (!isPlaced(element)) return this.#report(`element ${index}: ${element.reason}`)
      if (seen.has(element) && !this.#allowsDuplicates)
        this.#report(`duplicate entries for key ${formatPathElement(element)}`)
      seen.add(element)
      this.#descend(element, item, list.element)
    }
  }
}

/** Returns the error of a scalar; undefined when it matches. */
export function checkScalar(value: JsonValue | undefined, shape: ScalarShape): string | undefined {
  if (value === undefined || value === null) return undefined
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  switch (shape) {
    case 'numeric':
      return isNumber ? undefined : `expected numeric (int or float), got ${goTypeName(value)}`
    case 'string':
      return typeof value === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${formatGoValue(value)}}`
    default:
      return isNumber || typeof value === 'string' || typeof value === 'boolean'
        ? undefined
        : `expected any scalar, got &{${formatGoValue(value)}}`
  }
}

/** Returns the Go type of a decoded JSON value. */
function goTypeName(value: JsonValue): string {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  return isJsonArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

/** Formats a value as Go's `%#v` does. */
function goSyntax(value: JsonValue): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value)
  if (isJsonArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (isJsonObject(value)) return `map[string]interface {}{${goEntries(value)}}`
  return value === null ? 'interface {}(nil)' : formatGoValue(value)
}

function goEntries(value: JsonObject): string {
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(([name, field]) => `${goQuote(name)}:${goSyntax(field)}`).join(', ')
}
