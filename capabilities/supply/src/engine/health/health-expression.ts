// Health by CEL (specs/supply-chains.md §3): numbers, times, and combinations, bounded in cost. What an expression misses in the object is
// still to come; any other failure is told.
import { asJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CelBudgetError, CelCompileError, CelError, compile, toJson, types } from '@fairlead/kube/cel'
import type { CelProgram } from '@fairlead/kube/cel'
import type { HealthRule } from '../../api.ts'
import { verdict } from '../condition.ts'
import type { ConditionStatus, Verdict } from '../condition.ts'
import { formatValue } from '../values/value-format.ts'

type Expressions = NonNullable<HealthRule['expression']>

const environment = { variables: { object: types.dyn }, now: true }
const remembered = 500
const programs = new Map<string, CelProgram | CelCompileError>()

/** The health that the expressions tell. Unhealthy is tried first; reasons `MatchedExpression`, `NoMatchesFulfilled`, `ExpressionError`. */
export function expressionHealth(expressions: Expressions, object: KubeObject, now: number): Verdict {
  try {
    const evaluate = (text: string): unknown => evaluated(text, object, now)
    const message = (): string => (expressions.message === undefined ? '' : textOf(evaluate(expressions.message)))
    const matched = (status: ConditionStatus): Verdict => verdict(status, 'MatchedExpression', message())
    if (expressions.unhealthy !== undefined && evaluate(expressions.unhealthy) === true) return matched('False')
    if (evaluate(expressions.healthy) === true) return matched('True')
    return verdict('Unknown', 'NoMatchesFulfilled', message())
  } catch (error) {
    if (!isExpressionError(error)) throw error
    return verdict('Unknown', 'ExpressionError', error.message)
  }
}

/** What is wrong with the text of an expression that yields a truth or a text; undefined when it compiles. */
export function expressionProblem(text: string): string | undefined {
  const program = programOf(text)
  return program instanceof CelCompileError ? program.message : undefined
}

/** Whether the health changes by time alone. */
export function readsNow(rule: HealthRule | undefined): boolean {
  const { healthy = '', unhealthy = '', message = '' } = rule?.expression ?? {}
  return /\bnow\b/.test(`${healthy} ${unhealthy} ${message}`)
}

function evaluated(text: string, object: KubeObject, now: number): unknown {
  const program = programOf(text)
  if (program instanceof CelCompileError) throw program
  try {
    return toJson(program.evaluate({ object: asJson(object) }, { now }))
  } catch (error) {
    if (error instanceof CelError && /no such (key|field|attribute|member)/i.test(error.message)) return undefined
    throw error
  }
}

function programOf(text: string): CelProgram | CelCompileError {
  const known = programs.get(text)
  if (known !== undefined) return known
  let program: CelProgram | CelCompileError
  try {
    program = compile(text, environment)
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    program = error
  }
  if (programs.size >= remembered) programs.delete(programs.keys().next().value as string)
  programs.set(text, program)
  return program
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : formatValue(value as string)
}

function isExpressionError(error: unknown): error is Error {
  return error instanceof CelError || error instanceof CelBudgetError || error instanceof CelCompileError
}
