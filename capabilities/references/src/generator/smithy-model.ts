// Reads the JSON AST of Smithy 2.0, the form in which AWS publishes its APIs.
import { isJsonArray, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { GeneratorError } from './generator-error.ts'
import type { Bounds, Operation, ServiceModel, Shape, ShapeField } from './service-model.ts'

const scalars: Readonly<Record<string, Shape>> = {
  string: { type: 'string' },
  byte: { type: 'integer' },
  short: { type: 'integer' },
  integer: { type: 'integer' },
  long: { type: 'integer' },
  intEnum: { type: 'integer' },
  bigInteger: { type: 'integer' },
  float: { type: 'number' },
  double: { type: 'number' },
  bigDecimal: { type: 'number' },
  boolean: { type: 'boolean' },
  timestamp: { type: 'timestamp' },
  blob: { type: 'blob' },
  document: { type: 'document' },
}

/** Shapes of Smithy's prelude; names begin with a capital, some with Primitive. */
const prelude: ReadonlyMap<string, Shape> = new Map([
  ...Object.entries(scalars).flatMap(([name, shape]): [string, Shape][] => {
    const capital = `${name[0]?.toUpperCase()}${name.slice(1)}`
    return [
      [capital, shape],
      [`Primitive${capital}`, shape],
    ]
  }),
  ['Unit', { type: 'structure', fields: new Map() }],
])

/** Returns the name of a shape without its namespace. */
function shortName(id: string): string {
  return id.slice(id.indexOf('#') + 1)
}

/**
 * Reads a model.
 * @throws GeneratorError `InvalidModel`
 */
export function readSmithyModel(ast: JsonValue): ServiceModel {
  const shapes = isJsonObject(ast) ? ownValue(ast, 'shapes') : undefined
  if (!isJsonObject(shapes))
    throw new GeneratorError('InvalidModel', 'The model is not a Smithy JSON AST: it has no map of shapes')
  const read = new Map<string, Shape>(prelude)
  const operations = new Map<string, Operation>()
  for (const [id, definition] of Object.entries(shapes)) {
    if (!isJsonObject(definition)) throw new GeneratorError('InvalidModel', `shapes["${id}"] must be a map`)
    const name = shortName(id)
    if (definition['type'] === 'operation') operations.set(name, operationOf(definition))
    else {
      const shape = shapeFrom(definition)
      if (shape !== undefined) read.set(name, shape)
    }
  }
  return { operations, shapes: read }
}

function target(value: JsonValue | undefined): string | undefined {
  const id = isJsonObject(value) ? ownValue(value, 'target') : undefined
  return typeof id === 'string' ? shortName(id) : undefined
}

function operationOf(definition: JsonObject): Operation {
  const [input, output] = [target(definition['input']), target(definition['output'])]
  return {
    ...(input === undefined || input === 'Unit' ? {} : { input }),
    ...(output === undefined || output === 'Unit' ? {} : { output }),
  }
}

function traitsOf(definition: JsonObject): JsonObject {
  const traits = ownValue(definition, 'traits')
  return isJsonObject(traits) ? traits : {}
}

function bounds(value: JsonValue | undefined): Bounds | undefined {
  if (!isJsonObject(value)) return undefined
  const number = (key: string): number | undefined => (typeof value[key] === 'number' ? value[key] : undefined)
  const [min, max] = [number('min'), number('max')]
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
}

function shapeFrom(definition: JsonObject): Shape | undefined {
  const type = definition['type']
  const traits = traitsOf(definition)
  const length = bounds(traits['smithy.api#length'])
  switch (type) {
    case 'structure':
    case 'union':
      return { type, fields: structureFields(definition) }
    case 'list':
    case 'set': {
      const item = target(definition['member'])
      const unique = type === 'set' || Object.hasOwn(traits, 'smithy.api#uniqueItems')
      return item === undefined
        ? undefined
        : { type: 'list', item, ...(length === undefined ? {} : { length }), ...(unique ? { unique } : {}) }
    }
    case 'map': {
      const value = target(definition['value'])
      return value === undefined ? undefined : { type, value }
    }
    case 'enum':
      return { type: 'string', enum: enumValues(definition) }
    case 'string': {
      const pattern = traits['smithy.api#pattern']
      const values = oldEnum(traits['smithy.api#enum'])
      return {
        type,
        ...(values === undefined ? {} : { enum: values }),
        ...(typeof pattern === 'string' ? { pattern } : {}),
        ...(length === undefined ? {} : { length }),
      }
    }
    case 'byte':
    case 'short':
    case 'integer':
    case 'long': {
      const range = bounds(traits['smithy.api#range'])
      return { type: 'integer', ...(range === undefined ? {} : { range }) }
    }
    default:
      return typeof type === 'string' ? scalars[type] : undefined
  }
}

function structureFields(definition: JsonObject): ReadonlyMap<string, ShapeField> {
  const fields = new Map<string, ShapeField>()
  const all = ownValue(definition, 'members')
  for (const [name, field] of Object.entries(isJsonObject(all) ? all : {})) {
    const shape = target(field)
    if (shape === undefined || !isJsonObject(field)) continue
    const traits = traitsOf(field)
    const documentation = traits['smithy.api#documentation']
    fields.set(name, {
      shape,
      required: Object.hasOwn(traits, 'smithy.api#required'),
      ...(Object.hasOwn(traits, 'smithy.api#idempotencyToken') ? { idempotencyToken: true } : {}),
      ...(typeof documentation === 'string' ? { documentation: plainText(documentation) } : {}),
    })
  }
  return fields
}

function enumValues(definition: JsonObject): readonly string[] {
  const all = ownValue(definition, 'members')
  return Object.entries(isJsonObject(all) ? all : {})
    .map(([name, value]) => {
      const given = isJsonObject(value) ? traitsOf(value)['smithy.api#enumValue'] : undefined
      return typeof given === 'string' ? given : name
    })
    .toSorted()
}

/** Returns the values of the enum trait of Smithy 1. */
function oldEnum(value: JsonValue | undefined): readonly string[] | undefined {
  if (!isJsonArray(value)) return undefined
  return value
    .flatMap((one) => (isJsonObject(one) && typeof one['value'] === 'string' ? [one['value']] : []))
    .toSorted()
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'", nbsp: ' ' }

/** Returns the text of HTML documentation: paragraphs as lines, list items with dashes. */
function plainText(html: string): string {
  return html
    .replaceAll(/<li>\s*/g, '\n- ')
    .replaceAll(/<\/(?:p|li|ul|ol|note|important|dd|dt)>|<br\s*\/?>/g, '\n')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(lt|gt|amp|quot|#39|nbsp);/g, (_, name: string) => entities[name] as string)
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter((line) => line !== '' && line !== '-')
    .join('\n')
}
