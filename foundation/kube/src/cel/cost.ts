// Estimation of the worst cost of an expression from the sizes that its schema allows. Kubernetes rejects CRDs whose
// rules could cost too much; the figures are those of cel-go's estimator: a step for each name, field and call, more
// for calls that traverse characters or elements.
import { isReservedName } from './field-names.ts'
import type { ArgumentSize } from './call-cost.ts'
import type { CheckedExpr } from './checker.ts'
import type { Declaration } from './schema-types.ts'
import type { Expr } from './syntax.ts'
import type { CelType } from './types.ts'

/** The maximum cost of one rule, times its cardinality. */
export const ruleCostLimit = 10_000_000

/** The maximum cost of all rules of a schema. */
export const schemaCostLimit = 100_000_000

/** The maximum size of a result, during estimation, and of its parts where its place in the schema is known. */
interface Shape {
  readonly size: number
  readonly parts: Parts | undefined
  /** The size of the entries of a computed list or map, for what is taken from it by an index. */
  readonly entrySize?: number
}

/** The parts of a value with a place in the schema. */
interface Parts {
  readonly element: Shape
  readonly key: Shape
  readonly field: (name: string) => Shape
}

/** The size of results of unknown size. */
const unlimited = 2 ** 64

/** Creates the shape of a computed result, which has no place in the schema. */
function shapeOf(size: number, entrySize?: number): Shape {
  return { size, parts: undefined, ...(entrySize === undefined ? {} : { entrySize }) }
}

/** Returns the size of the entries of a list or map where it is known. */
function entrySizeOf({ parts, entrySize }: Shape): number | undefined {
  return parts === undefined ? entrySize : parts.element.size
}

function largest(sizes: readonly (number | undefined)[]): number | undefined {
  const known = sizes.filter((size) => size !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** The shape of a place that the schema does not describe. */
const unknown: Shape = {
  size: unlimited,
  get parts() {
    return { element: unknown, key: unknown, field: () => unknown }
  },
}

function shapeOfDeclaration(declaration: Declaration): Shape {
  const { element, fields } = declaration
  return {
    size: declaration.maxSize ?? 0,
    parts: {
      get element() {
        return element === undefined ? unknown : shapeOfDeclaration(element)
      },
      key: element !== undefined && declaration.type.kind === 'map' ? shapeOf(0) : unknown,
      field: (name) => {
        const field = fields.get(name)
        // The real server finds the size of a field by its escaped name alone.
        return field === undefined || isReservedName(name) ? unknown : shapeOfDeclaration(field)
      },
    },
  }
}

/** Estimates the worst cost of an expression in steps. */
export function estimateCost(checked: CheckedExpr, variables: ReadonlyMap<string, Declaration>): number {
  const scope = new Map([...variables].map(([name, declaration]) => [name, shapeOfDeclaration(declaration)]))
  return new Estimator(checked, scope.get('self')).estimate(checked.root, scope).cost
}

type Scope = ReadonlyMap<string, Shape>

interface Estimate {
  readonly cost: number
  readonly shape: Shape
}

class Estimator {
  readonly #checked: CheckedExpr
  readonly #self: Shape | undefined

  constructor(checked: CheckedExpr, self: Shape | undefined) {
    this.#checked = checked
    this.#self = self
  }

  estimate(expr: Expr, scope: Scope): Estimate {
    switch (expr.kind) {
      case 'literal':
        return { cost: 0, shape: shapeOf(literalSize(expr.value)) }
      case 'name':
        return { cost: 1, shape: scope.get(expr.name) ?? shapeOf(1) }
      case 'select': {
        const operand = this.estimate(expr.operand, scope)
        // Testing a field costs nothing beyond its object.
        if (expr.test) return { cost: operand.cost, shape: shapeOf(1) }
        return { cost: operand.cost + 1, shape: this.#partsOf(operand.shape).field(expr.field) }
      }
      case 'index': {
        const operand = this.estimate(expr.operand, scope)
        const index = this.estimate(expr.index, scope)
        return { cost: operand.cost + index.cost + 1, shape: this.#entryOf(operand.shape) }
      }
      case 'call':
        return this.#call(expr, scope)
      case 'logic': {
        const [left, right] = [expr.left, expr.right].map((part) => this.estimate(part, scope)) as [Estimate, Estimate]
        return { cost: left.cost + right.cost, shape: shapeOf(1) }
      }
      case 'conditional': {
        const [test, yes, no] = [expr.test, expr.whenTrue, expr.whenFalse].map((part) =>
          this.estimate(part, scope),
        ) as [Estimate, Estimate, Estimate]
        return { cost: test.cost + Math.max(yes.cost, no.cost), shape: union(yes.shape, no.shape) }
      }
      case 'list': {
        const items = expr.items.map((item) => this.estimate(item, scope))
        return { cost: 10 + sum(items), shape: shapeOf(items.length, largest(items.map(({ shape }) => shape.size))) }
      }
      case 'map': {
        const keys = expr.entries.map(([key]) => this.estimate(key, scope))
        const values = expr.entries.map(([, value]) => this.estimate(value, scope))
        const entrySize = largest(values.map(({ shape }) => shape.size))
        return { cost: 30 + sum(keys) + sum(values), shape: shapeOf(expr.entries.length, entrySize) }
      }
      case 'fold':
        return this.#fold(expr, scope)
      case 'bind': {
        const value = this.estimate(expr.value, scope)
        const body = this.estimate(expr.body, new Map(scope).set(expr.name, value.shape))
        return { cost: value.cost + body.cost + 10, shape: body.shape }
      }
      case 'optMap': {
        const target = this.estimate(expr.target, scope)
        const body = this.estimate(expr.body, new Map(scope).set(expr.name, target.shape))
        return { cost: target.cost + body.cost + 12, shape: body.shape }
      }
    }
  }

  /**
   * Returns the shapes of the parts of a value. Those of a computed result have no path in the schema: Kubernetes looks
   * them up from its root and finds `self`.
   */
  #partsOf({ parts }: Shape): Parts {
    const part = this.#self ?? unknown
    return parts ?? { element: part, key: part, field: () => part }
  }

  #entryOf(shape: Shape): Shape {
    return shape.entrySize === undefined ? this.#partsOf(shape).element : shapeOf(shape.entrySize)
  }

  #call(expr: Expr & { kind: 'call' }, scope: Scope): Estimate {
    const args = expr.args.map((arg) => this.estimate(arg, scope))
    const sizes = expr.args.map((arg, index) => sizeOf(args[index]!.shape, this.#checked.typeOf(arg)))
    const own = this.#checked.overloadsOf(expr).map(({ cost }) => (cost === undefined ? 1 : cost(sizes)))
    const [receiver] = expr.args
    const ofBytes = receiver !== undefined && ['bytes', 'dyn'].includes(this.#checked.typeOf(receiver).kind)
    const shape = resultShape(expr, args, this.#checked.typeOf(expr), sizes, ofBytes)
    return { cost: sum(args) + Math.max(0, ...own), shape }
  }

  #fold(expr: Expr & { kind: 'fold' }, scope: Scope): Estimate {
    const range = this.estimate(expr.range, scope)
    const isList = this.#checked.typeOf(expr.range).kind === 'list'
    const parts = this.#partsOf(range.shape)
    const { element } = parts
    const key = isList ? shapeOf(1) : parts.key
    const inner = new Map(scope)
    if (expr.names.length === 2) inner.set(expr.names[0]!, key).set(expr.names[1]!, element)
    else inner.set(expr.names[0]!, isList ? element : key)
    const filter = expr.filter === undefined ? undefined : this.estimate(expr.filter, inner)
    const body = this.estimate(expr.body, inner)
    const perElement = (filter?.cost ?? 0) + body.cost + foldOverhead[expr.macro]
    const { macro } = expr
    const builds = macro === 'map' || macro === 'filter' || macro.startsWith('transform')
    // The entries that a step puts into a map have no size there.
    const entry = macro === 'filter' ? element.size : macro.startsWith('transformMap') ? undefined : body.shape.size
    return {
      cost: range.cost + range.shape.size * perElement + foldStart[macro],
      shape: builds ? shapeOf(range.shape.size, entry) : shapeOf(1),
    }
  }
}

type Macro = (Expr & { kind: 'fold' })['macro']

/** The steps per element beside the body: the loop condition, the accumulator, the result. */
const foldOverhead: Readonly<Record<Macro, number>> = {
  all: 3,
  exists: 4,
  exists_one: 2,
  map: 12,
  filter: 13,
  transformList: 12,
  transformMap: 3,
  transformMapEntry: 2,
}

/** The steps per loop: the initial accumulator and the result. */
const foldStart: Readonly<Record<Macro, number>> = {
  all: 1,
  exists: 1,
  exists_one: 2,
  map: 11,
  filter: 11,
  transformList: 11,
  transformMap: 31,
  transformMapEntry: 31,
}

function union(a: Shape, b: Shape): Shape {
  return shapeOf(Math.max(a.size, b.size), largest([entrySizeOf(a), entrySizeOf(b)]))
}

function sum(estimates: readonly Estimate[]): number {
  return estimates.reduce((total, { cost }) => total + cost, 0)
}

/** Types whose values have a size; others count as one. */
function hasSize(type: CelType): boolean {
  return ['string', 'bytes', 'list', 'map', 'object', 'dyn'].includes(type.kind)
}

function literalSize(value: unknown): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 1
}

/** Returns the size of an argument: values without a size count as one, unknown elements as unlimited strings. */
function sizeOf(shape: Shape, type: CelType): ArgumentSize {
  const ofStrings = type.kind === 'list' && (type.element.kind === 'string' || type.element.kind === 'bytes')
  return { size: shape.size, element: ofStrings ? (shape.parts?.element.size ?? unlimited) : 0 }
}

const asLargeAsReceiver: ReadonlySet<string> = new Set(['lowerAscii', 'upperAscii', 'substring', 'trim', 'find', 'url'])

/** Result sizes that Kubernetes and cel-go declare; all others are unlimited. */
function resultShape(
  expr: Expr & { kind: 'call' },
  args: readonly Estimate[],
  type: CelType,
  sizes: readonly ArgumentSize[],
  ofBytes: boolean,
): Shape {
  if (!hasSize(type)) return shapeOf(1)
  const [first] = args
  const [size = 0, other = 0] = sizes.map((argument) => argument.size)
  if (asLargeAsReceiver.has(expr.name)) return shapeOf(size)
  switch (expr.name) {
    case '_+_':
      return shapeOf(size + other, largest(args.map(({ shape }) => entrySizeOf(shape))))
    case 'dyn':
      return first!.shape
    case 'replace':
      return shapeOf(replacedSize(expr, size, sizes))
    case 'split':
      return shapeOf(Math.min(size, literalCount(expr.args[2]) ?? unlimited))
    case 'findAll':
      return shapeOf(size)
    case 'join':
      return shapeOf(times(size, sizes[0]!.element) + times(other, Math.max(0, size - 1)))
    case 'strings.quote':
      return shapeOf(2 * size + 2)
    case 'bytes':
      return expr.args.length === 1 && type.kind === 'bytes' ? shapeOf(4 * size) : shapeOf(unlimited)
    case 'string':
      return ofBytes ? shapeOf(size) : shapeOf(unlimited)
    default:
      return shapeOf(unlimited)
  }
}

/** Multiplies; zero times unlimited is zero. */
function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b
}

/** Returns the maximum size after a replacement: the largest number of matches, each as large as the replacement. */
function replacedSize(expr: Expr & { kind: 'call' }, size: number, sizes: readonly ArgumentSize[]): number {
  const found = expr.args[1]
  const least = found?.kind === 'literal' && typeof found.value === 'string' ? found.value.length : 0
  const replacement = sizes[2]?.size ?? unlimited
  if (least === 0) return times(size + 1, replacement) + size
  return replacement <= least ? size : times(Math.ceil(size / least), replacement)
}

function literalCount(expr: Expr | undefined): number | undefined {
  return expr?.kind === 'literal' && typeof expr.value === 'bigint' && expr.value >= 0n ? Number(expr.value) : undefined
}
