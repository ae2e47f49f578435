// CEL declarations of structural schemas: the type of a value, its conversion from JSON, and its maximum size.
import { isJsonArray, isJsonObject, ownValue } from '../own-property.ts'
import type { JsonValue } from '../object.ts'
import { additionalOf, resolveNode } from '../schema/resolve.ts'
import type { SchemaNode, TypeSchema } from '../schema/schema-node.ts'
import { parseDuration } from './library/standard.ts'
import { escapeFieldName } from './field-names.ts'
import type { CelType } from './types.ts'
import { listOf, mapOf, objectOf, types } from './types.ts'
import { CelError } from './errors.ts'
import { MapValue, fromJson, parseTimestamp, withListType } from './values.ts'
import type { CelValue, ListType } from './values.ts'

/** The declaration of a schema node. */
export interface Declaration {
  readonly type: CelType
  /** The maximum number of characters, bytes, elements or fields of a value; undefined for values without a size. */
  readonly maxSize: number | undefined
  /** The minimum number of bytes of a value in a request. */
  readonly minBytes: number
  /** The declaration of list elements or map values. */
  readonly element: Declaration | undefined
  /** The declarations of fields by their escaped names. */
  readonly fields: ReadonlyMap<string, Declaration>
  /** Converts JSON to a value of the type. Strings with an invalid format stay strings: validation reports them. */
  toValue(value: JsonValue): CelValue
}

/** The maximum size of a request, in bytes. */
const maxRequestBytes = 3 * 1024 * 1024

/**
 * Returns the declaration of a node; undefined when expressions cannot access it
 * (`x-kubernetes-preserve-unknown-fields` without a type).
 */
export function declarationOf(
  node: SchemaNode,
  schema: TypeSchema,
  isResource: boolean = false,
): Declaration | undefined {
  return new Declarer(schema).declare(node, isResource)
}

class Declarer {
  readonly #schema: TypeSchema
  readonly #open = new Set<SchemaNode>()
  #objects = 0

  constructor(schema: TypeSchema) {
    this.#schema = schema
  }

  declare(reference: SchemaNode, isResource: boolean): Declaration | undefined {
    const node = resolveNode(reference, this.#schema)
    // Built-in schemas can be recursive; expressions cannot access the recursion.
    if (this.#open.has(node)) return undefined
    this.#open.add(node)
    const declaration = this.#declare(node, isResource || node['x-kubernetes-embedded-resource'] === true)
    this.#open.delete(node)
    return declaration === undefined || node.nullable !== true ? declaration : nullable(declaration)
  }

  #declare(node: SchemaNode, isResource: boolean): Declaration | undefined {
    if (node['x-kubernetes-int-or-string'] === true) {
      return scalar(types.dyn, stringSize(node), 1, fromJson)
    }
    switch (node.type) {
      case 'array':
        return this.#list(node)
      case 'object':
        return this.#object(node, isResource)
      case 'string':
        return stringDeclaration(node)
      case 'boolean':
        return scalar(types.bool, undefined, 4, fromJson)
      case 'integer':
        return scalar(types.int, undefined, 1, (value) =>
          typeof value === 'number' ? BigInt(Math.trunc(value)) : fromJson(value),
        )
      case 'number':
        return scalar(types.double, undefined, 1, (value) =>
          typeof value === 'number' || typeof value === 'bigint' ? Number(value) : fromJson(value),
        )
      default:
        return undefined
    }
  }

  #list(node: SchemaNode): Declaration | undefined {
    const element = node.items && this.declare(node.items, false)
    if (element === undefined) return undefined
    const listType = listTypeOfSchema(node)
    return {
      type: listOf(element.type),
      maxSize: limit(node.maxItems) ?? mostElements(element.minBytes),
      minBytes: 2,
      element,
      fields: new Map(),
      toValue: (value) =>
        isJsonArray(value)
          ? withListType(
              value.map((item) => element.toValue(item)),
              listType,
            )
          : fromJson(value),
    }
  }

  #object(node: SchemaNode, isResource: boolean): Declaration | undefined {
    const additional = additionalOf(node)
    if (additional !== undefined) return this.#map(node, additional)
    if (node.additionalProperties === true) return undefined
    const fields = new Map<string, Declaration>()
    const names = new Map<string, string>()
    let minBytes = 2
    for (const [name, property] of Object.entries({ ...node.properties, ...(isResource ? resourceProperties : {}) })) {
      const escaped = escapeFieldName(name)
      const field = this.declare(property, false)
      if (field === undefined || escaped === undefined) continue
      // Reserved words are valid names after a dot.
      for (const known of new Set([escaped, ...(isIdentifier(name) ? [name] : [])])) {
        fields.set(known, field)
        names.set(known, name)
      }
      const isRequired = node.required?.includes(name) === true && property.default === undefined
      if (isRequired) minBytes += name.length + 4 + field.minBytes
    }
    const fieldTypes = new Map([...fields].map(([name, field]) => [name, field.type]))
    return {
      type: objectOf(`object.${++this.#objects}`, fieldTypes),
      maxSize: undefined,
      minBytes,
      element: undefined,
      fields,
      toValue: (value) => {
        if (!isJsonObject(value)) return fromJson(value)
        const map = new MapValue()
        for (const [escaped, field] of fields) {
          const member = ownValue(value, names.get(escaped)!)
          if (member !== undefined) map.set(escaped, field.toValue(member))
        }
        return map
      },
    }
  }

  #map(node: SchemaNode, additional: SchemaNode): Declaration | undefined {
    const element = this.declare(additional, false)
    if (element === undefined) return undefined
    return {
      type: mapOf(types.string, element.type),
      maxSize: limit(node.maxProperties) ?? mostElements(element.minBytes + 5),
      minBytes: 2,
      element,
      fields: new Map(),
      toValue: (value) => {
        if (!isJsonObject(value)) return fromJson(value)
        return MapValue.of(Object.keys(value).map((key) => [key, element.toValue(ownValue(value, key)!)] as const))
      },
    }
  }
}

function isIdentifier(name: string): boolean {
  return /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name)
}

/** The fields that expressions can access in every resource. */
const resourceProperties: Readonly<Record<string, SchemaNode>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } },
}

function nullable(declaration: Declaration): Declaration {
  return { ...declaration, toValue: (value) => (value === null ? null : declaration.toValue(value)) }
}

function scalar(
  type: CelType,
  maxSize: number | undefined,
  minBytes: number,
  toValue: (value: JsonValue) => CelValue,
): Declaration {
  return { type, maxSize, minBytes, element: undefined, fields: new Map(), toValue }
}

/** Returns a limit of a schema as a number; limits beyond 2^53 are BigInts. */
function limit(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

/** Each element has a comma after it. */
function mostElements(minBytes: number): number {
  return Math.floor((maxRequestBytes - 2) / (minBytes + 1))
}

/** Limits count code points, of up to four bytes each; without a limit a string can fill the request. */
function stringSize(node: SchemaNode): number {
  const most = limit(node.maxLength)
  if (most !== undefined) return most * 4
  const values = (node.enum ?? []).filter((value) => typeof value === 'string')
  if (values.length > 0) return Math.max(...values.map((value) => value.length))
  return maxRequestBytes - 2
}

function stringDeclaration(node: SchemaNode): Declaration {
  const asString =
    (convert: (value: string) => CelValue) =>
    (value: JsonValue): CelValue => {
      if (typeof value !== 'string') return fromJson(value)
      try {
        return convert(value)
      } catch (error) {
        if (error instanceof CelError) return value
        throw error
      }
    }
  switch (node.format) {
    case 'byte':
      return scalar(
        types.bytes,
        limit(node.maxLength) ?? maxRequestBytes - 2,
        2,
        asString((value) => Buffer.from(value, 'base64')),
      )
    case 'duration':
      return scalar(types.duration, 32, 3, asString(parseDuration))
    case 'date':
      return scalar(
        types.timestamp,
        10,
        12,
        asString((value) => parseTimestamp(`${value}T00:00:00Z`)),
      )
    case 'date-time':
      return scalar(types.timestamp, 40, 21, asString(parseTimestamp))
    default:
      return scalar(types.string, stringSize(node), 2, fromJson)
  }
}

function listTypeOfSchema(node: SchemaNode): ListType | undefined {
  const kind = node['x-kubernetes-list-type']
  return kind === 'set' || kind === 'map' ? { kind, keys: node['x-kubernetes-list-map-keys'] ?? [] } : undefined
}
