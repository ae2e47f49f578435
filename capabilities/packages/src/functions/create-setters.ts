// create-setters: adds setter comments to fields that hold the values of setters.
import type { Node, Pair, YAMLSeq } from 'yaml'
import { isScalar, isSeq, parseDocument } from 'yaml'
import type { FunctionResult } from '../engine/function-runner.ts'
import { scalarText } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import { configData } from './config.ts'
import { goList } from './go-format.ts'
import { failed } from './results.ts'
import { setterComment } from './setter-comments.ts'
import { walkFields } from './yaml-walk.ts'

interface Setters {
  /** Longest value first, so that no value hides one that contains it. */
  readonly scalars: readonly { readonly name: string; readonly value: string }[]
  readonly lists: readonly { readonly name: string; readonly values: readonly string[] }[]
}

/** Creates setter comments for the values of a ConfigMap. */
export function createSetters({ items, config }: FunctionInput): FunctionOutcome {
  const data = configData(config)
  if (data.size === 0) return failure('config map cannot be empty')
  const setters = settersOf(data)
  const results: FunctionResult[] = []
  for (const resource of items) {
    const file = { path: resource.location.path ?? '' }
    const report = (path: string, value: string, comment: string): void => {
      const message = `Added line comment ${JSON.stringify(comment)} for field with value ${JSON.stringify(value)}`
      results.push({ message, field: { path }, file })
    }
    walkFields(resource.fields, {
      list: (pair, list, path) => commentList(pair, list, setters, (value, comment) => report(path, value, comment)),
      scalar: (scalar, path) => {
        const text = scalarText(scalar)
        const pattern = text.includes('\n') ? text : withReferences(text, setters)
        if (pattern === text) return
        scalar.comment = setterComment(pattern)
        report(path, text, `kpt-set: ${pattern}`)
      },
    })
  }
  return results.length === 0 ? failure('no matches for the input list of setters') : { results }
}

function failure(message: string): FunctionOutcome {
  return failed(`failed to create setters: ${message}`, message)
}

function settersOf(data: ReadonlyMap<string, string>): Setters {
  const scalars: { name: string; value: string }[] = []
  const lists: { name: string; values: string[] }[] = []
  for (const [name, value] of data) {
    const { contents } = parseDocument(value)
    if (isSeq(contents)) lists.push({ name, values: valuesOf(contents) })
    else if (value !== '') scalars.push({ name, value })
  }
  return { scalars: scalars.toSorted((a, b) => b.value.length - a.value.length), lists }
}

function valuesOf(list: YAMLSeq): string[] {
  return list.items.map((item) => (isScalar(item) ? scalarText(item) : '')).toSorted()
}

function commentList(
  pair: Pair<Node, Node>,
  list: YAMLSeq,
  { scalars, lists }: Setters,
  report: (value: string, comment: string) => void,
): void {
  const values = valuesOf(list)
  const holdsScalar = values.some((value) => scalars.some((scalar) => value.includes(scalar.value)))
  // The elements of a list in one line cannot have comments of their own.
  if (list.flow === true && holdsScalar) list.flow = false
  const setter = lists.find((candidate) => isEqual(candidate.values, values))
  if (setter === undefined) return
  if (list.flow === true && values.length > 0) list.flow = false
  const pattern = `\${${setter.name}}`
  ;(list.flow === true ? list : pair.key).comment = setterComment(pattern)
  report(goList(values), `kpt-set: ${pattern}`)
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}

/** Replaces the values of setters by references, left to right. */
function withReferences(text: string, { scalars }: Setters): string {
  let pattern = ''
  for (let index = 0; index < text.length;) {
    const setter = scalars.find(({ value }) => text.startsWith(value, index))
    pattern += setter === undefined ? text[index] : `\${${setter.name}}`
    index += setter?.value.length ?? 1
  }
  return pattern
}
