// Health rules in CEL (specs/supply-chains.md §3), with a cost limit. A field that the object lacks is expected to
// appear later; every other error is reported.
import { asJson, stringifyJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CelBudgetError, CelCompileError, CelError, ProgramCache, formatType, toJson, types } from '@fairlead/kube/cel'
import type { HealthRule } from '../../api.ts'
import { verdict } from '../conditions/condition.ts'
import type { ConditionStatus, Verdict } from '../conditions/condition.ts'
import { formatValue } from '../values/value-format.ts'

type Expressions = NonNullable<HealthRule['expression']>

const programs = new ProgramCache({ variables: { object: types.dyn }, now: true })

/**
 * Evaluates `unhealthy`, then `healthy`. Reasons: `MatchedExpression`, `NoMatchesFulfilled`, `ExpressionError`. `now`
 * is in milliseconds since the epoch.
 */
export function expressionHealth(expressions: Expressions, object: KubeObject, now: number): Verdict {
  try {
    const holds = (expression: string): boolean => {
      const value = evaluated(expression, object, now)
      if (value === undefined || typeof value === 'boolean') return value ?? false
      throw new CelError(`[${expression}] must be true or false, it is ${stringifyJson(value as object)}`)
    }
    const message = (): string =>
      expressions.message === undefined ? '' : formatMessage(evaluated(expressions.message, object, now))
    const matched = (status: ConditionStatus): Verdict => verdict(status, 'MatchedExpression', message())
    if (expressions.unhealthy !== undefined && holds(expressions.unhealthy)) return matched('False')
    if (holds(expressions.healthy)) return matched('True')
    return verdict('Unknown', 'NoMatchesFulfilled', message())
  } catch (error) {
    if (!isExpressionError(error)) throw error
    return verdict('Unknown', 'ExpressionError', error.message)
  }
}

/**
 * Returns the error message of an expression that does not compile, or that cannot be a boolean where it must be one;
 * undefined otherwise.
 */
export function expressionProblem(field: string, expression: string): string | undefined {
  const program = programs.get(expression)
  if (program instanceof CelCompileError) return program.message
  const type = formatType(program.type)
  if (field === 'message' || type === 'bool' || type === 'dyn') return undefined
  return `must be true or false, it is of type ${type}`
}

/** Reports whether a rule reads `now`, so that health can change without any event. */
export function readsNow(rule: HealthRule | undefined): boolean {
  const { healthy = '', unhealthy = '', message = '' } = rule?.expression ?? {}
  return /\bnow\b/.test(`${healthy} ${unhealthy} ${message}`)
}

function evaluated(expression: string, object: KubeObject, now: number): unknown {
  const program = programs.get(expression)
  if (program instanceof CelCompileError) throw program
  try {
    return toJson(program.evaluate({ object: asJson(object) }, { now }))
  } catch (error) {
    if (error instanceof CelError && /no such (key|field|attribute|member)/i.test(error.message)) return undefined
    throw error
  }
}

function formatMessage(value: unknown): string {
  return value === undefined || value === null ? '' : formatValue(value as string)
}

function isExpressionError(error: unknown): error is Error {
  return error instanceof CelError || error instanceof CelBudgetError || error instanceof CelCompileError
}
