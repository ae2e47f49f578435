// kubectl's JSONPath templates (`{range .items[*]}{.metadata.name}{"\n"}{end}`) and the paths of CRD columns, scale and
// selectable fields. The dialect is kubectl's own: `$` and `@` mean the current value, keys with dots are escaped by
// backslash, `['a.b']` is `.a.b`.
import { formatGoNumber } from './go-text.ts'
import { marshalGoJson } from './go-json.ts'
import { isJsonArray, isJsonObject, ownValue } from './own-property.ts'
import type { JsonValue } from './object.ts'
import { parseTemplate } from './jsonpath-parser.ts'
import type { JsonPathNode } from './jsonpath-parser.ts'
import { JsonPathError } from './jsonpath-error.ts'

/** Options of a template. */
export interface JsonPathOptions {
  /** Missing fields give no value instead of an error. */
  readonly allowMissingKeys?: boolean
  /** The number of values that all steps together may find; a million by default. */
  readonly maxValues?: number
  /** The number of characters that `execute` may print; 16 MiB by default. A template can print a value many times. */
  readonly maxLength?: number
}

const defaultMaxValues = 1_000_000
const defaultMaxLength = 16 * 1024 * 1024
/** Printer columns are evaluated for every object of a list. */
const maxColumnValues = 20_000

/** A parsed template. */
export interface JsonPathTemplate {
  /** Formats the result as kubectl prints it; lists and objects as JSON. @throws JsonPathError `JsonPathNotFound` */
  execute(value: JsonValue): string
  /**
   * Returns the values that each part of the template finds, in order; text nodes are strings. @throws JsonPathError
   * `JsonPathNotFound`
   */
  find(value: JsonValue): JsonValue[][]
}

/**
 * Parses a template. Text outside of braces is printed unchanged.
 * @throws JsonPathError `InvalidJsonPath`
 */
export function parseJsonPath(template: string, options: JsonPathOptions = {}): JsonPathTemplate {
  const nodes = parseTemplate(template)
  const { allowMissingKeys = false, maxValues = defaultMaxValues, maxLength = defaultMaxLength } = options
  const find = (value: JsonValue): JsonValue[][] => new Evaluator(allowMissingKeys, maxValues).results(nodes, value)
  return {
    find,
    execute: (value) => print(find(value), maxLength),
  }
}

/** Prints results as kubectl does: those of a part are separated by blanks. */
function print(parts: readonly (readonly JsonValue[])[], maxLength: number): string {
  const printed: string[] = []
  let length = 0
  for (const results of parts) {
    for (const [index, result] of results.entries()) {
      const one = index === 0 ? printResult(result) : ` ${printResult(result)}`
      length += one.length
      if (length > maxLength)
        throw new JsonPathError('JsonPathTooMany', `the template prints more than ${maxLength} characters`)
      printed.push(one)
    }
  }
  return printed.join('')
}

/**
 * Parses the path of a CRD column, of scale or of a selectable field: `.spec.replicas`,
 * `.status.conditions[?(@.type=="Ready")].status`. The function returns the values found, none for a path that does not
 * match.
 * @throws JsonPathError `InvalidJsonPath`
 */
export function parseColumnPath(path: string): (value: JsonValue) => JsonValue[] {
  const template = parseJsonPath(`{${path}}`, { allowMissingKeys: true, maxValues: maxColumnValues })
  return (value) => {
    try {
      return template.find(value)[0] ?? []
    } catch (error) {
      if (error instanceof JsonPathError) return []
      throw error
    }
  }
}

/**
 * Parses a path as kubectl accepts it for --sort-by, custom columns and wait: braces and the first dot are optional.
 */
export function relaxedJsonPath(path: string): string {
  const bare = /^\{(.*)\}$/s.exec(path)?.[1] ?? path
  if (bare === '') return path
  return `{${bare.startsWith('.') || bare.startsWith('[') ? '' : '.'}${bare}}`
}

function printResult(value: JsonValue): string {
  if (value === null) return 'null'
  if (typeof value === 'object') return marshalGoJson(value)
  return typeof value === 'number' || typeof value === 'bigint' ? formatGoNumber(value) : String(value)
}

/**
 * One evaluation. Repeated unions and `..` multiply the values found, so the values of all steps count towards the
 * limit.
 */
class Evaluator {
  readonly #allowMissing: boolean
  #left: number

  constructor(allowMissing: boolean, maxValues: number) {
    this.#allowMissing = allowMissing
    this.#left = maxValues
  }

  #counted(values: JsonValue[]): JsonValue[] {
    this.#left -= values.length
    if (this.#left < 0) throw new JsonPathError('JsonPathTooMany', 'the path finds too many values')
    return values
  }

  results(nodes: readonly JsonPathNode[], value: JsonValue): JsonValue[][] {
    const out: JsonValue[][] = []
    for (const node of nodes) {
      if (node.kind === 'range') {
        for (const item of this.#walk(node.over, [value])) out.push(...this.results(node.body, item))
      } else {
        // The parts of a range are repeated for each item, constants as well.
        out.push(node.kind === 'list' ? this.#step(node, [value]) : this.#counted(this.#step(node, [value])))
      }
    }
    return out
  }

  #walk(nodes: readonly JsonPathNode[], input: readonly JsonValue[]): JsonValue[] {
    let values = [...input]
    for (const node of nodes) values = this.#counted(this.#step(node, values))
    return values
  }

  #step(node: JsonPathNode, input: readonly JsonValue[]): JsonValue[] {
    switch (node.kind) {
      case 'list':
        return this.#walk(node.nodes, input)
      case 'text':
      case 'constant':
        return [node.value]
      case 'field':
        return this.#field(node.name, input)
      case 'array':
        return input.flatMap((value) => (value === null ? [] : slice(value, node.start, node.end, node.step)))
      case 'filter':
        return input.flatMap((value) => (value === null ? [] : this.#filter(node, value)))
      case 'wildcard':
        return input.flatMap(children)
      case 'recursive':
        return input.flatMap((value) => this.#counted(withDescendants(value)))
      case 'union':
        return node.branches.flatMap((branch) => this.#walk(branch, input))
      case 'range':
        throw new JsonPathError('InvalidJsonPath', 'range may not stand inside of a path')
    }
  }

  #field(name: string, input: readonly JsonValue[]): JsonValue[] {
    const found: JsonValue[] = []
    for (const value of input) {
      const member = isJsonObject(value) ? ownValue(value, name) : undefined
      if (member !== undefined) found.push(member)
    }
    if (found.length === 0 && !this.#allowMissing) throw new JsonPathError('JsonPathNotFound', `${name} is not found`)
    return found
  }

  #filter(node: JsonPathNode & { kind: 'filter' }, value: JsonValue): JsonValue[] {
    if (!isJsonArray(value)) {
      throw new JsonPathError('JsonPathNotFound', `${printResult(value)} is not array or slice and cannot be filtered`)
    }
    return value.filter((item) => {
      const left = this.#operand(node.left, item)
      if (node.operator === 'exists') return left.length > 0
      const right = this.#operand(node.right, item)
      if (left.length === 0) return false
      if (left.length > 1 || right.length > 1) {
        throw new JsonPathError('InvalidJsonPath', 'can only compare one element at a time')
      }
      return right.length === 1 && compare(left[0]!, node.operator, right[0]!)
    })
  }

  /** Evaluates one side of a filter; empty for a missing field. */
  #operand(nodes: readonly JsonPathNode[], item: JsonValue): JsonValue[] {
    try {
      return this.#walk(nodes, [item])
    } catch (error) {
      if (error instanceof JsonPathError && error.code === 'JsonPathNotFound') return []
      throw error
    }
  }
}

function compare(left: JsonValue, operator: string, right: JsonValue): boolean {
  const order = orderOf(left, right)
  switch (operator) {
    case '==':
      return order === 0
    case '!=':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
    default:
      throw new JsonPathError('InvalidJsonPath', `unrecognized filter operator ${operator}`)
  }
}

function orderOf(left: JsonValue, right: JsonValue): number {
  const isNumeric = (value: JsonValue): value is number | bigint =>
    typeof value === 'number' || typeof value === 'bigint'
  if (isNumeric(left) && isNumeric(right)) return left < right ? -1 : left > right ? 1 : 0
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : left > right ? 1 : 0
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right)
  throw new JsonPathError('InvalidJsonPath', 'incompatible types for comparison')
}

function slice(
  value: JsonValue,
  start: number | undefined,
  end: number | undefined | 'next',
  step: number | undefined,
): JsonValue[] {
  if (!isJsonArray(value)) throw new JsonPathError('JsonPathNotFound', `${printResult(value)} is not array or slice`)
  const { length } = value
  const from = start === undefined ? 0 : start < 0 ? start + length : start
  const last = end === 'next' ? from + 1 : end === undefined ? length : end < 0 ? end + length : end
  const outside = (index: number): JsonPathError =>
    new JsonPathError('JsonPathNotFound', `array index out of bounds: index ${index}, length ${length}`)
  if (from === last) return []
  if (from >= length || from < 0) throw outside(from)
  if (last > length || last < 0) throw outside(last - 1)
  if (from > last) {
    throw new JsonPathError('JsonPathNotFound', `starting index ${from} is greater than ending index ${last}`)
  }
  if (step === undefined) return value.slice(from, last)
  if (step <= 0) throw new JsonPathError('InvalidJsonPath', 'step must be > 0')
  return value.slice(from, last).filter((_, i) => i % step === 0)
}

function children(value: JsonValue): JsonValue[] {
  if (isJsonArray(value)) return [...value]
  return isJsonObject(value) ? Object.values(value) : []
}

/** Returns the value and everything below it, containers only. */
function withDescendants(value: JsonValue): JsonValue[] {
  const below = children(value)
  return below.length === 0 ? [] : [value, ...below.flatMap(withDescendants)]
}
