// Health rules in CEL (specs/supply-chains.md §3), with a cost limit. A field that the object lacks is expected to
// appear later; every other error is reported.
import { asJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CelBudgetError, CelCompileError, CelError, compile, toJson, types } from '@fairlead/kube/cel'
import type { CelProgram } from '@fairlead/kube/cel'
import type { HealthRule } from '../../api.ts'
import { verdict } from '../conditions/condition.ts'
import type { ConditionStatus, Verdict } from '../conditions/condition.ts'
import { formatValue } from '../values/value-format.ts'

type Expressions = NonNullable<HealthRule['expression']>

const environment = { variables: { object: types.dyn }, now: true }
/** Compiled expressions that are cached; the oldest is evicted first. */
const cacheSize = 500
const programs = new Map<string, CelProgram | CelCompileError>()

/**
 * Evaluates `unhealthy`, then `healthy`. Reasons: `MatchedExpression`, `NoMatchesFulfilled`, `ExpressionError`. `now`
 * is in milliseconds since the epoch.
 */
export function expressionHealth(expressions: Expressions, object: KubeObject, now: number): Verdict {
  try {
    const evaluate = (expression: string): unknown => evaluated(expression, object, now)
    const message = (): string =>
      expressions.message === undefined ? '' : formatMessage(evaluate(expressions.message))
    const matched = (status: ConditionStatus): Verdict => verdict(status, 'MatchedExpression', message())
    if (expressions.unhealthy !== undefined && evaluate(expressions.unhealthy) === true) return matched('False')
    if (evaluate(expressions.healthy) === true) return matched('True')
    return verdict('Unknown', 'NoMatchesFulfilled', message())
  } catch (error) {
    if (!isExpressionError(error)) throw error
    return verdict('Unknown', 'ExpressionError', error.message)
  }
}

/** Returns the error message of an expression that does not compile, undefined otherwise. */
export function expressionProblem(expression: string): string | undefined {
  const program = programOf(expression)
  return program instanceof CelCompileError ? program.message : undefined
}

/** Reports whether a rule reads `now`, so that health can change without any event. */
export function readsNow(rule: HealthRule | undefined): boolean {
  const { healthy = '', unhealthy = '', message = '' } = rule?.expression ?? {}
  return /\bnow\b/.test(`${healthy} ${unhealthy} ${message}`)
}

function evaluated(expression: string, object: KubeObject, now: number): unknown {
  const program = programOf(expression)
  if (program instanceof CelCompileError) throw program
  try {
    return toJson(program.evaluate({ object: asJson(object) }, { now }))
  } catch (error) {
    if (error instanceof CelError && /no such (key|field|attribute|member)/i.test(error.message)) return undefined
    throw error
  }
}

function programOf(expression: string): CelProgram | CelCompileError {
  const cached = programs.get(expression)
  if (cached !== undefined) return cached
  let program: CelProgram | CelCompileError
  try {
    program = compile(expression, environment)
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    program = error
  }
  if (programs.size >= cacheSize) programs.delete(programs.keys().next().value as string)
  programs.set(expression, program)
  return program
}

function formatMessage(value: unknown): string {
  return value === undefined || value === null ? '' : formatValue(value as string)
}

function isExpressionError(error: unknown): error is Error {
  return error instanceof CelError || error instanceof CelBudgetError || error instanceof CelCompileError
}
