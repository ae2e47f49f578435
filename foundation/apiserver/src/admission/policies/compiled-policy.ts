// A compiled policy: its expressions in the environment that Kubernetes gives them, and the decision on one request.
// Pure.
import { authorizerDeclaration, compileVariables, Expression, policyDeclarations } from '@fairlead/builtin-kinds'
import type { CompiledVariable } from '@fairlead/builtin-kinds'
import { CelError, MapValue, types } from '@fairlead/kube/cel'
import type { CelValue } from '@fairlead/kube/cel'
import { Budget, OutOfBudget } from '../expressions/expression.ts'
import { MatchConditions } from '../expressions/match-conditions.ts'
import type { Validation, ValidatingAdmissionPolicy } from './policy.ts'

/** The cost budget of all expressions of a policy (Kubernetes' value). */
const policyBudget = 10_000_000
const maxMessageBytes = 5 * 1024

/** A refusal of a policy. */
export interface Denial {
  readonly message: string
  /** The reason of the Status; `Invalid` when the policy names none. */
  readonly reason: string
  /** An audit annotation failed: the request is denied whatever the actions of the binding. */
  readonly isAnnotation?: boolean
}

type Values = Readonly<Record<string, CelValue>>

interface CompiledValidation {
  readonly source: Validation
  readonly expression: Expression
  readonly message: Expression | undefined
}

/** A policy with its expressions compiled. */
export class CompiledPolicy {
  readonly failurePolicy: 'Fail' | 'Ignore'
  readonly #conditions: MatchConditions
  readonly #variables: readonly CompiledVariable[]
  readonly #validations: readonly CompiledValidation[]
  readonly #annotations: readonly Expression[]

  constructor(policy: ValidatingAdmissionPolicy) {
    const spec = policy.spec ?? {}
    this.failurePolicy = spec.failurePolicy === 'Ignore' ? 'Ignore' : 'Fail'
    const plain = policyDeclarations(policy)
    const deciding = { ...plain, ...authorizerDeclaration }
    this.#conditions = new MatchConditions(spec.matchConditions ?? [], deciding, spec.failurePolicy)
    const { variables, declarations } = compileVariables(spec.variables ?? [], deciding)
    this.#variables = variables
    const { authorizer: _authorizer, ...telling } = declarations
    this.#validations = (spec.validations ?? []).map((source) => ({
      source,
      expression: new Expression(source.expression ?? '', declarations, [types.bool]),
      message:
        (source.messageExpression ?? '') === ''
          ? undefined
          : new Expression(source.messageExpression!, telling, [types.string]),
    }))
    this.#annotations = (spec.auditAnnotations ?? []).map(
      ({ valueExpression = '' }) => new Expression(valueExpression, declarations, [types.string, types.null]),
    )
  }

  /** Returns the refusals of a request; none admits it. `values` are those of the request, and `params`. */
  denials(values: Values): readonly Denial[] {
    const matched = this.#conditions.match(values)
    if (typeof matched === 'object') return this.#failed(matched.error)
    if (!matched) return []
    return [...this.#validate(values), ...this.#annotate(values)]
  }

  #validate(values: Values): readonly Denial[] {
    const budget = new Budget(policyBudget)
    const all = this.#withVariables(values, budget)
    try {
      return this.#validations.flatMap((validation) => {
        const outcome = budget.evaluate(validation.expression, all)
        if ('error' in outcome) return this.#failed(outcome.error)
        if (outcome.value === true) return []
        return [{ reason: validation.source.reason ?? 'Invalid', message: messageOf(validation, all, budget) }]
      })
    } catch (error) {
      if (error instanceof OutOfBudget) return this.#failed(error.message)
      throw error
    }
  }

  #annotate(values: Values): readonly Denial[] {
    if (this.#annotations.length === 0) return []
    const budget = new Budget(policyBudget)
    const all = this.#withVariables(values, budget)
    try {
      return this.#annotations.flatMap((expression) => {
        const outcome = budget.evaluate(expression, all)
        return 'error' in outcome
          ? this.#failed(outcome.error).map((denial) => ({ ...denial, isAnnotation: true }))
          : []
      })
    } catch (error) {
      if (error instanceof OutOfBudget) return this.#failed(error.message)
      throw error
    }
  }

  #withVariables(values: Values, budget: Budget): Values {
    return this.#variables.length === 0
      ? values
      : { ...values, variables: new LazyVariables(this.#variables, values, budget) }
  }

  #failed(message: string): readonly Denial[] {
    return this.failurePolicy === 'Ignore' ? [] : [{ message, reason: 'Invalid' }]
  }
}

/** `variables`: each is evaluated on first use, at most once. */
class LazyVariables extends MapValue {
  readonly #expressions: ReadonlyMap<string, Expression>
  readonly #values: Values
  readonly #budget: Budget

  constructor(variables: readonly CompiledVariable[], values: Values, budget: Budget) {
    super()
    this.#expressions = new Map(variables.map(({ name, expression }) => [name, expression]))
    this.#values = { ...values, variables: this }
    this.#budget = budget
  }

  override has(key: CelValue): boolean {
    return typeof key === 'string' && this.#expressions.has(key)
  }

  override get(key: CelValue): CelValue | undefined {
    const known = super.get(key)
    if (known !== undefined || typeof key !== 'string') return known
    const expression = this.#expressions.get(key)
    if (expression === undefined) return undefined
    const shown = JSON.stringify(key)
    if (expression.program === undefined)
      throw new CelError(`composited variable ${shown} fails to compile: ${expression.problem}`)
    const outcome = this.#budget.evaluate(expression, this.#values)
    if ('error' in outcome) {
      const detail = outcome.error.replace(`expression '${expression.text}' resulted in error: `, '')
      throw new CelError(`composited variable ${shown} fails to evaluate: ${detail}`)
    }
    this.set(key, outcome.value)
    return outcome.value
  }
}

function messageOf({ source, message }: CompiledValidation, values: Values, budget: Budget): string {
  const evaluated = message === undefined ? '' : evaluatedMessage(message, values, budget)
  return evaluated || (source.message ?? '').trim() || `failed expression: ${(source.expression ?? '').trim()}`
}

/** Returns '' where the expression fails or its result is not one short line. */
function evaluatedMessage(expression: Expression, values: Values, budget: Budget): string {
  const outcome = budget.evaluate(expression, values)
  if ('error' in outcome || typeof outcome.value !== 'string') return ''
  const text = outcome.value.trim()
  return Buffer.byteLength(text) > maxMessageBytes || text.includes('\n') ? '' : text
}
