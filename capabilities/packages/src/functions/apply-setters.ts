// apply-setters: sets the values of fields with setter comments.
import type { Node, Pair, Scalar, YAMLSeq } from 'yaml'
import { isSeq, parseDocument } from 'yaml'
import type { FunctionResult } from '../engine/function-runner.ts'
import { scalarText } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import { ConfigError, configData } from './config.ts'
import { failed } from './results.ts'
import { derivedValues, listComment, setterName, setterPattern, settersOf } from './setter-comments.ts'
import { plainNode } from './typed-scalar.ts'
import { walkFields } from './yaml-walk.ts'

/** Applies the setters of a ConfigMap. */
export function applySetters({ items, config }: FunctionInput): FunctionOutcome {
  const setters = configData(config)
  const results: FunctionResult[] = []
  try {
    for (const resource of items) {
      const file = { path: resource.location.path ?? '' }
      const report = (path: string, value: string): void => {
        results.push({ message: `set field value to ${JSON.stringify(value)}`, field: { path }, file })
      }
      walkFields(resource.fields, {
        list: (pair, list, path) => setList(pair, list, setters, (value) => report(path, value)),
        scalar: (scalar, path) => setValue(scalar, setters, (value) => report(path, value)),
      })
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return failed(`failed to apply setters: ${error.message}`, error.message)
  }
  return { results: results.length === 0 ? [{ message: 'no matches for input setter(s)' }] : results }
}

function setValue(scalar: Scalar, setters: ReadonlyMap<string, string>, report: (value: string) => void): void {
  const pattern = setterPattern(scalar.comment)
  if (pattern === undefined || !settersOf(pattern).some((reference) => setters.has(setterName(reference)))) return
  const derived = derivedValues(pattern, scalarText(scalar))
  const missing: string[] = []
  const value = pattern.replaceAll(/\$\{[^}]*\}/g, (reference) => {
    const name = setterName(reference)
    const found = setters.get(name) ?? derived.get(name)
    if (found === undefined) missing.push(reference)
    return found ?? reference
  })
  if (missing.length > 0) throw new ConfigError(`values for setters [${missing.join(' ')}] must be provided`)
  plainNode(scalar, value)
  report(value)
}

function setList(
  pair: Pair<Node, Node>,
  list: YAMLSeq,
  setters: ReadonlyMap<string, string>,
  report: (value: string) => void,
): void {
  const comment = listComment(pair, list)
  const pattern = setterPattern(comment)
  if (pattern === undefined || !settersOf(pattern).some((reference) => setters.has(setterName(reference)))) return
  if (settersOf(pattern).length !== 1 || !/^\$\{.*\}$/.test(pattern))
    throw new ConfigError(`invalid setter pattern for array node: ${JSON.stringify(pattern)}`)
  const value = setters.get(setterName(pattern)) ?? ''
  if (value === '') {
    list.items = []
    list.flow = true
    list.comment = comment ?? null
    pair.key.comment = null
  } else {
    const { contents, errors } = parseDocument(value)
    if (errors.length > 0 || !isSeq(contents))
      throw new ConfigError(`input to array setter must be an array of values, but found ${JSON.stringify(value)}`)
    list.items = contents.items
    list.flow = false
    list.comment = null
    pair.key.comment = comment ?? null
  }
  report(value)
}
