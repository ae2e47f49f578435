// Splits the API of a resource into spec and status (originals/ack.md §2.3): the input of its creation is the spec, the
// rest of what the creation returns is the status.
import type { FieldConfig, GeneratorConfig, ResourceConfig } from './generator-config.ts'
import { GeneratorError } from './generator-error.ts'
import { classify } from './operations.ts'
import type { ServiceModel, Shape, ShapeField } from './service-model.ts'
import { fieldsOf, shapeOf } from './service-model.ts'

/** A top-level field of a kind: its API name after renaming, and its shape. */
export interface ResourceField {
  readonly name: string
  /** Place of the field in the API, such as `ModelName in the request of CreateModel`. */
  readonly origin: string
  readonly field: ShapeField
  readonly config: FieldConfig | undefined
}

/** One kind to generate. */
export interface Resource {
  /** Name in the API. */
  readonly name: string
  readonly config: ResourceConfig
  readonly spec: readonly ResourceField[]
  readonly status: readonly ResourceField[]
}

const noConfig: ResourceConfig = {
  fields: new Map(),
  inputRenames: new Map(),
  outputRenames: new Map(),
  ignoreIdempotencyToken: false,
  shortNames: [],
  guards: [],
}

/** Returns the model without what the configuration ignores. Throws GeneratorError `InvalidConfig`. */
export function withoutIgnored(model: ServiceModel, config: GeneratorConfig): ServiceModel {
  const operations = new Map([...model.operations].filter(([name]) => !config.ignoredOperations.includes(name)))
  // ACK appends an underscore to shapes whose names could be those of inputs and outputs.
  const ignored = new Set(config.ignoredShapes.map((name) => name.replace(/_$/, '')))
  const shapes = new Map(
    [...model.shapes].map(([name, shape]): [string, Shape] => {
      if (!('fields' in shape)) return [name, shape]
      const kept = [...shape.fields].filter(([field, { shape: of }]) => !ignored.has(of) && !ignored.has(field))
      return [name, { ...shape, fields: new Map(kept) }]
    }),
  )
  for (const path of config.ignoredPaths) removePath({ operations, shapes }, shapes, path)
  return { operations, shapes }
}

function removePath(model: ServiceModel, shapes: Map<string, Shape>, path: string): void {
  const [start = '', ...names] = path.split('.')
  let at = model.shapes.has(start) ? start : (operationShape(model, start) ?? start)
  for (const [index, name] of names.entries()) {
    const holder = structureBehind(model, at)
    // A model of another age may lack what newer ones have to ignore.
    if (holder === undefined) return
    const shape = shapes.get(holder) as Extract<Shape, { fields: unknown }>
    const field = [...shape.fields].find(([one]) => one.toLowerCase() === name.toLowerCase())
    if (field === undefined) return
    if (index === names.length - 1)
      shapes.set(holder, { ...shape, fields: new Map([...shape.fields].filter(([one]) => one !== field[0])) })
    at = field[1].shape
  }
}

/** Returns the shape of `<Operation>Input` or `<Operation>Output`, whatever the model calls it. */
function operationShape({ operations }: ServiceModel, name: string): string | undefined {
  if (name.endsWith('Input')) return operations.get(name.slice(0, -'Input'.length))?.input
  return name.endsWith('Output') ? operations.get(name.slice(0, -'Output'.length))?.output : undefined
}

/** Returns the structure that a shape leads to, through lists and maps. */
function structureBehind(model: ServiceModel, name: string): string | undefined {
  const shape = model.shapes.get(name)
  if (shape === undefined) return undefined
  if (shape.type === 'list') return structureBehind(model, shape.item)
  if (shape.type === 'map') return structureBehind(model, shape.value)
  return 'fields' in shape ? name : undefined
}

interface Creation {
  readonly operation: string
  readonly resource: string
}

function creations(model: ServiceModel, config: GeneratorConfig): readonly Creation[] {
  return [...model.operations.keys()].flatMap((operation) =>
    classify(operation, config)
      .filter(({ type, resource }) => type === 'Create' && !config.ignoredResources.includes(resource))
      .map(({ resource }) => ({ operation, resource })),
  )
}

/** Returns the names in the API of all resources that the model can create. */
export function resourceNames(model: ServiceModel, config: GeneratorConfig): readonly string[] {
  return creations(model, config).map(({ resource }) => resource)
}

/**
 * Returns the kinds of a model: every resource with an operation that creates one, or those that are wanted. What the
 * configuration ignores is to be taken off the model before.
 * @throws GeneratorError `InvalidConfig`
 */
export function resourcesOf(
  model: ServiceModel,
  config: GeneratorConfig,
  wanted?: readonly string[],
): readonly Resource[] {
  const creates = creations(model, config)
  for (const name of wanted ?? [])
    if (!creates.some(({ resource }) => resource === name))
      throw new GeneratorError('InvalidConfig', `The model has no operation that creates ${name}`)
  return creates
    .filter(({ resource }) => wanted === undefined || wanted.includes(resource))
    .toSorted((a, b) => (a.resource < b.resource ? -1 : 1))
    .map(({ operation, resource }) => resourceOf(model, config, operation, resource))
}

function configOf(config: ResourceConfig, name: string): FieldConfig | undefined {
  return [...config.fields].find(([path]) => path.toLowerCase() === name.toLowerCase())?.[1]
}

function resourceOf(model: ServiceModel, all: GeneratorConfig, operation: string, name: string): Resource {
  const config = all.resources.get(name) ?? noConfig
  const { input, output } = model.operations.get(operation) ?? {}
  const { inputWrapper, outputWrapper } = all.operations.get(operation) ?? {}
  const renamed = (
    fields: ReadonlyMap<string, ShapeField>,
    message: 'request' | 'response',
    renames: ReadonlyMap<string, string> = new Map(),
  ): readonly ResourceField[] =>
    [...fields].map(([one, field]) => {
      const to = renames.get(one) ?? one
      return { name: to, origin: `${one} in the ${message} of ${operation}`, field, config: configOf(config, to) }
    })
  const inputFields = renamed(
    fieldsOf(model, wrapped(model, input, inputWrapper)),
    'request',
    config.inputRenames.get(operation),
  ).filter(({ field }) => !config.ignoreIdempotencyToken || field.idempotencyToken !== true)
  const added = addedFields(model, config, [input, output])
  const isIn = (fields: readonly ResourceField[], one: string): boolean =>
    fields.some((field) => field.name.toLowerCase() === one.toLowerCase())
  // A field that is read from another operation may be set as well; it is then in both sections.
  const isReadOnly = ({ config: given }: ResourceField): boolean => given?.readOnly === true && given.from === undefined
  const spec = inputFields.filter((field) => !isReadOnly(field))
  for (const field of added) if (field.config?.readOnly !== true && !isIn(spec, field.name)) spec.push(field)
  const returned = renamed(
    fieldsOf(model, returnedShape(model, output, outputWrapper)),
    'response',
    // A field that is renamed on its way in has the same name on its way out.
    new Map([...(config.inputRenames.get(operation) ?? []), ...(config.outputRenames.get(operation) ?? [])]),
  )
  const readOnly = inputFields.filter(isReadOnly)
  const status: ResourceField[] = []
  const read = added.filter((one) => one.config?.readOnly === true)
  for (const field of [...returned, ...readOnly, ...read]) {
    const isNew = read.includes(field) || !isIn(spec, field.name)
    if (isNew && !isIn(status, field.name) && !isOwnArn(name, field)) status.push(field)
  }
  const byName = (a: ResourceField, b: ResourceField): number => (a.name < b.name ? -1 : 1)
  return { name, config, spec: spec.toSorted(byName), status: status.toSorted(byName) }
}

/** Reports whether a field is the ARN of the resource itself, which is at status.ackResourceMetadata.arn. */
function isOwnArn(resource: string, { name, config }: ResourceField): boolean {
  return config?.arn === true || ['arn', `${resource}arn`.toLowerCase()].includes(name.toLowerCase())
}

/** Returns the shape below a wrapper path, through lists. */
function wrapped(model: ServiceModel, shape: string | undefined, path: string | undefined): string | undefined {
  let at = shape
  for (const name of path?.split('.') ?? []) {
    const holder = at === undefined ? undefined : structureBehind(model, at)
    at = fieldsOf(model, holder).get(name)?.shape
    if (at === undefined)
      throw new GeneratorError('InvalidConfig', `generator.yaml: operations: ${shape} has no field at ${path}`)
  }
  return at === undefined ? undefined : structureBehind(model, at)
}

/** Returns the shape whose fields are the state of a new resource: the only structure of an output is one. */
function returnedShape(model: ServiceModel, output: string | undefined, path: string | undefined): string | undefined {
  if (output === undefined || path !== undefined) return wrapped(model, output, path)
  const [only, ...more] = fieldsOf(model, output).values()
  if (only === undefined || more.length > 0) return output
  return shapeOf(model, only.shape).type === 'structure' ? only.shape : output
}

const goTypes: Readonly<Record<string, string>> = {
  string: 'String',
  bool: 'Boolean',
  int: 'Integer',
  int32: 'Integer',
  int64: 'Long',
  float64: 'Double',
  'time.Time': 'Timestamp',
  bytes: 'Blob',
}

/** Name of a shape that is made for a type in Go's spelling: `[]*string`, `map[string]*string`. */
function shapeOfType(model: ServiceModel, type: string): string {
  const shapes = model.shapes as Map<string, Shape>
  const bare = type.replace(/^\*/, '')
  const made = (shape: Shape): string => {
    shapes.set(`type ${type}`, shape)
    return `type ${type}`
  }
  if (bare.startsWith('[]')) return made({ type: 'list', item: shapeOfType(model, bare.slice(2)) })
  if (bare.startsWith('map[string]'))
    return made({ type: 'map', value: shapeOfType(model, bare.slice('map[string]'.length)) })
  const scalar = goTypes[bare]
  if (scalar !== undefined) return scalar
  if (model.shapes.has(bare)) return bare
  throw new GeneratorError('InvalidConfig', `generator.yaml: there is no type ${type}`)
}

/** Returns the fields that the configuration adds at the top: from another operation, or of a type of its own. */
function addedFields(
  model: ServiceModel,
  config: ResourceConfig,
  own: readonly (string | undefined)[],
): readonly ResourceField[] {
  return [...config.fields].flatMap(([name, field]): ResourceField[] => {
    if (name.includes('.')) return []
    const shape = addedShape(model, field, own)
    if (shape === undefined) return []
    const origin = field.from === undefined ? name : `${field.from.path} of ${field.from.operation}`
    return [{ name, origin, field: { shape, required: false }, config: field }]
  })
}

function addedShape(
  model: ServiceModel,
  config: FieldConfig,
  own: readonly (string | undefined)[],
): string | undefined {
  const { customField, from, type } = config
  const shapes = model.shapes as Map<string, Shape>
  if (type !== undefined) return shapeOfType(model, type)
  if (customField?.listOf !== undefined) {
    const name = `list of ${customField.listOf}`
    shapes.set(name, { type: 'list', item: shapeOfType(model, customField.listOf) })
    return name
  }
  if (customField?.mapOf !== undefined) {
    const name = `map of ${customField.mapOf}`
    shapes.set(name, { type: 'map', value: shapeOfType(model, customField.mapOf) })
    return name
  }
  if (from === undefined) return undefined
  const operation = model.operations.get(from.operation)
  if (operation === undefined)
    throw new GeneratorError(
      'InvalidConfig',
      `generator.yaml: from.operation: the model has no operation ${from.operation}`,
    )
  const sides = config.readOnly ? [operation.output, operation.input] : [operation.input, operation.output]
  for (const side of [...sides, ...own]) {
    const shape = pathShape(model, side, from.path)
    if (shape !== undefined) return shape
  }
  throw new GeneratorError('InvalidConfig', `generator.yaml: from.path: ${from.operation} has no field ${from.path}`)
}

function pathShape(model: ServiceModel, start: string | undefined, path: string): string | undefined {
  let at = start
  for (const name of path.split('.')) {
    const holder = at === undefined ? undefined : structureBehind(model, at)
    at = [...fieldsOf(model, holder)].find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1].shape
  }
  return at
}
