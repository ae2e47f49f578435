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

/** The maximum size of a result and of its parts, during estimation. */
interface Shape {
  readonly size: number
  readonly element: Shape | undefined
  readonly key: Shape | undefined
  readonly field: (name: string) => Shape
}

/** The size of results of unknown size. */
const unlimited = 2 ** 64

/** Creates the shape of a result; fields of an unknown shape are unlimited. */
function shapeOf(size: number, element?: Shape, key?: Shape): Shape {
  return { size, element, key, field: () => shapeOf(unlimited) }
}

function shapeOfDeclaration(declaration: Declaration): Shape {
  const { element, fields } = declaration
  return {
    size: declaration.maxSize ?? 0,
    get element() {
      return element && shapeOfDeclaration(element)
    },
    key: element && declaration.type.kind === 'map' ? shapeOf(0) : undefined,
    field: (name) => {
      const field = fields.get(name)
      // The real server finds the size of a field by its escaped name alone.
      return field === undefined || isReservedName(name) ? shapeOf(unlimited) : shapeOfDeclaration(field)
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
        return { cost: operand.cost + 1, shape: this.#fieldOf(expr.operand, operand.shape, expr.field) }
      }
      case 'index': {
        const operand = this.estimate(expr.operand, scope)
        const index = this.estimate(expr.index, scope)
        return { cost: operand.cost + index.cost + 1, shape: this.#elementOf(expr.operand, operand.shape) }
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
        return { cost: test.cost + Math.max(yes.cost, no.cost), shape: larger(yes.shape, no.shape) }
      }
      case 'list': {
        const items = expr.items.map((item) => this.estimate(item, scope))
        const element = items
          .map(({ shape }) => shape)
          .reduce<Shape | undefined>((a, b) => (a === undefined ? b : larger(a, b)), undefined)
        return { cost: 10 + sum(items), shape: shapeOf(items.length, element) }
      }
      case 'map': {
        const parts = expr.entries.flatMap(([key, value]) => [this.estimate(key, scope), this.estimate(value, scope)])
        return { cost: 30 + sum(parts), shape: shapeOf(expr.entries.length) }
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
   * Returns the shape of an element. Elements of a call's result have no path in the schema: Kubernetes looks them up
   * from its root and finds the size of `self`.
   */
  #elementOf(of: Expr, { element }: Shape): Shape {
    return element ?? shapeOf(of.kind === 'call' && this.#self !== undefined ? this.#self.size : unlimited)
  }

  /** Returns the shape of a field; fields of a call's result are looked up from the root, too, where `self` is. */
  #fieldOf(of: Expr, shape: Shape, name: string): Shape {
    return of.kind === 'call' && this.#self !== undefined ? this.#self : shape.field(name)
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
    const element = this.#elementOf(expr.range, range.shape)
    const key = isList ? shapeOf(1) : (range.shape.key ?? shapeOf(unlimited))
    const inner = new Map(scope)
    if (expr.names.length === 2) inner.set(expr.names[0]!, key).set(expr.names[1]!, element)
    else inner.set(expr.names[0]!, isList ? element : key)
    const filter = expr.filter === undefined ? undefined : this.estimate(expr.filter, inner)
    const body = this.estimate(expr.body, inner)
    const perElement = (filter?.cost ?? 0) + body.cost + foldOverhead[expr.macro]
    const builds = expr.macro === 'map' || expr.macro === 'filter' || expr.macro.startsWith('transform')
    return {
      cost: range.cost + range.shape.size * perElement + foldStart[expr.macro],
      shape: builds ? shapeOf(range.shape.size, expr.macro === 'filter' ? element : body.shape) : shapeOf(1),
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

function sum(estimates: readonly Estimate[]): number {
  return estimates.reduce((total, { cost }) => total + cost, 0)
}

function larger(a: Shape, b: Shape): Shape {
  return a.size >= b.size ? a : b
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
  return { size: shape.size, element: ofStrings ? (shape.element?.size ?? unlimited) : 0 }
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
  const [first, second] = args
  const [size = 0, other = 0] = sizes.map((argument) => argument.size)
  if (asLargeAsReceiver.has(expr.name)) return shapeOf(size)
  switch (expr.name) {
    case '_+_':
      return shapeOf(
        size + other,
        first!.shape.element && larger(first!.shape.element, second?.shape.element ?? shapeOf(0)),
      )
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
