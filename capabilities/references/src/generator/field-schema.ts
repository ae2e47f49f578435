// The schema of a shape. Beyond ACK: required fields, enums, patterns and bounds of nested fields, too.
import { compileRegex } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { GeneratorError } from './generator-error.ts'
import { fieldName } from './names.ts'
import type { Bounds, ServiceModel, ShapeField } from './service-model.ts'
import { shapeOf } from './service-model.ts'

/** A schema under construction. */
export type Schema = { [keyword: string]: JsonValue }

/** Options of {@link SchemaMaker}. */
export interface SchemaOptions {
  readonly model: ServiceModel
  /** Package name of the service, for descriptions. */
  readonly service: string
  /** Emits what values must meet; left out for a status, whose values the service may extend at any time. */
  readonly constraints: boolean
}

/** Patterns longer than this are left to the service. */
const longestPattern = 1000

/** Makes schemas of one section of a kind. */
export class SchemaMaker {
  readonly #options: SchemaOptions

  constructor(options: SchemaOptions) {
    this.#options = options
  }

  /**
   * Returns the schema of a field with its description; where the model has none, it says where the field comes from.
   * @throws GeneratorError `CyclicShape`
   */
  ofField(name: string, { shape, documentation }: ShapeField, origin: string): Schema {
    return { description: documentation || this.#description(origin), ...this.#ofShape(shape, name, []) }
  }

  #description(origin: string): string {
    return `Field ${origin} in the API of ${this.#options.service}.`
  }

  #ofShape(name: string, path: string, outer: readonly string[]): Schema {
    if (outer.includes(name))
      throw new GeneratorError(
        'CyclicShape',
        `${path}: cyclic type reference: ${[...outer.slice(outer.indexOf(name)), name].join(' -> ')}; cut it with ignore.field_paths`,
      )
    const { model, constraints } = this.#options
    const shape = shapeOf(model, name)
    const inner = [...outer, name]
    switch (shape.type) {
      case 'structure':
      case 'union':
        // An empty structure says by its presence which choice was made.
        if (shape.fields.size === 0) return { type: 'object', additionalProperties: { type: 'string' } }
        return this.#structure(shape.type, shape.fields, path, inner)
      case 'list': {
        const items = this.#ofShape(shape.item, `${path}[]`, inner)
        return {
          type: 'array',
          items,
          ...(constraints ? bounds(shape.length, 'minItems', 'maxItems') : {}),
          ...(constraints && shape.unique === true && isScalar(items) ? { 'x-kubernetes-list-type': 'set' } : {}),
        }
      }
      case 'map':
        return { type: 'object', additionalProperties: this.#ofShape(shape.value, `${path}{}`, inner) }
      case 'string':
        return {
          type: 'string',
          ...(constraints && shape.enum !== undefined ? { enum: [...shape.enum] } : {}),
          ...(constraints ? pattern(shape.pattern) : {}),
          ...(constraints ? bounds(shape.length, 'minLength', 'maxLength') : {}),
        }
      case 'integer':
        return { type: 'integer', format: 'int64', ...(constraints ? bounds(shape.range, 'minimum', 'maximum') : {}) }
      case 'number':
      case 'boolean':
        return { type: shape.type }
      case 'timestamp':
        return { type: 'string', format: 'date-time' }
      case 'blob':
        return { type: 'string', format: 'byte' }
      case 'document':
        return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    }
  }

  #structure(
    type: 'structure' | 'union',
    fields: ReadonlyMap<string, ShapeField>,
    path: string,
    inner: readonly string[],
  ): Schema {
    const properties: Schema = {}
    for (const [name, field] of [...fields].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      properties[fieldName(name)] = {
        description: field.documentation || this.#description(`${name} of the type ${inner.at(-1)}`),
        ...this.#ofShape(field.shape, `${path}.${name}`, inner),
      }
    }
    const required = [...fields].filter(([, field]) => field.required).map(([name]) => fieldName(name))
    const names = Object.keys(properties)
    return {
      type: 'object',
      properties,
      ...(this.#options.constraints && required.length > 0 ? { required: required.toSorted() } : {}),
      ...(type === 'union' && this.#options.constraints ? { 'x-kubernetes-validations': [atMostOne(names)] } : {}),
    }
  }
}

function isScalar({ type }: Schema): boolean {
  return type !== 'object' && type !== 'array'
}

function atMostOne(names: readonly string[]): JsonObject {
  const counted = names.map((name) => `has(self.${name})`).join(', ')
  return { rule: `[${counted}].filter(is, is).size() <= 1`, message: `at most one of ${names.join(', ')} must be set` }
}

/** Returns the bounds as keywords; a smallest length of 0 says nothing. */
function bounds(given: Bounds | undefined, min: string, max: string): JsonObject {
  const isLength = min !== 'minimum'
  return {
    ...(given?.min === undefined || (isLength && given.min === 0) ? {} : { [min]: given.min }),
    ...(given?.max === undefined || given.max > Number.MAX_SAFE_INTEGER ? {} : { [max]: given.max }),
  }
}

/** Returns a pattern that Kubernetes can evaluate: one in RE2's syntax. */
function pattern(given: string | undefined): JsonObject {
  if (given === undefined || given.length > longestPattern) return {}
  try {
    compileRegex(given)
    return { pattern: given }
  } catch {
    return {}
  }
}
