// Converts OpenAPI v3 to v2 ("Swagger"): the same operations and schemas without the features that v2 lacks. The rules
// for custom resources are those of the real server: where v2 would be stricter than v3, the schema is relaxed.
import { isJsonObject, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { schemaRoot } from './schemas.ts'

/** The parts that a group version contributes to the whole document: serialized entries by name. */
export interface SwaggerPart {
  readonly paths: ReadonlyMap<string, string>
  readonly definitions: ReadonlyMap<string, string>
}

const definitionRoot = '#/definitions/'

/** Converts the document of a group version; `isUnstructured`: of resources without Go types. */
export function swaggerPart(document: JsonObject, isUnstructured: boolean): SwaggerPart {
  const { schemas } = document['components'] as { readonly schemas: JsonObject }
  return {
    paths: serialized(document['paths'] as JsonObject, (item) => pathItem(item)),
    definitions: serialized(schemas, (schema, name) =>
      isUnstructured && !name.startsWith('io.k8s.') ? customDefinition(schema) : builtinSchema(schema),
    ),
  }
}

const frame = {
  swagger: '2.0',
  info: { title: 'Kubernetes', version: '1.35' },
  securityDefinitions: {
    BearerToken: { description: 'Bearer Token authentication', type: 'apiKey', name: 'authorization', in: 'header' },
  },
  security: [{ BearerToken: [] }],
}

/** Serializes the whole document; a definition of several group versions is included once. */
export function swaggerText(parts: Iterable<SwaggerPart>): string {
  const paths = new Map<string, string>()
  const definitions = new Map<string, string>()
  for (const part of parts) {
    for (const [path, text] of part.paths) paths.set(path, text)
    for (const [name, text] of part.definitions) definitions.set(name, text)
  }
  const begin = JSON.stringify(frame).slice(0, -1)
  return `${begin},"paths":${joined(paths)},"definitions":${joined(definitions)}}`
}

function serialized(
  entries: JsonObject,
  convert: (entry: JsonObject, name: string) => JsonObject,
): Map<string, string> {
  return new Map(
    Object.entries(entries).map(([name, entry]) => [name, stringifyJson(convert(entry as JsonObject, name))]),
  )
}

function joined(entries: ReadonlyMap<string, string>): string {
  const names = [...entries.keys()].toSorted()
  return `{${names.map((name) => `${JSON.stringify(name)}:${entries.get(name)}`).join(',')}}`
}

function pathItem({ parameters, ...operations }: JsonObject): JsonObject {
  return {
    ...mapValues(operations, (operation) => swaggerOperation(operation as JsonObject)),
    ...(Array.isArray(parameters) ? { parameters: parameters.map((one) => parameter(one as JsonObject)) } : {}),
  }
}

interface Content {
  readonly description?: string
  readonly required?: boolean
  readonly content?: JsonObject
}

function swaggerOperation(operation: JsonObject): JsonObject {
  const { parameters, requestBody, responses, ...rest } = operation
  const body = requestBody as unknown as Content | undefined
  const answers = responses as unknown as Readonly<Record<string, Content>>
  const own = ((parameters ?? []) as readonly JsonObject[]).map(parameter)
  const all = body === undefined ? own : [bodyParameter(body), ...own]
  return {
    ...rest,
    consumes: body === undefined ? ['*/*'] : Object.keys(body.content ?? {}),
    produces: Object.keys(answers['200']?.content ?? answers['201']?.content ?? {}),
    schemes: ['https'],
    ...(all.length === 0 ? {} : { parameters: all }),
    responses: mapValues(answers as unknown as JsonObject, (answer) => {
      const { description = '', content } = answer as unknown as Content
      const schema = schemaOf(content)
      return { description, ...(schema === undefined ? {} : { schema }) }
    }),
  }
}

function bodyParameter({ content, required }: Content): JsonObject {
  const schema = schemaOf(content) ?? {}
  return { name: 'body', in: 'body', ...(required === true ? { required } : {}), schema }
}

/** Returns the schema of a body, which is the same for every media type. */
function schemaOf(content: JsonObject | undefined): JsonObject | undefined {
  const [first] = Object.values(content ?? {})
  return first === undefined ? undefined : builtinSchema((first as { readonly schema: JsonObject }).schema)
}

function parameter({ schema, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...(schema as JsonObject) }
}

/** The keywords that v2 lacks, and `default`, which v2 documents of built-in kinds never had. */
const unknownKeywords: ReadonlySet<string> = new Set(['anyOf', 'default', 'not', 'oneOf', 'nullable'])

function builtinSchema(schema: JsonObject): JsonObject {
  // v2 declares a value of several types as a string.
  const isUnion = schema['type'] === undefined && Array.isArray(schema['oneOf'])
  const { allOf, ...rest } = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !unknownKeywords.has(keyword)),
  )
  return { ...(isUnion ? { type: 'string' } : {}), ...reference(allOf), ...nested(rest, builtinSchema) }
}

/** Unwraps `allOf` around a reference: v2 puts its siblings next to it. */
function reference(allOf: JsonValue | undefined): JsonObject {
  const [only] = Array.isArray(allOf) ? allOf : []
  const { $ref } = (only ?? {}) as JsonObject
  return typeof $ref === 'string' ? { $ref: definitionOf($ref) } : {}
}

function definitionOf(target: string): string {
  return definitionRoot + target.slice(schemaRoot.length)
}

function customDefinition(schema: JsonObject): JsonObject {
  const groupVersionKind = { 'x-kubernetes-group-version-kind': schema['x-kubernetes-group-version-kind'] ?? [] }
  // With declared fields kubectl would reject all others.
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return { type: 'object', ...groupVersionKind }
  return customSchema(schema)
}

function customSchema(schema: JsonObject): JsonObject {
  const { allOf, anyOf: _, oneOf: __, not: ___, nullable, ...kept } = schema
  const out: Record<string, JsonValue> = { ...kept, ...reference(allOf) }
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true
  if (nullable === true || isOpen) {
    delete out['items']
    delete out['properties']
  }
  const isVague = nullable === true || (isOpen && out['type'] === 'object')
  if (isVague || (out['type'] === 'array' && out['items'] === undefined)) delete out['type']
  if (Array.isArray(out['required'])) {
    const { properties } = schema
    const required = out['required'].filter((name) => {
      const property = isJsonObject(properties) ? properties[String(name)] : undefined
      return !(isJsonObject(property) && property['nullable'] === true)
    })
    if (required.length === 0) delete out['required']
    else out['required'] = required
  }
  return nested(out, customSchema)
}

/** Converts the nested schemas of a schema. */
function nested(schema: JsonObject, convert: (schema: JsonObject) => JsonObject): JsonObject {
  return mapValues(schema, (value, keyword) => {
    if (keyword === '$ref') return String(value).startsWith(schemaRoot) ? definitionOf(String(value)) : value
    if (keyword === 'properties') return mapValues(value as JsonObject, (property) => convert(property as JsonObject))
    if ((keyword === 'items' || keyword === 'additionalProperties') && isJsonObject(value)) return convert(value)
    return value
  })
}

function mapValues(object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value as JsonValue, key)]))
}
