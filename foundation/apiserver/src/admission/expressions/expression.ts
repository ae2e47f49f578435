// Evaluation of admission expressions within the cost budget of their group.
import type { Expression } from '@fairlead/builtin-kinds'
import { CelBudgetError, CelError, defaultCelBudget } from '@fairlead/kube/cel'
import type { CelValue } from '@fairlead/kube/cel'

/** The result of one expression. */
export type Outcome = { readonly value: CelValue } | { readonly error: string }

/**
 * The expressions of a group exceeded their cost budget together: the rest is not evaluated.
 * @internal becomes a refusal of admission
 */
export class OutOfBudget extends Error {
  readonly code = 'OutOfBudget'

  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run')
  }
}

/** The cost budget of a group of expressions. */
export class Budget {
  #remaining: number

  constructor(steps: number) {
    this.#remaining = steps
  }

  /** @throws OutOfBudget */
  spend(steps: number): void {
    this.#remaining -= steps
    if (this.#remaining < 0) {
      this.#remaining = -1
      throw new OutOfBudget()
    }
  }

  /** @throws OutOfBudget */
  evaluate({ text, program, problem }: Expression, values: Readonly<Record<string, CelValue>>): Outcome {
    if (program === undefined) return { error: `compilation error: ${problem}` }
    const limit = Math.min(defaultCelBudget, this.#remaining)
    try {
      const { value, cost } = program.run({}, { values, budget: limit })
      this.spend(cost)
      return { value }
    } catch (error) {
      if (error instanceof CelBudgetError) this.spend(limit < defaultCelBudget ? limit + 1 : limit)
      else if (!(error instanceof CelError)) throw error
      return { error: `expression '${text}' resulted in error: ${error.message}` }
    }
  }
}
