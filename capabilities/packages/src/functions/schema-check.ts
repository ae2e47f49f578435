// Checks a value against a schema of OpenAPI; the messages are kubeconform's.
import type { JsonValue } from '@fairlead/kube'

/** A schema: of Kubernetes' own kinds, where `$ref` names a type, or of a CustomResourceDefinition. */
export interface ValueSchema {
  readonly type?: string
  readonly format?: string
  readonly $ref?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, ValueSchema>>
  readonly items?: ValueSchema
  readonly additionalProperties?: ValueSchema | boolean
  readonly oneOf?: readonly ValueSchema[]
  readonly enum?: readonly JsonValue[]
  readonly nullable?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
}

/** A field that does not fit. */
export interface SchemaIssue {
  readonly path: string
  readonly message: string
}

/** Options of a check. */
export interface SchemaCheckOptions {
  /** Refuses fields that the schema does not have. */
  readonly strict: boolean
  /** Returns the type that a `$ref` names. */
  readonly resolve: (name: string) => ValueSchema | undefined
}

/** Returns the issues of a value, those of a map before those of its fields. */
export function schemaIssues(
  value: JsonValue,
  schema: ValueSchema,
  options: SchemaCheckOptions,
): readonly SchemaIssue[] {
  const issues: SchemaIssue[] = []
  new Check(options, issues).value(value, schema, '', true)
  return issues
}

class Check {
  readonly #options: SchemaCheckOptions
  readonly #issues: SchemaIssue[]

  constructor(options: SchemaCheckOptions, issues: SchemaIssue[]) {
    this.#options = options
    this.#issues = issues
  }

  value(value: JsonValue, given: ValueSchema, path: string, isRequired: boolean): void {
    const schema = this.#resolved(given)
    // A field that need not be there may be null.
    if (value === null && (!isRequired || schema.nullable === true)) return
    const wanted = typesOf(schema)
    const type = typeOf(value)
    if (wanted.length > 0 && !wanted.some((each) => each === type || (each === 'number' && type === 'integer'))) {
      const names = isRequired ? wanted : ['null', ...wanted]
      this.#issues.push({ path, message: `got ${type}, want ${names.join(' or ')}` })
      return
    }
    if (schema.enum !== undefined && !schema.enum.includes(value)) {
      const values = schema.enum.map((each) => (typeof each === 'string' ? `'${each}'` : String(each)))
      this.#issues.push({ path, message: `value must be ${values.length === 1 ? '' : 'one of '}${values.join(', ')}` })
    }
    if (Array.isArray(value)) {
      const { items } = schema
      if (items !== undefined)
        for (const [index, item] of (value as readonly JsonValue[]).entries())
          this.value(item, items, `${path}.${index}`, true)
    } else if (typeof value === 'object' && value !== null)
      this.#map(value as Readonly<Record<string, JsonValue>>, schema, path)
  }

  #map(map: Readonly<Record<string, JsonValue>>, schema: ValueSchema, path: string): void {
    const { properties = {}, required = [], additionalProperties } = schema
    const missing = required.filter((name) => !Object.hasOwn(map, name))
    if (missing.length > 0)
      this.#issues.push({
        path,
        message: `missing ${missing.length === 1 ? 'property' : 'properties'} ${missing.map((name) => `'${name}'`).join(', ')}`,
      })
    const extra = Object.keys(map).filter((name) => !Object.hasOwn(properties, name))
    const isOpen =
      schema.properties === undefined ||
      schema['x-kubernetes-preserve-unknown-fields'] === true ||
      (additionalProperties !== undefined && additionalProperties !== false)
    if (this.#options.strict && !isOpen && extra.length > 0)
      this.#issues.push({
        path,
        message: `additional properties ${extra.map((name) => `'${name}'`).join(', ')} not allowed`,
      })
    for (const name of Object.keys(map).toSorted()) {
      const below = path === '' ? name : `${path}.${name}`
      const field = Object.hasOwn(properties, name)
        ? properties[name]
        : typeof additionalProperties === 'object'
          ? additionalProperties
          : undefined
      if (field !== undefined) this.value(map[name]!, field, below, required.includes(name))
    }
  }

  #resolved(schema: ValueSchema): ValueSchema {
    if (schema.$ref === undefined) return schema
    return this.#options.resolve(schema.$ref) ?? {}
  }
}

function typesOf(schema: ValueSchema): readonly string[] {
  if (schema.format === 'int-or-string' || schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string']
  if (schema.oneOf !== undefined) return schema.oneOf.flatMap(({ type }) => type ?? [])
  return schema.type === undefined ? [] : [schema.type]
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}
