// The API of a service, as the generator reads it: a small part of what a Smithy model says.
import { GeneratorError } from './generator-error.ts'

/** Smallest and largest length or value; undefined where there is no bound. */
export interface Bounds {
  readonly min?: number
  readonly max?: number
}

/** A field of a structure. */
export interface ShapeField {
  /** Name of its shape. */
  readonly shape: string
  readonly required: boolean
  /** Set for a token that makes a request repeatable. */
  readonly idempotencyToken?: boolean
  /** Plain text. */
  readonly documentation?: string
}

/** A shape: the type of a field, an input or an output. */
export type Shape =
  | { readonly type: 'structure' | 'union'; readonly fields: ReadonlyMap<string, ShapeField> }
  | { readonly type: 'list'; readonly item: string; readonly length?: Bounds; readonly unique?: true }
  | { readonly type: 'map'; readonly value: string }
  | { readonly type: 'string'; readonly enum?: readonly string[]; readonly pattern?: string; readonly length?: Bounds }
  | { readonly type: 'integer'; readonly range?: Bounds }
  | { readonly type: 'number' | 'boolean' | 'timestamp' | 'blob' | 'document' }

/** An operation; input and output are names of shapes. */
export interface Operation {
  readonly input?: string
  readonly output?: string
}

/** The operations and shapes of a service. */
export interface ServiceModel {
  readonly operations: ReadonlyMap<string, Operation>
  readonly shapes: ReadonlyMap<string, Shape>
}

/** Returns a shape. Throws GeneratorError `InvalidModel` for a name that the model does not define. */
export function shapeOf(model: ServiceModel, name: string): Shape {
  const shape = model.shapes.get(name)
  if (shape === undefined) throw new GeneratorError('InvalidModel', `The model does not define the shape ${name}`)
  return shape
}

/** Returns the fields of a structure or union; none for other shapes. */
export function fieldsOf(model: ServiceModel, name: string | undefined): ReadonlyMap<string, ShapeField> {
  if (name === undefined) return new Map()
  const shape = shapeOf(model, name)
  return 'fields' in shape ? shape.fields : new Map()
}
