// Validates maps without a resource: data keys, patterns, and the inputs and snippets that actions refer to.
import { ownValue } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { MapData, asData } from './data/map-data.ts'
import type { MapObject } from './data/map-data.ts'
import type { Problem, ProblemCode } from './data/problem.ts'
import { kamDefsKey } from './embedded-mapping.ts'
import { expressionProblem } from './enablement.ts'
import { actionTypes, parseActionMap } from './maps/action-map.ts'
import type { Action, ActionMap } from './maps/action-map.ts'
import { parseSectionMap } from './maps/section-map.ts'
import { parseStatusMap } from './maps/status-map.ts'
import { PatternError, parsePattern } from './patterns/pattern.ts'
import type { Pattern } from './patterns/pattern.ts'
import { splitCommandLine } from './runs/command-line.ts'
import { parseForm } from './runs/inputs.ts'

const actionKeys = [...actionTypes, 'inputs', 'variables', 'snippets', 'function-actions']
const statusKeys = ['exists', 'jsonpath', 'algorithm']
const sectionKeys = ['sections', 'section-datasources']

/** Returns the problems of a map of any type; its data keys determine the type. */
export function mapProblems(map: MapObject): readonly Problem[] {
  const keys = Object.keys(asData(map.data))
  const has = (some: readonly string[]): boolean => keys.some((key) => some.includes(key))
  return [
    ...(has(actionKeys) ? lintActionMap(map) : []),
    ...(has(statusKeys) ? parseStatusMap({ data: map.data }).problems : []),
    ...(has(sectionKeys) ? parseSectionMap(map).problems : []),
    ...(has([kamDefsKey]) ? keyProblems(map, kamDefsKey) : []),
  ]
}

/** Returns the problems of an action map: unreadable data, and actions that cannot work. */
export function lintActionMap(object: MapObject): readonly Problem[] {
  const map = parseActionMap(object)
  return [
    ...map.problems,
    ...actionTypes.flatMap((type) => map.actions[type].flatMap((action) => lintAction(map, action))),
    ...lintVariables(map),
    ...lintSnippets(map),
  ]
}

function lintAction(map: ActionMap, action: Action): readonly Problem[] {
  const field = `data.${action.type}[${action.name}]`
  const problems: Problem[] = []
  const add = (code: ProblemCode, key: string, message: string): void =>
    void problems.push({ code, field: `${field}.${key}`, message })
  const key = action.type === 'url-actions' ? 'url-pattern' : 'cmd-pattern'
  const pattern = ownValue(action.fields, key)
  if (typeof pattern === 'string') {
    try {
      for (const text of action.type === 'url-actions' ? [pattern] : splitCommandLine(pattern))
        lintPattern(parsePattern(text), (message) => add('InvalidAction', key, message))
    } catch (error) {
      if (!(error instanceof PatternError)) throw error
      add('InvalidAction', key, error.message)
    }
  }
  const expression = ownValue(action.fields, 'enablement-expression')
  const invalid = expression === undefined ? undefined : expressionProblem(expression)
  if (invalid !== undefined) add('InvalidAction', 'enablement-expression', invalid)
  const input = ownValue(action.fields, 'requires-input')
  const form = typeof input === 'string' ? ownValue(map.parts.inputs, input) : undefined
  // The form may come from a less specific map, which only the merge knows.
  if (form !== undefined) problems.push(...lintForm(`data.inputs[${String(input)}]`, String(input), form, map))
  return problems
}

function lintForm(field: string, name: string, form: JsonValue, map: ActionMap): readonly Problem[] {
  try {
    return parseForm(name, form).fields.flatMap((one): readonly Problem[] =>
      one.validator !== undefined &&
      ownValue(map.parts.snippets, one.validator) === undefined &&
      Object.keys(map.parts.snippets).length > 0
        ? [
            {
              code: 'InvalidMap',
              field: `${field}.fields.${one.name}.validator`,
              message: `this map has no snippet "${one.validator}"`,
            },
          ]
        : [],
    )
  } catch (error) {
    return [{ code: 'InvalidMap', field, message: (error as Error).message }]
  }
}

/** Reports segments without a source: they stay unresolved, which is nearly always a mistake. */
function lintPattern(pattern: Pattern, add: (message: string) => void): void {
  for (const part of pattern)
    if (part.source === 'none') add(`"${part.raw}" has no source and stays unresolved; write $$ for a "$"`)
}

function lintVariables({ parts }: ActionMap): readonly Problem[] {
  return Object.entries(parts.variables).flatMap(([name, pattern]): readonly Problem[] => {
    if (typeof pattern !== 'string') return []
    try {
      parsePattern(pattern)
      return []
    } catch (error) {
      if (!(error instanceof PatternError)) throw error
      return [{ code: 'InvalidMap', field: `data.variables[${name}]`, message: error.message }]
    }
  })
}

function lintSnippets({ parts }: ActionMap): readonly Problem[] {
  return Object.entries(parts.snippets).flatMap(([name, source]): readonly Problem[] => {
    const field = `data.snippets[${name}]`
    if (typeof source !== 'string')
      return [
        {
          code: 'InvalidMap',
          field,
          message: 'must be the source of a function, a string',
        },
      ]
    if (!/\bfunction\s+[\p{ID_Start}$_][\p{ID_Continue}$]*\s*\(/u.test(source))
      return [{ code: 'InvalidMap', field, message: 'has no "function name(…)", so there is nothing to call' }]
    return []
  })
}

function keyProblems(map: MapObject, key: string): readonly Problem[] {
  const data = new MapData(map)
  data.object(key)
  return data.problems
}
