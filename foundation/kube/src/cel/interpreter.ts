// Evaluation of checked expressions: each node is compiled to a function. Every step counts against a budget, which
// expressions cannot catch.
import type { ArgumentSize } from './call-cost.ts'
import type { CheckedExpr } from './checker.ts'
import { CelBudgetError, CelError } from './errors.ts'
import { folds, walkOf } from './folds.ts'
import type { Overload } from './library.ts'
import type { Expr } from './syntax.ts'
import { isDynamic, typeNames } from './types.ts'
import type { CelType } from './types.ts'
import { MapValue, Optional, TypeValue, asBool, formatKey, isList, numeric, typeName } from './values.ts'
import type { CelValue } from './values.ts'

/** The state of an evaluation: the variables by slot, its cost and its budget. */
export interface Run {
  readonly slots: CelValue[]
  readonly budget: number
  cost: number
}

/** A compiled expression. */
export type Step = (run: Run) => CelValue

/**
 * Compiles a checked expression to a function. `names` are the variables, in the order of their slots.
 */
export function compileSteps(checked: CheckedExpr, names: readonly string[]): Step {
  const slots = new Map(names.map((name, slot) => [name, slot]))
  return new Compiler(checked, names.length).compile(checked.root, slots)
}

function charge(run: Run, cost: number): void {
  run.cost += cost
  if (run.cost > run.budget) throw new CelBudgetError()
}

type Slots = ReadonlyMap<string, number>

class Compiler {
  readonly #checked: CheckedExpr
  #nextSlot: number

  constructor(checked: CheckedExpr, firstSlot: number) {
    this.#checked = checked
    this.#nextSlot = firstSlot
  }

  compile(expr: Expr, slots: Slots): Step {
    switch (expr.kind) {
      case 'literal': {
        const { value } = expr
        return () => value
      }
      case 'name': {
        const slot = slots.get(expr.name)
        if (slot === undefined) return constantType(expr.name)
        return (run) => {
          charge(run, 1)
          return run.slots[slot]!
        }
      }
      case 'select':
        return this.#select(expr, slots)
      case 'index':
        return this.#index(expr, slots)
      case 'call':
        return this.#call(expr, slots)
      case 'logic':
        return logic(expr.operator === '||', this.compile(expr.left, slots), this.compile(expr.right, slots))
      case 'conditional': {
        const [test, whenTrue, whenFalse] = [expr.test, expr.whenTrue, expr.whenFalse].map((part) =>
          this.compile(part, slots),
        ) as [Step, Step, Step]
        return (run) => (asBool(test(run)) ? whenTrue(run) : whenFalse(run))
      }
      case 'list': {
        const items = expr.items.map((item) => this.compile(item, slots))
        return (run) => {
          charge(run, 10)
          return items.map((item) => item(run))
        }
      }
      case 'map': {
        const entries = expr.entries.map(
          ([key, value]) => [this.compile(key, slots), this.compile(value, slots)] as const,
        )
        return (run) => {
          charge(run, 30)
          const map = new MapValue()
          for (const [key, value] of entries) {
            const k = key(run)
            if (map.has(k)) throw new CelError(`Failed with repeated key`)
            map.set(k, value(run))
          }
          return map
        }
      }
      case 'fold':
        return this.#fold(expr, slots)
      case 'bind': {
        const slot = this.#nextSlot++
        const value = this.compile(expr.value, slots)
        const body = this.compile(expr.body, new Map(slots).set(expr.name, slot))
        return (run) => {
          run.slots[slot] = value(run)
          return body(run)
        }
      }
      case 'optMap': {
        const slot = this.#nextSlot++
        const target = this.compile(expr.target, slots)
        const body = this.compile(expr.body, new Map(slots).set(expr.name, slot))
        return (run) => {
          const value = target(run)
          if (!(value instanceof Optional)) throw new CelError('no such overload')
          if (value.value === undefined) return value
          run.slots[slot] = value.value
          const result = body(run)
          if (!expr.flat) return new Optional(result)
          if (result instanceof Optional) return result
          throw new CelError('no such overload')
        }
      }
    }
  }

  #select(expr: Expr & { kind: 'select' }, slots: Slots): Step {
    const operand = this.compile(expr.operand, slots)
    const { field, test, optional } = expr
    return (run) => {
      charge(run, 1)
      const value = operand(run)
      const isOptional = value instanceof Optional
      const inner = isOptional ? value.value : value
      if (inner === undefined) return test ? false : value
      if (!(inner instanceof MapValue)) {
        if (test) return false
        throw new CelError(`no such key: ${field}`)
      }
      const member = inner.get(field)
      if (test) return member !== undefined
      if (optional || isOptional) return new Optional(member)
      if (member === undefined) throw new CelError(`no such key: ${field}`)
      return member
    }
  }

  #index(expr: Expr & { kind: 'index' }, slots: Slots): Step {
    const operand = this.compile(expr.operand, slots)
    const index = this.compile(expr.index, slots)
    const { optional } = expr
    return (run) => {
      charge(run, 1)
      const value = operand(run)
      const at = index(run)
      const isOptional = value instanceof Optional
      const inner = isOptional ? value.value : value
      if (inner === undefined) return value
      const element = elementOf(inner, at)
      if (optional || isOptional) return new Optional(element)
      if (element !== undefined) return element
      throw new CelError(isList(inner) ? `index out of bounds: ${formatKey(at)}` : `no such key: ${formatKey(at)}`)
    }
  }

  #call(expr: Expr & { kind: 'call' }, slots: Slots): Step {
    const overloads = this.#checked.overloadsOf(expr)
    const steps = expr.args.map((arg) => this.compile(arg, slots))
    const [only] = overloads
    const settled = overloads.length === 1 && !expr.args.some((arg) => isDynamic(this.#checked.typeOf(arg)))
    if (settled && steps.length === 2) {
      const [left, right] = steps as [Step, Step]
      return (run) => invoke(run, only!, [left(run), right(run)])
    }
    if (settled)
      return (run) =>
        invoke(
          run,
          only!,
          steps.map((step) => step(run)),
        )
    return (run) => {
      const args = steps.map((step) => step(run))
      const overload = overloads.find(({ parameters }) => parameters.every((parameter, i) => fits(parameter, args[i]!)))
      if (overload === undefined) throw noSuchOverload(expr.name, args)
      return invoke(run, overload, args)
    }
  }

  #fold(expr: Expr & { kind: 'fold' }, slots: Slots): Step {
    const range = this.compile(expr.range, slots)
    const inner = new Map(slots)
    const places = expr.names.map((name) => {
      const slot = this.#nextSlot++
      inner.set(name, slot)
      return slot
    })
    const filter = expr.filter === undefined ? undefined : this.compile(expr.filter, inner)
    const body = this.compile(expr.body, inner)
    const fold = folds[expr.macro]
    return (run) => {
      const walk = walkOf(range(run))
      return fold({
        length: walk.length,
        key: (i) => walk.key(i),
        enter: (i) => {
          charge(run, 1)
          if (places.length === 2) {
            run.slots[places[0]!] = walk.key(i)
            run.slots[places[1]!] = walk.value(i)
          } else {
            run.slots[places[0]!] = walk.single(i)
          }
          return filter === undefined || asBool(filter(run))
        },
        current: () => run.slots[places[0]!]!,
        body: () => body(run),
      })
    }
  }
}

function invoke(run: Run, overload: Overload, args: readonly CelValue[]): CelValue {
  // The checker accepts nullable fields and null as any type; only overloads that accept null are called with it.
  if (args.includes(null) && args.some((arg, i) => arg === null && !fits(overload.parameters[i]!, null)))
    throw noSuchOverload(overload.name, args)
  charge(run, overload.cost === undefined ? 1 : overload.cost(args.map(argumentSize)))
  return overload.call(args)
}

const numbers = ['int', 'uint', 'double']
const times = ['google.protobuf.Timestamp', 'google.protobuf.Duration']
const ordered = [...numbers, ...times, 'bool', 'string', 'bytes']
/** The types allowed on the left of an operator, regardless of its right side. */
const operands: Readonly<Record<string, readonly string[]>> = {
  '_+_': [...numbers, ...times, 'string', 'bytes', 'list'],
  '_-_': [...numbers, ...times],
  '_*_': numbers,
  '_/_': numbers,
  '_%_': ['int', 'uint'],
  '_<_': ordered,
  '_<=_': ordered,
  '_>_': ordered,
  '_>=_': ordered,
  size: ['string', 'bytes', 'list', 'map'],
}

/** The error names the function where no overload accepts the type. */
function noSuchOverload(name: string, [first]: readonly CelValue[]): CelError {
  const known = Object.hasOwn(operands, name) ? operands[name] : undefined
  const isKnown = known === undefined || first === undefined || known.includes(typeName(first))
  return new CelError(isKnown ? 'no such overload' : `no such overload: ${name}`)
}

function argumentSize(value: CelValue): ArgumentSize {
  return { size: sizeOf(value), element: isList(value) && value.length > 0 ? sizeOf(value[0]!) : 0 }
}

/** Returns the size in characters, bytes or elements; 1 for other values. */
function sizeOf(value: CelValue): number {
  if (typeof value === 'string' || isList(value) || value instanceof Uint8Array) return value.length
  return value instanceof MapValue ? value.size : 1
}

/** Evaluates `||` and `&&`: a side that decides the result overrides an error of the other, in either order. */
function logic(decisive: boolean, left: Step, right: Step): Step {
  return (run) => {
    const first = attempt(run, left)
    if (first === decisive) return decisive
    const second = attempt(run, right)
    if (second === decisive) return decisive
    if (first instanceof CelError) throw first
    if (second instanceof CelError) throw second
    return !decisive
  }
}

function attempt(run: Run, step: Step): boolean | CelError {
  try {
    return asBool(step(run))
  } catch (error) {
    if (error instanceof CelError) return error
    throw error
  }
}

function constantType(name: string): Step {
  if (!typeNames.has(name)) throw new Error(`no slot for ${name}`)
  const value = new TypeValue(name)
  return () => value
}

/** Returns the element of a list or map; undefined when there is none. Integral doubles and uints are indices too. */
function elementOf(container: CelValue, index: CelValue): CelValue | undefined {
  if (isList(container)) {
    const at = numeric(index)
    if (at === undefined || (typeof at === 'number' && !Number.isInteger(at)))
      throw new CelError(`unsupported index type '${typeName(index)}' in list`)
    return at < 0 ? undefined : container[Number(at)]
  }
  if (container instanceof MapValue) return container.get(index)
  throw new CelError('no such overload')
}

/** Reports whether a value matches a parameter type; type variables match anything. */
function fits(type: CelType, value: CelValue): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return true
    case 'null':
      return value === null
    case 'list':
      return isList(value) && (isDynamic(type.element) || value.every((item) => fits(type.element, item)))
    case 'map':
    case 'object':
      return value instanceof MapValue
    case 'optional':
      return value instanceof Optional
    case 'opaque':
      return typeName(value) === type.name
    case 'timestamp':
      return typeName(value) === 'google.protobuf.Timestamp'
    case 'duration':
      return typeName(value) === 'google.protobuf.Duration'
    default:
      return typeName(value) === type.kind
  }
}
