// Traversal of a schema and its nested schemas.
import type { JsonSchemaProps } from './definition.ts'

/** Yields the schema and all nested ones, parents first. */
export function* schemasIn(schema: JsonSchemaProps | undefined): Generator<JsonSchemaProps> {
  if (schema === undefined) return
  yield schema
  for (const child of childrenOf(schema)) yield* schemasIn(child)
}

/** Reports whether any nested schema has a property. */
export function someSchema(schema: JsonSchemaProps | undefined, holds: (schema: JsonSchemaProps) => boolean): boolean {
  return schemasIn(schema).some(holds)
}

/** Returns the single item schema, undefined when there is none or a list. */
export function itemsOf(schema: JsonSchemaProps): JsonSchemaProps | undefined {
  return isSchemaList(schema.items) ? undefined : schema.items
}

/** Reports whether `items` is a list of schemas, which no CRD may have. */
export function isSchemaList(items: JsonSchemaProps['items']): items is readonly JsonSchemaProps[] {
  return Array.isArray(items)
}

/** Returns the schema of `additionalProperties`, undefined when it is absent or a boolean. */
export function additionalSchemaOf(schema: JsonSchemaProps): JsonSchemaProps | undefined {
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

function childrenOf(schema: JsonSchemaProps): readonly JsonSchemaProps[] {
  const { items, additionalItems, dependencies } = schema
  return [
    ...(isSchemaList(items) ? items : [items]),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    schema.not,
    ...Object.values(schema.properties ?? {}),
    additionalSchemaOf(schema),
    ...Object.values(schema.patternProperties ?? {}),
    typeof additionalItems === 'object' ? additionalItems : undefined,
    ...Object.values(schema.definitions ?? {}),
    ...Object.values(dependencies ?? {}).map((dependency) =>
      Array.isArray(dependency) ? undefined : (dependency as JsonSchemaProps),
    ),
  ].filter((child) => child !== undefined)
}
