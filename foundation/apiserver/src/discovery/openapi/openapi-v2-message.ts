// Encodes an OpenAPI v2 document as the message `openapi.v2.Document` of gnostic (github.com/google/gnostic-models,
// openapiv2/OpenAPIv2.proto), in which client-go, Helm and older kubectl read it. Start reading at documentMessage.
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { isJsonObject, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'

/** Returns the message of a document. Keywords that gnostic does not know are left out, as are empty scalars. */
export function documentMessage(document: JsonObject): Uint8Array {
  return encoded(messages.document, document)
}

/** Writes a value as a field with a number. */
type Encode = (writer: BinaryWriter, number: number, value: JsonValue) => void

/** The number and type of the field for each keyword. */
interface Message {
  readonly [keyword: string]: readonly [number, Encode]
}

type MessageName =
  | 'document'
  | 'info'
  | 'apiKey'
  | 'pathItem'
  | 'operation'
  | 'response'
  | 'bodyParameter'
  | 'queryParameter'
  | 'pathParameter'
  | 'primitive'
  | 'schema'
  | 'externalDocs'

/** The entry of {@link Message} for all keywords that begin with `x-`. */
const extensions = 'x-'

const lengthDelimited = 2
const varint = 0
const fixed64 = 1

const string: Encode = (writer, number, value) => {
  if (typeof value === 'string' && value !== '') writer.tag(number, lengthDelimited).string(value)
}
const boolean: Encode = (writer, number, value) => {
  if (value === true) writer.tag(number, varint).bool(true)
}
const int64: Encode = (writer, number, value) => {
  if (Number(value) !== 0) writer.tag(number, varint).int64(String(value))
}
const double: Encode = (writer, number, value) => {
  if (Number(value) !== 0) writer.tag(number, fixed64).double(Number(value))
}

/** A value of any type: as YAML, of which JSON is a part. */
const any: Encode = (writer, number, value) => {
  bytes(writer, number, new BinaryWriter().tag(2, lengthDelimited).string(`${stringifyJson(value)}\n`))
}

/** A repeated field. */
function list(item: Encode): Encode {
  return (writer, number, value) => {
    for (const one of Array.isArray(value) ? value : []) item(writer, number, one)
  }
}

/** A map: a repeated field of names and values. */
function map(item: Encode): Encode {
  return (writer, number, value) => {
    for (const [name, one] of isJsonObject(value) ? Object.entries(value) : []) named(writer, number, name, one, item)
  }
}

/** A message that wraps a value in one of its fields. */
function wrapped(inner: number, item: Encode): Encode {
  return (writer, number, value) => {
    const content = new BinaryWriter()
    item(content, inner, value)
    bytes(writer, number, content)
  }
}

/** A message with fields; a function, because schemas nest. */
function message(fields: () => Message): Encode {
  return (writer, number, value) => {
    if (isJsonObject(value)) writer.tag(number, lengthDelimited).bytes(encoded(fields(), value))
  }
}

/** One of two types. */
function either(isFirst: (value: JsonValue) => boolean, first: Encode, second: Encode): Encode {
  return (writer, number, value) => (isFirst(value) ? first : second)(writer, number, value)
}

function named(writer: BinaryWriter, number: number, name: string, value: JsonValue, item: Encode): void {
  const entry = new BinaryWriter().tag(1, lengthDelimited).string(name)
  item(entry, 2, value)
  bytes(writer, number, entry)
}

function bytes(writer: BinaryWriter, number: number, content: BinaryWriter): void {
  writer.tag(number, lengthDelimited).bytes(content.finish())
}

function encoded(fields: Message, object: JsonObject): Uint8Array {
  const writer = new BinaryWriter()
  for (const [keyword, value] of Object.entries(object)) {
    const field = fields[keyword]
    const extension = fields[extensions]
    if (field !== undefined) field[1](writer, field[0], value)
    else if (extension !== undefined && keyword.startsWith(extensions))
      named(writer, extension[0], keyword, value, extension[1])
  }
  return writer.finish()
}

const schema = message(() => messages.schema)
const primitive = message(() => messages.primitive)
const operation = message(() => messages.operation)
const externalDocs = message(() => messages.externalDocs)
const response = wrapped(
  1,
  message(() => messages.response),
)
const securityRequirement = map(wrapped(1, list(string)))

/** The fields that describe the value of a parameter, numbered from `first` on. */
function valueFields(first: number): Message {
  const fields: readonly (readonly [string, Encode])[] = [
    ['type', string],
    ['format', string],
    ['items', primitive],
    ['collectionFormat', string],
    ['default', any],
    ['maximum', double],
    ['exclusiveMaximum', boolean],
    ['minimum', double],
    ['exclusiveMinimum', boolean],
    ['maxLength', int64],
    ['minLength', int64],
    ['pattern', string],
    ['maxItems', int64],
    ['minItems', int64],
    ['uniqueItems', boolean],
    ['enum', list(any)],
    ['multipleOf', double],
    [extensions, any],
  ]
  return Object.fromEntries(fields.map(([keyword, encode], index) => [keyword, [first + index, encode]]))
}

const parameterFields: Message = {
  required: [1, boolean],
  in: [2, string],
  description: [3, string],
  name: [4, string],
}

/** The field of the message for parameters outside of the body, by place. */
const places: Readonly<Record<string, number>> = { header: 1, formData: 2, query: 3, path: 4 }

const parameter: Encode = (writer, number, value) => {
  if (!isJsonObject(value)) return
  const { in: place } = value
  if (place === 'body')
    return wrapped(
      1,
      wrapped(
        1,
        message(() => messages.bodyParameter),
      ),
    )(writer, number, value)
  const isWide = place === 'query' || place === 'formData'
  const fields = message(() => (isWide ? messages.queryParameter : messages.pathParameter))
  wrapped(1, wrapped(2, wrapped(places[String(place)] ?? places['query']!, fields)))(writer, number, value)
}

const isBoolean = (value: JsonValue): boolean => typeof value === 'boolean'
const oneBoolean: Encode = (writer, number, value) => void writer.tag(number, varint).bool(value === true)

const messages: Readonly<Record<MessageName, Message>> = {
  document: {
    swagger: [1, string],
    info: [2, message(() => messages.info)],
    paths: [8, wrapped(2, map(message(() => messages.pathItem)))],
    definitions: [9, wrapped(1, map(schema))],
    security: [12, list(wrapped(1, securityRequirement))],
    securityDefinitions: [
      13,
      wrapped(
        1,
        map(
          wrapped(
            2,
            message(() => messages.apiKey),
          ),
        ),
      ),
    ],
  },
  info: { title: [1, string], version: [2, string] },
  apiKey: { type: [1, string], name: [2, string], in: [3, string], description: [4, string] },
  pathItem: {
    get: [2, operation],
    put: [3, operation],
    post: [4, operation],
    delete: [5, operation],
    options: [6, operation],
    head: [7, operation],
    patch: [8, operation],
    parameters: [9, list(parameter)],
    [extensions]: [10, any],
  },
  operation: {
    tags: [1, list(string)],
    summary: [2, string],
    description: [3, string],
    externalDocs: [4, externalDocs],
    operationId: [5, string],
    produces: [6, list(string)],
    consumes: [7, list(string)],
    parameters: [8, list(parameter)],
    responses: [9, wrapped(1, map(response))],
    schemes: [10, list(string)],
    deprecated: [11, boolean],
    security: [12, list(wrapped(1, securityRequirement))],
    [extensions]: [13, any],
  },
  response: { description: [1, string], schema: [2, wrapped(1, schema)], [extensions]: [5, any] },
  bodyParameter: {
    description: [1, string],
    name: [2, string],
    in: [3, string],
    required: [4, boolean],
    schema: [5, schema],
    [extensions]: [6, any],
  },
  queryParameter: { ...parameterFields, allowEmptyValue: [5, boolean], ...valueFields(6) },
  pathParameter: { ...parameterFields, ...valueFields(5) },
  primitive: valueFields(1),
  schema: {
    $ref: [1, string],
    format: [2, string],
    title: [3, string],
    description: [4, string],
    default: [5, any],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, boolean],
    minimum: [9, double],
    exclusiveMinimum: [10, boolean],
    maxLength: [11, int64],
    minLength: [12, int64],
    pattern: [13, string],
    maxItems: [14, int64],
    minItems: [15, int64],
    uniqueItems: [16, boolean],
    maxProperties: [17, int64],
    minProperties: [18, int64],
    required: [19, list(string)],
    enum: [20, list(any)],
    additionalProperties: [21, either(isBoolean, wrapped(2, oneBoolean), wrapped(1, schema))],
    type: [22, either(Array.isArray, wrapped(1, list(string)), wrapped(1, string))],
    items: [23, either(Array.isArray, wrapped(1, list(schema)), wrapped(1, schema))],
    allOf: [24, list(schema)],
    properties: [25, wrapped(1, map(schema))],
    discriminator: [26, string],
    readOnly: [27, boolean],
    externalDocs: [29, externalDocs],
    example: [30, any],
    [extensions]: [31, any],
  },
  externalDocs: { description: [1, string], url: [2, string], [extensions]: [3, any] },
}
