// Schemas of OpenAPI v3 documents: references point into the document; a reference with siblings is wrapped in `allOf`.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import { namedSchema } from '@fairlead/builtin-kinds'

/** The prefix of schema references in a document. */
export const schemaRoot = '#/components/schemas/'

/** Returns a reference to a schema of the document. */
export function schemaReference(name: string): JsonObject {
  return { $ref: schemaRoot + name }
}

/** Collects built-in schemas with the schemas that they refer to. */
export class SchemaCollector {
  readonly #schemas = new Map<string, JsonValue>()
  readonly #groupVersionKinds: (kind: string) => JsonValue

  /** `groupVersionKinds` lists the group versions of kinds that every version registers (DeleteOptions). */
  constructor(groupVersionKinds: (kind: string) => JsonValue) {
    this.#groupVersionKinds = groupVersionKinds
  }

  /** Adds a built-in schema with the schemas that it refers to. */
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

  /** Adds another schema unchanged. */
  add(name: string, schema: JsonObject): void {
    this.#schemas.set(name, schema)
  }

  /** Returns all schemas by name. */
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

  /** Visits the keywords that contain schemas; a field may have the name of a keyword, such as `default`. */
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
