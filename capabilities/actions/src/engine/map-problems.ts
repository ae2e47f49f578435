// Validates maps without a resource: data keys, patterns, and the inputs and snippets that actions refer to.
import { isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { MapData, asData } from './data/map-data.ts'
import type { MapObject } from './data/map-data.ts'
import type { Problem } from './data/problem.ts'
import { kamDefsKey } from './embedded-mapping.ts'
import { expressionProblem } from './enablement.ts'
import { actionFieldProblems, formFieldProblems } from './field-problems.ts'
import { actionTypes, parseActionMap } from './maps/action-map.ts'
import type { Action, ActionMap } from './maps/action-map.ts'
import { parseSectionMap } from './maps/section-map.ts'
import { parseStatusMap } from './maps/status-map.ts'
import { PatternError, parsePattern } from './patterns/pattern.ts'
import { patternProblems, schemeProblem } from './pattern-problems.ts'
import type { PatternPlace } from './pattern-problems.ts'
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
    ...lintForms(map),
    ...lintVariables(map),
    ...lintSnippets(map),
  ]
}

function lintAction(map: ActionMap, action: Action): readonly Problem[] {
  const field = `data.${action.type}[${action.name}]`
  const problems: Problem[] = [...actionFieldProblems(action)]
  const input = ownValue(action.fields, 'requires-input')
  const form = typeof input === 'string' ? ownValue(map.parts.inputs, input) : undefined
  const key = action.type === 'url-actions' ? 'url-pattern' : 'cmd-pattern'
  const pattern = ownValue(action.fields, key)
  if (typeof pattern === 'string') {
    const place: PatternPlace = {
      field: `${field}.${key}`,
      map,
      // The form may come from a less specific map, which only the merge knows.
      inputs: input === undefined ? new Set() : form === undefined ? undefined : fieldNames(form),
      code: 'InvalidAction',
    }
    problems.push(...lintPattern(pattern, action, place))
  }
  const expression = ownValue(action.fields, 'enablement-expression')
  const invalid = expression === undefined ? undefined : expressionProblem(expression)
  if (invalid !== undefined)
    problems.push({ code: 'InvalidAction', field: `${field}.enablement-expression`, message: invalid })
  if (form === undefined && typeof input === 'string' && input !== '')
    problems.push({
      code: 'UnknownReference',
      field: `${field}.requires-input`,
      message: `this map has no inputs "${input}"`,
    })
  return problems
}

function lintPattern(pattern: string, { type }: Action, place: PatternPlace): readonly Problem[] {
  try {
    if (type === 'cmd-actions')
      return splitCommandLine(pattern).flatMap((argument) => patternProblems(parsePattern(argument), place))
    const parsed = parsePattern(pattern)
    return [...schemeProblem(parsed, place), ...patternProblems(parsed, place)]
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    return [{ code: place.code, field: place.field, message: error.message }]
  }
}

function fieldNames(form: JsonValue): ReadonlySet<string> | undefined {
  const fields = isJsonObject(form) ? ownValue(form, 'fields') : undefined
  return isJsonObject(fields) ? new Set(Object.keys(fields)) : undefined
}

/** Checks the forms that actions of the map require, each once. */
function lintForms(map: ActionMap): readonly Problem[] {
  const required = actionTypes.flatMap((type) =>
    map.actions[type].map(({ fields }) => ownValue(fields, 'requires-input')),
  )
  return [...new Set(required)].flatMap((name) => {
    const form = typeof name === 'string' ? ownValue(map.parts.inputs, name) : undefined
    return form === undefined ? [] : lintForm(`data.inputs[${String(name)}]`, String(name), form, map)
  })
}

function lintForm(field: string, name: string, form: JsonValue, map: ActionMap): readonly Problem[] {
  try {
    const hasSnippets = Object.keys(map.parts.snippets).length > 0
    const validators = parseForm(name, form).fields.flatMap((one): readonly Problem[] =>
      hasSnippets && one.validator !== undefined && ownValue(map.parts.snippets, one.validator) === undefined
        ? [
            {
              code: 'InvalidMap',
              field: `${field}.fields.${one.name}.validator`,
              message: `this map has no snippet "${one.validator}"`,
            },
          ]
        : [],
    )
    return [...formFieldProblems(field, form), ...validators]
  } catch (error) {
    return [{ code: 'InvalidMap', field, message: (error as Error).message }]
  }
}

function lintVariables(map: ActionMap): readonly Problem[] {
  return Object.entries(map.parts.variables).flatMap(([name, pattern]): readonly Problem[] => {
    if (typeof pattern !== 'string') return []
    try {
      // A variable that the user's inputs are part of is used by actions with different forms.
      const place = { field: `data.variables[${name}]`, map, inputs: undefined, code: 'InvalidMap' } as const
      return patternProblems(parsePattern(pattern), place)
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
