// The one door to expressions: compile a text against an environment, then evaluate it as often as you like.
import { checkExpression } from './checker.ts'
import type { CheckedExpr } from './checker.ts'
import { CelCompileError } from './errors.ts'
import { compileSteps } from './interpreter.ts'
import type { Run } from './interpreter.ts'
import { Library } from './library.ts'
import { addressesLibrary } from './library/addresses.ts'
import { collectionsLibrary } from './library/collections.ts'
import { kubernetesLibrary } from './library/kubernetes.ts'
import { standardLibrary } from './library/standard.ts'
import { stringsLibrary } from './library/strings.ts'
import { timesLibrary } from './library/times.ts'
import { parseExpression } from './syntax.ts'
import type { CelType } from './types.ts'
import { formatType, isAssignable, types } from './types.ts'
import { Timestamp, fromJson } from './values.ts'
import type { CelValue } from './values.ts'
import type { JsonValue } from '../object.ts'

/** What an expression may speak of. */
export interface CelEnvironment {
  /** Variables by name; `types.dyn` for JSON of any form. */
  readonly variables: Readonly<Record<string, CelType>>
  /** There is a variable `now`, the time of the evaluation. */
  readonly now?: boolean
}

/** How to run an expression. */
export interface EvaluateOptions {
  /** Steps it may take, some for each element or character that it looks at; {@link defaultCelBudget} unless given. */
  readonly budget?: number
  /** Milliseconds since the epoch, for environments with `now`. */
  readonly now?: number
}

/** Steps that Kubernetes allows one expression (its per-call limit). */
export const defaultCelBudget = 1_000_000

/** A compiled expression. */
export interface CelProgram {
  readonly text: string
  /** The type of its result. */
  readonly type: CelType
  /** What the checker knows; the cost estimator reads it. */
  readonly checked: CheckedExpr
  /**
   * Runs it. Variables are JSON; those of a declared type but dyn must come as CEL values already.
   * @throws CelError `CelEvaluation`, CelBudgetError `CelBudget`
   */
  evaluate(variables: Readonly<Record<string, JsonValue | CelValue | undefined>>, options?: EvaluateOptions): CelValue
  /** Runs it and also tells what it cost, in steps. */
  run(
    variables: Readonly<Record<string, JsonValue | CelValue | undefined>>,
    options?: EvaluateOptions,
  ): { value: CelValue; cost: number }
}

let everything: Library | undefined

/** All functions: CEL's standard ones, its extensions, Kubernetes' libraries. */
export function celLibrary(): Library {
  everything ??= new Library()
    .include(standardLibrary())
    .include(timesLibrary())
    .include(stringsLibrary())
    .include(collectionsLibrary())
    .include(kubernetesLibrary())
    .include(addressesLibrary())
  return everything
}

/**
 * Compiles an expression. Its result must fit `resultType`, when that is given.
 * @throws CelCompileError `CelSyntax`, `CelType`
 */
export function compile(text: string, environment: CelEnvironment, resultType: CelType = types.dyn): CelProgram {
  const library = celLibrary()
  const variables = new Map(Object.entries(environment.variables))
  if (environment.now === true) variables.set('now', types.timestamp)
  const root = parseExpression(text, (name) => library.has(name))
  const checked = checkExpression(root, text, variables, library)
  if (!isAssignable(resultType, checked.type)) {
    const summary = `expected type '${formatType(resultType)}' but found '${formatType(checked.type)}'`
    throw new CelCompileError('CelType', summary, text, root.at)
  }
  const names = [...variables.keys()]
  const step = compileSteps(checked, names)
  const run: CelProgram['run'] = (values, { budget = defaultCelBudget, now = 0 } = {}) => {
    const slots = names.map((name) => {
      if (name === 'now' && environment.now === true) return new Timestamp(BigInt(Math.round(now)) * 1_000_000n)
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      return variables.get(name)!.kind === 'dyn' ? toValue(value) : ((value ?? null) as CelValue)
    })
    const state: Run = { slots, budget, cost: 0 }
    return { value: step(state), cost: state.cost }
  }
  return { text, type: checked.type, checked, run, evaluate: (values, options) => run(values, options).value }
}

/** JSON becomes values of CEL; what is one already stays. */
function toValue(value: JsonValue | CelValue | undefined): CelValue {
  const isPlain =
    typeof value !== 'object' ||
    value === null ||
    Array.isArray(value) ||
    Object.getPrototypeOf(value) === Object.prototype
  return isPlain ? fromJson(value as JsonValue | undefined) : (value as CelValue)
}
