// The types of an expression: every name is declared, every call has an overload. Messages are cel-go's.
import { CelCompileError } from './errors.ts'
import type { Library, Overload } from './library.ts'
import type { Expr } from './syntax.ts'
import type { Bindings, CelType } from './types.ts'
import { formatType, isAssignable, join, listOf, mapOf, optionalOf, substitute, typeNames, types } from './types.ts'
import { typeName } from './values.ts'
import type { CelValue } from './values.ts'

/** What the checker found out. */
export interface CheckedExpr {
  readonly root: Expr
  readonly type: CelType
  typeOf(expr: Expr): CelType
  /** The overloads that a call may come to; one unless values must decide. */
  overloadsOf(expr: Expr): readonly Overload[]
}

/**
 * Checks an expression against the variables and functions there are.
 * @throws CelCompileError `CelType`
 */
export function checkExpression(
  root: Expr,
  text: string,
  variables: ReadonlyMap<string, CelType>,
  library: Library,
): CheckedExpr {
  const checker = new Checker(text, library)
  const type = checker.check(root, new Map(variables))
  return {
    root,
    type,
    typeOf: (expr) => checker.types.get(expr) ?? types.dyn,
    overloadsOf: (expr) => checker.overloads.get(expr) ?? [],
  }
}

type Scope = ReadonlyMap<string, CelType>

class Checker {
  readonly types = new Map<Expr, CelType>()
  readonly overloads = new Map<Expr, readonly Overload[]>()
  readonly #text: string
  readonly #library: Library

  constructor(text: string, library: Library) {
    this.#text = text
    this.#library = library
  }

  check(expr: Expr, scope: Scope): CelType {
    const type = this.#typeOf(expr, scope)
    this.types.set(expr, type)
    return type
  }

  #error(summary: string, expr: Expr): CelCompileError {
    return new CelCompileError('CelType', summary, this.#text, expr.at)
  }

  #typeOf(expr: Expr, scope: Scope): CelType {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value)
      case 'name': {
        const type = scope.get(expr.name)
        if (type !== undefined) return type
        if (typeNames.has(expr.name)) return types.type
        throw this.#error(`undeclared reference to '${expr.name}' (in container '')`, expr)
      }
      case 'select':
        return this.#select(expr, scope)
      case 'index':
        return this.#index(expr, scope)
      case 'call':
        return this.#call(expr, scope)
      case 'logic': {
        const left = this.check(expr.left, scope)
        const right = this.check(expr.right, scope)
        if (isAssignable(types.bool, left) && isAssignable(types.bool, right)) return types.bool
        throw this.#noOverload(expr, `_${expr.operator}_`, [left, right], false)
      }
      case 'conditional': {
        const test = this.check(expr.test, scope)
        const whenTrue = this.check(expr.whenTrue, scope)
        const whenFalse = this.check(expr.whenFalse, scope)
        const joined = isAssignable(types.bool, test) ? join(whenTrue, whenFalse) : undefined
        if (joined === undefined) throw this.#noOverload(expr, '_?_:_', [test, whenTrue, whenFalse], false)
        return joined
      }
      case 'list':
        return listOf(this.#joined(expr.items, scope))
      case 'map': {
        const keys = expr.entries.map(([key]) => key)
        const values = expr.entries.map(([, value]) => value)
        return mapOf(this.#joined(keys, scope), this.#joined(values, scope))
      }
      case 'fold':
        return this.#fold(expr, scope)
      case 'bind': {
        const value = this.check(expr.value, scope)
        return this.check(expr.body, new Map(scope).set(expr.name, value))
      }
      case 'optMap': {
        const target = this.check(expr.target, scope)
        if (target.kind !== 'optional' && target.kind !== 'dyn') {
          throw this.#noOverload(expr, expr.flat ? 'optFlatMap' : 'optMap', [target], true)
        }
        const inner = target.kind === 'optional' ? target.of : types.dyn
        const body = this.check(expr.body, new Map(scope).set(expr.name, inner))
        return expr.flat ? body : optionalOf(body)
      }
    }
  }

  /** What the parts of a literal have in common; dyn when that is nothing. */
  #joined(parts: readonly Expr[], scope: Scope): CelType {
    const found = parts.map((part) => this.check(part, scope))
    return found.reduce<CelType>(
      (a, b) => join(a, b) ?? types.dyn,
      found.length === 0 ? { kind: 'param', name: 'T' } : found[0]!,
    )
  }

  #select(expr: Expr & { kind: 'select' }, scope: Scope): CelType {
    const operand = this.check(expr.operand, scope)
    const inner = operand.kind === 'optional' ? operand.of : operand
    const field = this.#field(inner, expr)
    if (expr.test) return types.bool
    if (expr.optional || operand.kind === 'optional') return field.kind === 'optional' ? field : optionalOf(field)
    return field
  }

  #field(operand: CelType, expr: Expr & { kind: 'select' }): CelType {
    switch (operand.kind) {
      case 'object': {
        const field = operand.fields.get(expr.field)
        if (field === undefined) throw this.#error(`undefined field '${expr.field}'`, expr)
        return field
      }
      case 'map':
        return operand.value
      case 'dyn':
      case 'param':
        return types.dyn
      default:
        throw this.#error(`type '${formatType(operand)}' does not support field selection`, expr)
    }
  }

  #index(expr: Expr & { kind: 'index' }, scope: Scope): CelType {
    const operand = this.check(expr.operand, scope)
    const index = this.check(expr.index, scope)
    const inner = operand.kind === 'optional' ? operand.of : operand
    const element = this.#element(inner, index)
    if (element === undefined) throw this.#noOverload(expr, expr.optional ? '_[?_]' : '_[_]', [operand, index], false)
    return expr.optional || operand.kind === 'optional' ? optionalOf(element) : element
  }

  #element(operand: CelType, index: CelType): CelType | undefined {
    switch (operand.kind) {
      case 'list':
        return isAssignable(types.int, index) || isAssignable(types.uint, index) || isAssignable(types.double, index)
          ? operand.element
          : undefined
      case 'map':
        return isAssignable(operand.key, index) ? operand.value : undefined
      case 'object':
        return undefined
      default:
        return operand.kind === 'dyn' || operand.kind === 'param' ? types.dyn : undefined
    }
  }

  #call(expr: Expr & { kind: 'call' }, scope: Scope): CelType {
    const args = expr.args.map((arg) => this.check(arg, scope))
    if (!this.#library.has(expr.name))
      throw this.#error(`undeclared reference to '${expr.name}' (in container '')`, expr)
    const found = this.#library.candidates(expr.name, expr.member, args)
    if (found.length === 0) throw this.#noOverload(expr, expr.name, args, expr.member)
    this.overloads.set(expr, found)
    const results = found.map((overload) => {
      const bindings: Bindings = new Map()
      overload.parameters.forEach((parameter, i) => isAssignable(parameter, args[i]!, bindings))
      return substitute(overload.result, bindings)
    })
    const [first] = results.map(formatType)
    return results.every((result) => formatType(result) === first) ? results[0]! : types.dyn
  }

  #noOverload(expr: Expr, name: string, args: readonly CelType[], member: boolean): CelCompileError {
    const texts = args.map(formatType)
    const applied = member ? `${texts[0]}.(${texts.slice(1).join(', ')})` : `(${texts.join(', ')})`
    return this.#error(`found no matching overload for '${name}' applied to '${applied}'`, expr)
  }

  #fold(expr: Expr & { kind: 'fold' }, scope: Scope): CelType {
    const range = this.check(expr.range, scope)
    const [first, second] = this.#iterated(range, expr)
    const inner = new Map(scope)
    if (expr.names.length === 2) inner.set(expr.names[0]!, first).set(expr.names[1]!, second)
    else inner.set(expr.names[0]!, range.kind === 'list' ? second : first)
    if (expr.filter !== undefined) this.#condition(expr.filter, inner)
    switch (expr.macro) {
      case 'all':
      case 'exists':
      case 'exists_one':
        this.#condition(expr.body, inner)
        return types.bool
      case 'filter':
        this.#condition(expr.body, inner)
        return listOf(inner.get(expr.names[0]!)!)
      case 'map':
      case 'transformList':
        return listOf(this.check(expr.body, inner))
      case 'transformMap':
        return mapOf(first, this.check(expr.body, inner))
      case 'transformMapEntry': {
        const body = this.check(expr.body, inner)
        if (body.kind === 'map' || body.kind === 'dyn') return body
        throw this.#noOverload(expr.body, 'cel.@mapInsert', [mapOf(types.dyn, types.dyn), body], false)
      }
    }
  }

  #iterated(range: CelType, expr: Expr & { kind: 'fold' }): readonly [CelType, CelType] {
    switch (range.kind) {
      case 'list':
        return [types.int, range.element]
      case 'map':
        return [range.key, range.value]
      case 'dyn':
      case 'param':
        return [types.dyn, types.dyn]
      default:
        throw this.#error(
          `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
          expr.range,
        )
    }
  }

  #condition(expr: Expr, scope: Scope): void {
    const type = this.check(expr, scope)
    if (!isAssignable(types.bool, type)) {
      throw this.#error(`expected type 'bool' but found '${formatType(type)}'`, expr)
    }
  }
}

function literalType(value: CelValue): CelType {
  switch (typeName(value)) {
    case 'null_type':
      return types.null
    case 'bool':
      return types.bool
    case 'int':
      return types.int
    case 'uint':
      return types.uint
    case 'double':
      return types.double
    case 'bytes':
      return types.bytes
    default:
      return types.string
  }
}
