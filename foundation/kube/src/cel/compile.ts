// The entry point of CEL: compile an expression against an environment, then evaluate it any number of times.
import type { JsonValue } from '../object.ts'
import { checkExpression } from './checker.ts'
import type { CheckedExpr } from './checker.ts'
import { CelCompileError } from './errors.ts'
import { compileSteps } from './interpreter.ts'
import type { Run } from './interpreter.ts'
import { Library } from './library.ts'
import { addressesLibrary } from './library/addresses.ts'
import { authorizationLibrary } from './library/authorization.ts'
import { collectionsLibrary } from './library/collections.ts'
import { encoderNames, encodersLibrary } from './library/encoders.ts'
import { kubernetesLibrary } from './library/kubernetes.ts'
import { standardLibrary } from './library/standard.ts'
import { stringsLibrary } from './library/strings.ts'
import { timesLibrary } from './library/times.ts'
import { constantIssue, literalIssues } from './literals.ts'
import { parseExpression } from './syntax.ts'
import type { CelType } from './types.ts'
import { formatType, types } from './types.ts'
import { Unifier } from './unification.ts'
import { fromTypedJson } from './typed-json.ts'
import { Timestamp } from './values.ts'
import type { CelValue } from './values.ts'

/** The variables and functions that an expression may use. */
export interface CelEnvironment {
  /** Variables by name; `types.dyn` for JSON of any form. */
  readonly variables: Readonly<Record<string, CelType>>
  /** Declares a variable `now`, the time of the evaluation. */
  readonly now?: boolean
  /**
   * Restricts expressions to Kubernetes' environment of rules and policies: fewer functions, and literals that pass its
   * validators.
   */
  readonly kubernetes?: boolean
}

/** Options of an evaluation. */
export interface EvaluateOptions {
  /**
   * The maximum cost in steps, which includes elements and characters that are traversed; {@link defaultCelBudget} by
   * default.
   */
  readonly budget?: number
  /** Milliseconds since the epoch, for environments with `now`. */
  readonly now?: number
  /** Variables that are CEL values, such as results of other expressions; they override those in JSON. */
  readonly values?: Readonly<Record<string, CelValue | undefined>>
}

/** Variables in JSON; missing ones are null. */
export type CelVariables = Readonly<Record<string, JsonValue | undefined>>

/** The cost limit of one expression in steps (Kubernetes' per-call limit). */
export const defaultCelBudget = 1_000_000

/** A compiled expression. */
export interface CelProgram {
  readonly text: string
  /** The type of its result. */
  readonly type: CelType
  /** The checked expression; the cost estimator reads it. */
  readonly checked: CheckedExpr
  /**
   * Evaluates the expression. Variables are JSON, converted by their declared types.
   * @throws CelError `CelEvaluation`, CelBudgetError `CelBudget`
   */
  evaluate(variables: CelVariables, options?: EvaluateOptions): CelValue
  /** Evaluates the expression and returns its cost in steps too. */
  run(variables: CelVariables, options?: EvaluateOptions): { value: CelValue; cost: number }
}

let everything: Library | undefined

/** Returns all functions: CEL's standard ones, its extensions, Kubernetes' libraries. */
export function celLibrary(): Library {
  everything ??= new Library()
    .include(standardLibrary())
    .include(timesLibrary())
    .include(stringsLibrary())
    .include(collectionsLibrary())
    .include(kubernetesLibrary())
    .include(addressesLibrary())
    .include(authorizationLibrary())
    .include(encodersLibrary())
  return everything
}

let subset: Library | undefined

/** Returns the functions of Kubernetes' environment, without the extensions of CEL that it does not include. */
function kubernetesSubset(): Library {
  subset ??= celLibrary().without(
    ({ name, member, parameters }) =>
      name.startsWith('math.') ||
      encoderNames.includes(name) ||
      (name === 'reverse' && parameters[0]?.kind === 'string') ||
      // The sign of a quantity is a function there, not a method as documented.
      (name === 'sign' && member),
  )
  return subset
}

/**
 * Compiles an expression. Its result must be assignable to `resultType`, if given.
 * @throws CelCompileError `CelSyntax`, `CelType`, `CelProgram`
 */
export function compile(text: string, environment: CelEnvironment, resultType: CelType = types.dyn): CelProgram {
  const isStrict = environment.kubernetes === true
  const library = isStrict ? kubernetesSubset() : celLibrary()
  const variables = new Map(Object.entries(environment.variables))
  if (environment.now === true) variables.set('now', types.timestamp)
  const root = parseExpression(text, (name) => library.has(name), !isStrict)
  const checked = checkExpression(root, text, { variables, library })
  const issues = isStrict ? literalIssues(checked) : []
  if (issues.length > 0) throw new CelCompileError('CelType', issues, text)
  const constant = isStrict ? constantIssue(root, checked) : undefined
  if (constant !== undefined) throw new CelCompileError('CelProgram', [constant], text)
  if (!new Unifier().assign(resultType, checked.type)) {
    const summary = `expected type '${formatType(resultType)}' but found '${formatType(checked.type)}'`
    throw new CelCompileError('CelType', [{ summary, at: root.at }], text)
  }
  const names = [...variables.keys()]
  const step = compileSteps(checked, names)
  const run: CelProgram['run'] = (json, { budget = defaultCelBudget, now = 0, values = {} } = {}) => {
    const slots = names.map((name) => {
      if (name === 'now' && environment.now === true) return new Timestamp(BigInt(Math.round(now)) * 1_000_000n)
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      if (value !== undefined) return value
      return fromTypedJson(Object.hasOwn(json, name) ? json[name] : undefined, variables.get(name)!)
    })
    const state: Run = { slots, budget, cost: 0 }
    return { value: step(state), cost: state.cost }
  }
  return { text, type: checked.type, checked, run, evaluate: (values, options) => run(values, options).value }
}
