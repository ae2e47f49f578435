// CEL expressions of templates: their variables, their results, and the limit of what one set may cost.
import {
  CelBudgetError,
  CelCompileError,
  CelError,
  ProgramCache,
  formatType,
  typeString,
  types,
} from '@fairlead/kube/cel'
import type { CelProgram, CelType, CelValue } from '@fairlead/kube/cel'
import type { JsonObject } from '@fairlead/kube'
import type { Selectable } from './spec.ts'

/** Variables of expressions. */
export interface TemplateVariables {
  readonly repoDefault: string
  readonly packageDefault: string
  readonly upstream: Selectable
  /** The object of a selector, or the pair of a list of repositories. */
  readonly target: Selectable | { readonly repo: string; readonly package: string }
  /** The downstream Repository; the expression that finds it has none. */
  readonly repository?: Selectable
}

/** An expression that has no value; the message names its field. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
  readonly code = 'ExpressionFailed'
}

/** Maximum cost of one expression for one target, in steps. */
const expressionCost = 100_000
/** Maximum cost of all expressions of a set in one pass, in steps: a few seconds at worst. */
const setCost = 10_000_000

const finding: Readonly<Record<string, CelType>> = {
  repoDefault: types.string,
  packageDefault: types.string,
  upstream: types.dyn,
  target: types.dyn,
}
const everything = { ...finding, repository: types.dyn }

const findingPrograms = new ProgramCache({ variables: finding, kubernetes: true })
const allPrograms = new ProgramCache({ variables: everything, kubernetes: true })

/** Returns the error of an expression that can never be evaluated; undefined when it compiles. */
export function compileError(expression: string, hasRepository: boolean): string | undefined {
  const program = (hasRepository ? allPrograms : findingPrograms).get(expression)
  if (program instanceof CelCompileError) return program.problem
  return program.type.kind === 'string' || program.type.kind === 'dyn'
    ? undefined
    : `the expression is of type ${formatType(program.type)}, not string`
}

/** Evaluates the expressions of one set within its cost limit. */
export class Expressions {
  #budget = setCost

  /** Evaluates an expression of a string. `field` is its path in the set. Throws {@link ExpressionError}. */
  string(field: string, expression: string, variables: TemplateVariables): string {
    const value = this.#evaluate(field, expression, variables)
    if (typeof value === 'string') return value
    throw new ExpressionError(`${field}: the expression returned ${typeOf(value)}, not a string`)
  }

  /** Evaluates an expression of a string or a number. Throws {@link ExpressionError}. */
  rank(field: string, expression: string, variables: TemplateVariables): string | number {
    const value = this.#evaluate(field, expression, variables)
    if (typeof value === 'string' || typeof value === 'number') return value
    if (typeof value === 'bigint') return Number(value)
    throw new ExpressionError(`${field}: the expression returned ${typeOf(value)}, not a string or a number`)
  }

  #evaluate(field: string, expression: string, variables: TemplateVariables): CelValue {
    const programs = variables.repository === undefined ? findingPrograms : allPrograms
    const program = programs.get(expression)
    if (program instanceof CelCompileError) throw new ExpressionError(`${field}: ${program.problem}`)
    if (this.#budget <= 0)
      throw new ExpressionError(`${field}: the expressions of this set cost too much; split the set or simplify them`)
    return this.#run(field, program, variables)
  }

  #run(field: string, program: CelProgram, variables: TemplateVariables): CelValue {
    const budget = Math.min(expressionCost, this.#budget)
    try {
      const { value, cost } = program.run(variables as unknown as JsonObject, { budget })
      this.#budget -= cost
      return value
    } catch (error) {
      if (error instanceof CelBudgetError) this.#budget -= budget
      else if (error instanceof CelError) this.#budget--
      else throw error
      throw new ExpressionError(`${field}: ${error.message}`)
    }
  }
}

function typeOf(value: CelValue): string {
  if (value === null) return 'null'
  if (typeof value === 'boolean') return typeString(types.bool)
  if (typeof value === 'bigint') return typeString(types.int)
  if (typeof value === 'number') return typeString(types.double)
  return Array.isArray(value) ? 'a list' : 'another type'
}
