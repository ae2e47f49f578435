// list-setters: reports the setters of a package, their values, types, and how many fields use them.
import { isScalar, isSeq, parseDocument } from 'yaml'
import type { Scalar } from 'yaml'
import { mapsAt, scalarText, textAt, textsAt, valueAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'
import { derivedValues, listComment, setterName, setterPattern } from './setter-comments.ts'
import { walkFields } from './yaml-walk.ts'

interface FoundSetter {
  readonly value: string
  type: string
  count: number
}

/** Lists setters; changes nothing. */
export function listSetters({ items }: FunctionInput): FunctionOutcome {
  const setters = new Map<string, FoundSetter>()
  for (const [name, value] of declaredSetters(items)) {
    const values = listValues(value)
    setters.set(name, { value: values ?? value, type: values === undefined ? 'str' : 'array', count: 0 })
  }
  for (const resource of items)
    walkFields(resource.fields, {
      list: (pair, list) => {
        const pattern = setterPattern(listComment(pair, list))
        if (pattern === undefined) return
        const values = list.items.map((item) => (isScalar(item) ? scalarText(item) : '')).toSorted()
        count(setters, setterName(pattern), { value: `[${values.join(', ')}]`, type: 'array', count: 1 })
      },
      scalar: (scalar) => {
        const pattern = setterPattern(scalar.comment)
        if (pattern === undefined) return
        for (const [name, value] of derivedValues(pattern, scalarText(scalar)))
          count(setters, name, { value, type: typeOf(scalar), count: 1 })
      },
    })
  if (setters.size === 0) return { results: [{ message: 'no setters found', severity: 'warning' }] }
  const sorted = [...setters].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    results: sorted.map(([name, setter]) => ({
      message: `Name: ${name}, Value: ${setter.value}, Type: ${setter.type}, Count: ${setter.count}`,
    })),
  }
}

function count(setters: Map<string, FoundSetter>, name: string, found: FoundSetter): void {
  const present = setters.get(name)
  if (present === undefined) {
    setters.set(name, found)
    return
  }
  present.count += 1
  // A type found in a field is more exact than the string of the pipeline.
  if (present.type === 'str') present.type = found.type
}

/** Returns the setters that the root's pipeline gives to apply-setters. */
function declaredSetters(items: readonly Resource[]): ReadonlyMap<string, string> {
  const setters = new Map<string, string>()
  const kptfile = items.find(({ location }) => location.path === 'Kptfile')
  if (kptfile === undefined) return setters
  for (const step of mapsAt(kptfile.fields, 'pipeline', 'mutators')) {
    if (textAt(step, 'image')?.includes('apply-setters') !== true) continue
    const path = textAt(step, 'configPath')
    const source = items.find(({ location }) => location.path === path)
    const values =
      valueAt(step, 'configMap') === undefined && source !== undefined
        ? textsAt(source.fields, 'data')
        : textsAt(step, 'configMap')
    for (const [name, value] of values) setters.set(name, value)
  }
  return setters
}

function listValues(text: string): string | undefined {
  const { contents } = parseDocument(text)
  return isSeq(contents)
    ? `[${contents.items.map((item) => (isScalar(item) ? scalarText(item) : '')).join(', ')}]`
    : undefined
}

function typeOf({ value }: Scalar): string {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'int'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  return value === null ? 'null' : 'str'
}
