// Type checking of expressions: every name is declared, every call has an overload. Reports all errors, with cel-go's
// messages.
import { CelCompileError } from './errors.ts'
import type { Issue } from './errors.ts'
import type { Library, Overload } from './library.ts'
import type { Expr } from './syntax.ts'
import type { CelType } from './types.ts'
import { formatType, listOf, mapOf, optionalOf, parseType, typeNames, types } from './types.ts'
import { Unifier, isSame, mostGeneral } from './unification.ts'
import { typeName } from './values.ts'
import type { CelValue } from './values.ts'

/** A checked expression with its types and overloads. */
export interface CheckedExpr {
  readonly root: Expr
  readonly type: CelType
  typeOf(expr: Expr): CelType
  /** The overloads that a call may resolve to; one, unless the values decide at run time. */
  overloadsOf(expr: Expr): readonly Overload[]
}

/** The variables and functions of an expression. */
export interface CheckedEnvironment {
  readonly variables: ReadonlyMap<string, CelType>
  readonly library: Library
}

/**
 * Checks an expression against the declared variables and functions.
 * @throws CelCompileError `CelType`
 */
export function checkExpression(root: Expr, text: string, environment: CheckedEnvironment): CheckedExpr {
  const checker = new Checker(environment)
  checker.check(root, environment.variables)
  if (checker.issues.length > 0) throw new CelCompileError('CelType', checker.issues, text)
  const typeOf = (expr: Expr): CelType => checker.typeOf(expr)
  return { root, type: typeOf(root), typeOf, overloadsOf: (expr) => checker.overloads.get(expr) ?? [] }
}

type Scope = ReadonlyMap<string, CelType>

/** The parameters and the result of an overload. */
type Signature = Pick<Overload, 'parameters' | 'result'>

const signature = (parameters: readonly string[], result: string): Signature => ({
  parameters: parameters.map(parseType),
  result: parseType(result),
})

const conditional = [signature(['bool', 'A', 'A'], 'A')]
const indexing = [
  signature(['list<A>', 'int'], 'A'),
  signature(['map<A, B>', 'A'], 'B'),
  signature(['optional<list<A>>', 'int'], 'optional<A>'),
  signature(['optional<map<A, B>>', 'A'], 'optional<B>'),
]
const optionalIndexing = [
  signature(['list<A>', 'int'], 'optional<A>'),
  signature(['optional<list<A>>', 'int'], 'optional<A>'),
  signature(['map<A, B>', 'A'], 'optional<B>'),
  signature(['optional<map<A, B>>', 'A'], 'optional<B>'),
]
const entryInsertion = [signature(['map<A, B>', 'map<A, B>'], 'map<A, B>')]

class Checker {
  readonly issues: Issue[] = []
  readonly overloads = new Map<Expr, readonly Overload[]>()
  readonly #types = new Map<Expr, CelType>()
  readonly #unifier = new Unifier()
  readonly #environment: CheckedEnvironment

  constructor(environment: CheckedEnvironment) {
    this.#environment = environment
  }

  /** Returns the inferred type; unresolved parts are dyn. */
  typeOf(expr: Expr): CelType {
    return this.#unifier.resolve(this.#types.get(expr) ?? types.dyn, true)
  }

  check(expr: Expr, scope: Scope): CelType {
    const type = this.#typeOf(expr, scope)
    this.#types.set(expr, type)
    return type
  }

  #fail(summary: string, { at }: Expr): CelType {
    this.issues.push({ summary, at })
    return types.error
  }

  #typeOf(expr: Expr, scope: Scope): CelType {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value)
      case 'name':
        return scope.get(expr.name) ?? (typeNames.has(expr.name) ? types.type : this.#undeclared(expr.name, expr))
      case 'select':
        return this.#select(expr, scope)
      case 'index': {
        const args = [this.check(expr.operand, scope), this.check(expr.index, scope)]
        return expr.optional
          ? this.#resolve(expr, '_[?_]', optionalIndexing, args, false)
          : this.#resolve(expr, '_[_]', indexing, args, false)
      }
      case 'call':
        return this.#call(expr, scope)
      case 'logic': {
        const sides = [expr.left, expr.right].map((side) => [side, this.check(side, scope)] as const)
        const fit = sides.map(([side, type]) => this.#expect(types.bool, type, side))
        return fit.every(Boolean) ? types.bool : types.error
      }
      case 'conditional': {
        const args = [expr.test, expr.whenTrue, expr.whenFalse].map((part) => this.check(part, scope))
        return this.#resolve(expr, '_?_:_', conditional, args, false)
      }
      case 'list':
        return listOf(this.#joined(expr.items, scope))
      case 'map':
        return this.#map(expr, scope)
      case 'fold':
        return this.#fold(expr, scope)
      case 'bind': {
        const value = this.check(expr.value, scope)
        return this.check(expr.body, new Map(scope).set(expr.name, value))
      }
      case 'optMap':
        return this.#optMap(expr, scope)
    }
  }

  #undeclared(name: string, expr: Expr): CelType {
    return this.#fail(`undeclared reference to '${name}' (in container '')`, expr)
  }

  /** Reports whether a type is assignable; otherwise adds an error at the expression. */
  #expect(expected: CelType, actual: CelType, expr: Expr): boolean {
    if (this.#unifier.assign(expected, actual)) return true
    this.#fail(`expected type '${formatType(expected)}' but found '${formatType(actual)}'`, expr)
    return false
  }

  /** Returns the common type of the parts of a literal; dyn when they have none. */
  #joined(parts: readonly Expr[], scope: Scope): CelType {
    let joined: CelType | undefined
    for (const part of parts) joined = this.#join(joined, this.check(part, scope))
    return joined ?? this.#unifier.variable()
  }

  #join(before: CelType | undefined, type: CelType): CelType {
    if (before === undefined) return type
    if (this.#unifier.assign(before, type)) return mostGeneral(before, type)
    return types.dyn
  }

  #map(expr: Expr & { kind: 'map' }, scope: Scope): CelType {
    let key: CelType | undefined
    let value: CelType | undefined
    for (const [keyExpr, valueExpr] of expr.entries) {
      key = this.#join(key, this.check(keyExpr, scope))
      value = this.#join(value, this.check(valueExpr, scope))
    }
    return mapOf(key ?? this.#unifier.variable(), value ?? this.#unifier.variable())
  }

  #select(expr: Expr & { kind: 'select' }, scope: Scope): CelType {
    const operand = this.#unifier.resolve(this.check(expr.operand, scope))
    const field = this.#field(operand.kind === 'optional' ? operand.of : operand, expr)
    if (expr.test) return types.bool
    return this.#unifier.resolve(expr.optional || operand.kind === 'optional' ? optionalOf(field) : field)
  }

  #field(operand: CelType, expr: Expr & { kind: 'select' }): CelType {
    switch (operand.kind) {
      case 'object':
        return operand.fields.get(expr.field) ?? this.#fail(`undefined field '${expr.field}'`, expr)
      case 'map':
        return operand.value
      case 'param':
        this.#unifier.assign(types.dyn, operand)
        return types.dyn
      case 'dyn':
      case 'error':
        return types.dyn
      default:
        this.#fail(`type '${formatType(operand)}' does not support field selection`, expr)
        return types.dyn
    }
  }

  #call(expr: Expr & { kind: 'call' }, scope: Scope): CelType {
    const { library } = this.#environment
    // Arguments are checked before the receiver.
    const [first, ...rest] = expr.args
    if (!expr.member || first === undefined) expr.args.forEach((arg) => this.check(arg, scope))
    else [...rest, first].forEach((arg) => this.check(arg, scope))
    if (!library.has(expr.name)) return this.#undeclared(expr.name, expr)
    const args = expr.args.map((arg) => this.#types.get(arg)!)
    const candidates = library.overloads(expr.name).filter(({ member }) => member === expr.member)
    const found: Overload[] = []
    const type = this.#resolve(expr, expr.name, candidates, args, expr.member, (overload) => found.push(overload))
    this.overloads.set(expr, found)
    return type
  }

  /** Returns the result of a call whose arguments match at least one signature. */
  #resolve<T extends Signature>(
    expr: Expr,
    name: string,
    signatures: readonly T[],
    args: readonly CelType[],
    member: boolean,
    onMatch?: (signature: T) => void,
  ): CelType {
    let result: CelType | undefined
    for (const candidate of signatures) {
      const [candidateResult, ...parameters] = this.#unifier.instantiate([candidate.result, ...candidate.parameters])
      if (!this.#unifier.assignAll(args, parameters)) continue
      onMatch?.(candidate)
      const resolved = this.#unifier.resolve(candidateResult!)
      if (result === undefined) result = resolved
      else if (result.kind !== 'dyn' && !isSame(resolved, result)) result = types.dyn
    }
    if (result !== undefined) return result
    const argumentTypes = args.map((type) => formatType(this.#unifier.resolve(type, true)))
    const applied = member
      ? `${argumentTypes[0]}.(${argumentTypes.slice(1).join(', ')})`
      : `(${argumentTypes.join(', ')})`
    return this.#fail(`found no matching overload for '${name}' applied to '${applied}'`, expr)
  }

  #optMap(expr: Expr & { kind: 'optMap' }, scope: Scope): CelType {
    const target = this.check(expr.target, scope)
    const inner = this.#unifier.variable()
    let type: CelType = inner
    if (!this.#unifier.assign(target, optionalOf(inner))) {
      // The macro reads the target twice.
      const applied = `${formatType(this.#unifier.resolve(target, true))}.()`
      for (const name of ['hasValue', 'value'])
        type = this.#fail(`found no matching overload for '${name}' applied to '${applied}'`, expr)
    }
    const body = this.check(expr.body, new Map(scope).set(expr.name, this.#unifier.resolve(type)))
    if (!expr.flat) return this.#unifier.resolve(optionalOf(body))
    const none = optionalOf(this.#unifier.variable())
    return this.#resolve(expr, '_?_:_', conditional, [types.bool, body, none], false)
  }

  #fold(expr: Expr & { kind: 'fold' }, scope: Scope): CelType {
    const range = this.#unifier.resolve(this.check(expr.range, scope))
    const [first, second] = this.#iterated(range, expr)
    const inner = new Map(scope)
    if (expr.names.length === 2) inner.set(expr.names[0]!, first).set(expr.names[1]!, second)
    else inner.set(expr.names[0]!, range.kind === 'map' ? first : second)
    const { filter } = expr
    const test = filter === undefined ? undefined : this.check(filter, inner)
    const body = this.check(expr.body, inner)
    /** The step of a macro that filters elements. */
    const step = (condition: CelType, result: CelType): CelType =>
      this.#resolve(expr, '_?_:_', conditional, [condition, result, result], false)
    const filtered = (result: CelType): CelType => (test === undefined ? result : step(test, result))
    switch (expr.macro) {
      case 'all':
      case 'exists':
        this.#expect(types.bool, body, expr.body)
        return types.bool
      case 'exists_one':
        step(body, types.int)
        return types.bool
      case 'filter':
        return this.#unifier.resolve(step(body, listOf(inner.get(expr.names[0]!)!)))
      case 'map':
      case 'transformList':
        return this.#unifier.resolve(filtered(listOf(body)))
      case 'transformMap':
        return this.#unifier.resolve(filtered(mapOf(first, body)))
      case 'transformMapEntry': {
        const empty = mapOf(this.#unifier.variable(), this.#unifier.variable())
        return this.#unifier.resolve(
          filtered(this.#resolve(expr, 'cel.@mapInsert', entryInsertion, [empty, body], false)),
        )
      }
    }
  }

  /** Types of the two variables: index or key, and element or value. */
  #iterated(range: CelType, expr: Expr & { kind: 'fold' }): readonly [CelType, CelType] {
    switch (range.kind) {
      case 'list':
        return [types.int, range.element]
      case 'map':
        return [range.key, range.value]
      case 'dyn':
      case 'error':
      case 'param':
        this.#unifier.assign(types.dyn, range)
        return [types.dyn, types.dyn]
      default: {
        const summary = `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`
        this.#fail(summary, expr.range)
        return [types.error, types.error]
      }
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
