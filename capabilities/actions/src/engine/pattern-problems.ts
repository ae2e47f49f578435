// Validates patterns without a resource: addresses, functions and their arguments, and what other parts of the map they
// refer to.
import { ownValue } from '@fairlead/kube'
import type { Problem, ProblemCode } from './data/problem.ts'
import { functionNames } from './functions.ts'
import { checkKubectlGet } from './kubectl-get.ts'
import type { ActionMap, PartType } from './maps/action-map.ts'
import { PatternError } from './patterns/pattern.ts'
import type { Pattern, PatternPart } from './patterns/pattern.ts'

/** The place of a pattern in a map. */
export interface PatternPlace {
  readonly field: string
  readonly map: ActionMap
  /** The names of the inputs that the pattern may use; undefined when a form of another map defines them. */
  readonly inputs: ReadonlySet<string> | undefined
  /** Code of the problems of a pattern that cannot work. */
  readonly code: Extract<ProblemCode, 'InvalidAction' | 'InvalidMap'>
}

/** Returns the problems of a pattern that was parsed. */
export function patternProblems(pattern: Pattern, place: PatternPlace): readonly Problem[] {
  return pattern.flatMap((part) => partProblems(part, place))
}

/** Returns the problem of a url-pattern that begins with a scheme that no browser may open. */
export function schemeProblem([first]: Pattern, { field, code }: PatternPlace): readonly Problem[] {
  const scheme = first?.source === 'literal' ? /^\s*([a-z][a-z0-9+.-]*):/i.exec(first.text)?.[1] : undefined
  if (scheme === undefined || /^https?$/i.test(scheme)) return []
  return [{ code, field, message: `addresses must begin with http://, https:// or /, not ${scheme}:` }]
}

function partProblems(part: PatternPart, place: PatternPlace): readonly Problem[] {
  const { field, map, inputs, code } = place
  const problem = (message: string): Problem => ({ code, field, message })
  // Another map that the resource has may define it; only the merge knows.
  const missing = (type: PartType, name: string): readonly Problem[] =>
    ownValue(map.parts[type], name) === undefined
      ? [{ code: 'UnknownReference', field, message: `this map has no ${singular[type]} "${name}"` }]
      : []
  switch (part.source) {
    case 'none':
      return [problem(`"${part.raw}" has no source and stays unresolved; write $$ for a "$"`)]
    case 'input':
      return inputs === undefined || inputs.has(part.name)
        ? []
        : [problem(`"${part.raw}": the form of the action has no field "${part.name}"`)]
    case 'var':
      return part.default === undefined ? missing('variables', part.name) : []
    case 'snippet':
      return [...missing('snippets', part.name), ...part.args.flatMap((argument) => patternProblems(argument, place))]
    case 'func':
      return [
        ...functionProblems(part.name, part.args, problem),
        ...part.args.flatMap((argument) => patternProblems(argument, place)),
      ]
    default:
      return []
  }
}

const singular: Readonly<Record<PartType, string>> = { inputs: 'inputs', variables: 'variable', snippets: 'snippet' }

function functionProblems(
  name: string,
  args: readonly Pattern[],
  problem: (message: string) => Problem,
): readonly Problem[] {
  if (!functionNames.includes(name))
    return [problem(`unknown function "${name}"; the functions are ${functionNames.join(', ')}`)]
  if (name !== 'kubectlGet') return []
  const literals = args.map((argument) => argument.map((part) => (part.source === 'literal' ? part.text : undefined)))
  // Arguments that a resource gives may be anything.
  if (literals.some((argument) => argument.includes(undefined))) return []
  try {
    checkKubectlGet(literals.map((argument) => argument.join('')))
    return []
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    return [problem(error.message)]
  }
}
