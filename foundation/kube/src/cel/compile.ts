// The one door to expressions: compile a text against an environment, then evaluate it as often as you like.
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
import { kubernetesLibrary } from './library/kubernetes.ts'
import { standardLibrary } from './library/standard.ts'
import { stringsLibrary } from './library/strings.ts'
import { timesLibrary } from './library/times.ts'
import { constantProblem, literalFindings } from './literals.ts'
import { parseExpression } from './syntax.ts'
import type { CelType } from './types.ts'
import { formatType, types } from './types.ts'
import { Unifier } from './unification.ts'
import { fromTypedJson } from './typed-json.ts'
import { Timestamp } from './values.ts'
import type { CelValue } from './values.ts'

/** What an expression may speak of. */
export interface CelEnvironment {
  /** Variables by name; `types.dyn` for JSON of any form. */
  readonly variables: Readonly<Record<string, CelType>>
  /** There is a variable `now`, the time of the evaluation. */
  readonly now?: boolean
  /** Only what Kubernetes offers in rules and policies: fewer functions than there are, and literals that its validators pass. */
  readonly kubernetes?: boolean
}

/** How to run an expression. */
export interface EvaluateOptions {
  /** Steps it may take, some for each element or character that it looks at; {@link defaultCelBudget} unless given. */
  readonly budget?: number
  /** Milliseconds since the epoch, for environments with `now`. */
  readonly now?: number
  /** Variables that are values of CEL already, such as results of other expressions; they go before those in JSON. */
  readonly values?: Readonly<Record<string, CelValue | undefined>>
}

/** Variables in JSON; those that are missing are null. */
export type CelVariables = Readonly<Record<string, JsonValue | undefined>>

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
   * Runs it. Variables come as JSON and are read by their declared types.
   * @throws CelError `CelEvaluation`, CelBudgetError `CelBudget`
   */
  evaluate(variables: CelVariables, options?: EvaluateOptions): CelValue
  /** Runs it and also tells what it cost, in steps. */
  run(variables: CelVariables, options?: EvaluateOptions): { value: CelValue; cost: number }
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
    .include(authorizationLibrary())
  return everything
}

let subset: Library | undefined

/** The functions of which Kubernetes' environment has no part: extensions of CEL that it leaves out. */
function kubernetesSubset(): Library {
  subset ??= celLibrary().without(
    ({ name, member, parameters }) =>
      name.startsWith('math.') ||
      (name === 'reverse' && parameters[0]?.kind === 'string') ||
      // The sign of a quantity is a function there, whatever its documentation says.
      (name === 'sign' && member),
  )
  return subset
}

/**
 * Compiles an expression. Its result must fit `resultType`, when that is given.
 * @throws CelCompileError `CelSyntax`, `CelType`, `CelProgram`
 */
export function compile(text: string, environment: CelEnvironment, resultType: CelType = types.dyn): CelProgram {
  const isStrict = environment.kubernetes === true
  const library = isStrict ? kubernetesSubset() : celLibrary()
  const variables = new Map(Object.entries(environment.variables))
  if (environment.now === true) variables.set('now', types.timestamp)
  const root = parseExpression(text, (name) => library.has(name), !isStrict)
  const checked = checkExpression(root, text, { variables, library })
  const findings = isStrict ? literalFindings(checked) : []
  if (findings.length > 0) throw new CelCompileError('CelType', findings, text)
  const constant = isStrict ? constantProblem(root, checked) : undefined
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
