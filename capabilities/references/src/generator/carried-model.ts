// Reads a model in the form in which a product carries the shapes that it uses.
import { GeneratorError } from './generator-error.ts'
import type { Operation, ServiceModel, Shape, ShapeField } from './service-model.ts'

type CarriedShape =
  | (Omit<Extract<Shape, { fields: unknown }>, 'fields'> & { readonly fields: Readonly<Record<string, ShapeField>> })
  | Exclude<Shape, { fields: unknown }>

interface CarriedModel {
  readonly operations: Readonly<Record<string, Operation>>
  readonly shapes: Readonly<Record<string, CarriedShape>>
}

const scalars: readonly [string, Shape][] = [
  ['String', { type: 'string' }],
  ['Integer', { type: 'integer' }],
  ['Long', { type: 'integer' }],
  ['Boolean', { type: 'boolean' }],
  ['Double', { type: 'number' }],
  ['Timestamp', { type: 'timestamp' }],
  ['Blob', { type: 'blob' }],
]

/**
 * Reads the JSON of a carried model: `operations` (name -> `{input, output}`) and `shapes` (name -> shape).
 * @throws GeneratorError `InvalidModel`
 */
export function readServiceModel(json: string): ServiceModel {
  const { operations, shapes } = JSON.parse(json) as Partial<CarriedModel>
  if (operations === undefined || shapes === undefined)
    throw new GeneratorError('InvalidModel', 'A carried model has the maps operations and shapes')
  return {
    operations: new Map(Object.entries(operations)),
    shapes: new Map([
      ...scalars,
      ...Object.entries(shapes).map(([name, shape]): [string, Shape] => [
        name,
        'fields' in shape ? { ...shape, fields: new Map(Object.entries(shape.fields)) } : shape,
      ]),
    ]),
  }
}
