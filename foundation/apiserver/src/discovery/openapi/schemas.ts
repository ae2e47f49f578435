// Schemas as OpenAPI v3 documents carry them: references point into the document, a reference with company stands in `allOf`.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import { namedSchema } from '@fairlead/builtin-kinds'

/** Where schemas stand in a document. */
export const schemaRoot = '#/components/schemas/'

/** A reference to a schema of the document. */
export function schemaReference(name: string): JsonObject {
  return { $ref: schemaRoot + name }
}

/** Collects built-in schemas and everything that they refer to. */
export class SchemaCollector {
  readonly #schemas = new Map<string, JsonValue>()
  readonly #groupVersionKinds: (kind: string) => JsonValue

  /** `groupVersionKinds` gives all places where a kind that every version knows is registered (DeleteOptions). */
  constructor(groupVersionKinds: (kind: string) => JsonValue) {
    this.#groupVersionKinds = groupVersionKinds
  }

  /** Adds a built-in schema with what it needs. */
  addBuiltin(name: string): void {
    if (this.#schemas.has(name)) return
    const node = namedSchema(name)
    if (node === undefined) return
    this.#schemas.set(name, null)
    const schema = this.#document(node as unknown as JsonObject)
    const isEverywhere = schema['x-kubernetes-group-version-kind'] === '*'
    const kind = name.slice(name.lastIndexOf('.') + 1)
    this.#schemas.set(
      name,
      isEverywhere ? { ...schema, 'x-kubernetes-group-version-kind': this.#groupVersionKinds(kind) } : schema,
    )
  }

  /** Adds a schema of another origin as it is. */
  add(name: string, schema: JsonObject): void {
    this.#schemas.set(name, schema)
  }

  /** All schemas, by name. */
  get schemas(): JsonObject {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  #document(schema: JsonObject): JsonObject {
    const { $ref, ...rest } = schema
    const others = Object.entries(rest).map(([keyword, value]): [string, JsonValue] => [
      keyword,
      this.#keyword(keyword, value),
    ])
    if (typeof $ref !== 'string') return Object.fromEntries(others)
    this.addBuiltin($ref)
    return others.length === 0
      ? schemaReference($ref)
      : { allOf: [schemaReference($ref)], ...Object.fromEntries(others) }
  }

  /** Schemas stand under few keywords only; a field may well be called `default`. */
  #keyword(keyword: string, value: JsonValue): JsonValue {
    switch (keyword) {
      case 'properties':
        return Object.fromEntries(
          Object.entries(value as JsonObject).map(([field, schema]) => [field, this.#document(schema as JsonObject)]),
        )
      case 'items':
      case 'additionalProperties':
        return isJsonObject(value) ? this.#document(value) : value
      default:
        return value
    }
  }
}
