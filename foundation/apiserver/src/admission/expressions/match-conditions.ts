// matchConditions of webhooks and policies: expressions that must all be true.
import { Expression } from '@fairlead/builtin-kinds'
import type { Declarations } from '@fairlead/builtin-kinds'
import { types } from '@fairlead/kube/cel'
import type { CelValue } from '@fairlead/kube/cel'
import { Budget, OutOfBudget } from './expression.ts'

/** One entry of `matchConditions`. */
export interface MatchCondition {
  readonly name?: string
  readonly expression?: string
}

/** The cost budget of the conditions of one webhook (Kubernetes' value). */
const matchConditionsBudget = 2_500_000

/** Compiled conditions. */
export class MatchConditions {
  readonly #expressions: readonly Expression[]
  readonly #failurePolicy: string | undefined

  constructor(conditions: readonly MatchCondition[], declarations: Declarations, failurePolicy: string | undefined) {
    this.#expressions = conditions.map(
      ({ expression = '' }) => new Expression(expression.trim(), declarations, [types.bool]),
    )
    this.#failurePolicy = failurePolicy
  }

  /**
   * Returns true when all conditions are true. One false condition decides, whatever the others do. Errors: false under
   * `Ignore`, else their message.
   */
  match(values: Readonly<Record<string, CelValue>>): boolean | { readonly error: string } {
    if (this.#expressions.length === 0) return true
    const budget = new Budget(matchConditionsBudget)
    const errors: string[] = []
    try {
      for (const expression of this.#expressions) {
        const outcome = budget.evaluate(expression, values)
        if ('error' in outcome) errors.push(outcome.error)
        else if (outcome.value !== true) return false
      }
    } catch (error) {
      if (error instanceof OutOfBudget) return { error: error.message }
      throw error
    }
    if (errors.length === 0) return true
    if (this.#failurePolicy === 'Ignore') return false
    return { error: errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]` }
  }
}
