// Expressions of policies and webhooks: compiled once, run within the budget of their group. An expression that does not compile is one that always fails:
// it was stored before anyone looked, or by a server of another version.
import { CelBudgetError, CelCompileError, CelError, compile, defaultCelBudget, typeText } from '@fairlead/kube/cel'
import type { CelProgram, CelType, CelValue } from '@fairlead/kube/cel'
import type { Declarations } from './variables.ts'

/** What one expression came to. */
export type Outcome = { readonly value: CelValue } | { readonly error: string }

/** Compiles; the error text of admission when that fails. */
export class Expression {
  readonly text: string
  readonly program: CelProgram | undefined
  /** Why it cannot be run: `compilation failed: …`, `must evaluate to bool …`. */
  readonly problem: string | undefined

  /** `results` are the types that it may come to; any when left out. */
  constructor(text: string, declarations: Declarations, results?: readonly CelType[]) {
    this.text = text
    try {
      const program = compile(text, { variables: declarations, kubernetes: true })
      this.problem = results === undefined ? undefined : wrongResult(program.type, results)
      this.program = this.problem === undefined ? program : undefined
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      this.program = undefined
      this.problem = error.problem
    }
  }
}

function wrongResult(type: CelType, results: readonly CelType[]): string | undefined {
  const texts = results.map(typeText)
  if (texts.includes(typeText(type))) return undefined
  return texts.length === 1
    ? `must evaluate to ${texts[0]} but got ${typeText(type)}`
    : `must evaluate to one of [${texts.join(' ')}] but got ${typeText(type)}`
}

/**
 * All expressions of a group together took too many steps: the rest is not run.
 * @internal told as a refusal of admission
 */
export class OutOfBudget extends Error {
  readonly code = 'OutOfBudget'

  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run')
  }
}

/** Steps that a group of expressions may take together. */
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
