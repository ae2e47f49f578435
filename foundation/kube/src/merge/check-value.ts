// Checks that a value fits a type before it is merged: no unknown fields, the right kinds of values, no item twice. Texts are those of
// structured-merge-diff, which clients see in `failed to create typed patch object (…)`.
import type { JsonObject, JsonValue } from '../object.ts'
import { formatGoNumber, formatGoValue, goQuote } from '../go-text.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'
import { isPlaced, itemElement } from './list-items.ts'
import { shapeOf } from './merge-type.ts'
import type { ListShape, MapShape, MergeType, ScalarShape } from './merge-type.ts'
import { fieldElement, formatFieldPath, formatPathElement } from './path-element.ts'
import type { PathElement } from './path-element.ts'

/** What is wrong with a value, one entry per finding: `.spec.junk: field not declared in schema`. Empty when it fits. */
export function checkValue(value: JsonValue, type: MergeType): readonly string[] {
  const checker = new Checker()
  checker.value(value, type)
  return checker.errors
}

/** Findings as one text: a single one as it is, several below each other. */
export function joinFindings(findings: readonly string[]): string {
  return findings.length === 1 ? findings[0]! : ['errors:', ...findings.map((finding) => `  ${finding}`)].join('\n')
}

class Checker {
  readonly errors: string[] = []
  readonly #path: PathElement[] = []

  value(value: JsonValue, type: MergeType): void {
    switch (shapeOf(type, value)) {
      case 'map':
        return this.#map(value, type.map!)
      case 'list':
        return this.#list(value, type.list!)
      default: {
        const finding = checkScalar(value, type.scalar!)
        if (finding !== undefined) this.#report(finding)
      }
    }
  }

  #report(finding: string): void {
    this.errors.push(this.#path.length === 0 ? finding : `${formatFieldPath(this.#path)}: ${finding}`)
  }

  #descend(element: PathElement, value: JsonValue, type: MergeType): void {
    this.#path.push(element)
    this.value(value, type)
    this.#path.pop()
  }

  #map(value: JsonValue, map: MapShape): void {
    if (value === null) return
    if (!isJsonObject(value)) return this.#report(`expected map, got &{${formatGoValue(value)}}`)
    for (const [name, member] of Object.entries(value)) {
      const element = fieldElement(name)
      const type = map.field(name) ?? map.element
      if (type === undefined) {
        this.#path.push(element)
        this.#report('field not declared in schema')
        this.#path.pop()
        return
      }
      this.#descend(element, member, type)
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
      if (seen.has(element)) this.#report(`duplicate entries for key ${formatPathElement(element)}`)
      seen.add(element)
      this.#descend(element, item, list.element)
    }
  }
}

/** What is wrong with a scalar; undefined when it fits. */
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

/** The name of the Go type that a decoded JSON value has. */
function goTypeName(value: JsonValue): string {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  return isJsonArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

/** A value as Go's `%#v` writes it. */
function goSyntax(value: JsonValue): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value)
  if (isJsonArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (isJsonObject(value)) return `map[string]interface {}{${goMembers(value)}}`
  return value === null ? 'interface {}(nil)' : formatGoValue(value)
}

function goMembers(value: JsonObject): string {
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return members.map(([name, member]) => `${goQuote(name)}:${goSyntax(member)}`).join(', ')
}
