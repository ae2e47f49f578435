// The shorthand of models in ack.json, read into the generator's own form.
import type { Bounds, Operation, ServiceModel, Shape } from '@fairlead/references/generator'

interface Shorthand {
  readonly operations: Readonly<Record<string, readonly [string, string | null]>>
  readonly shapes: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const scalars: readonly [string, Shape][] = [
  ['String', { type: 'string' }],
  ['Integer', { type: 'integer' }],
  ['Long', { type: 'integer' }],
  ['Boolean', { type: 'boolean' }],
  ['Float', { type: 'number' }],
  ['Double', { type: 'number' }],
  ['Timestamp', { type: 'timestamp' }],
  ['Blob', { type: 'blob' }],
]

function bounds(value: unknown): Bounds | undefined {
  const [min, max] = (value ?? []) as readonly number[]
  return min === undefined || max === undefined ? undefined : { min, max }
}

function shapeFrom(entry: Readonly<Record<string, unknown>>): Shape {
  const [[type, value] = ['', undefined]] = Object.entries(entry)
  const more = (value ?? {}) as { readonly pattern?: string; readonly length?: unknown; readonly range?: unknown }
  if (type === 'structure' || type === 'union') {
    const fields = Object.entries(value as Readonly<Record<string, string>>).map(
      ([name, shape]) => [name.replace(/!$/, ''), { shape, required: name.endsWith('!') }] as const,
    )
    return { type, fields: new Map(fields) }
  }
  if (type === 'list') return { type, item: value as string }
  if (type === 'map') return { type, value: value as string }
  if (type === 'enum') return { type: 'string', enum: value as readonly string[] }
  if (type === 'integer') {
    const range = bounds(more.range)
    return { type, ...(range === undefined ? {} : { range }) }
  }
  if (type !== 'string') throw new Error(`a model has no shape of type ${type}`)
  const length = bounds(more.length)
  return {
    type,
    ...(more.pattern === undefined ? {} : { pattern: more.pattern }),
    ...(length === undefined ? {} : { length }),
  }
}

/** Returns the model of a case. */
export function modelOf({ operations, shapes }: Shorthand): ServiceModel {
  return {
    operations: new Map(
      Object.entries(operations).map(([name, [input, output]]): [string, Operation] => [
        name,
        output === null ? { input } : { input, output },
      ]),
    ),
    shapes: new Map([
      ...scalars,
      ...Object.entries(shapes).map(([name, entry]): [string, Shape] => [name, shapeFrom(entry)]),
    ]),
  }
}
