// Navigation in a schema: following $ref, and from a value to the schema of its field.
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/** Returns a structural schema (of a CRD) as a TypeSchema: it has no references. */
export function structuralSchema(root: SchemaNode): TypeSchema {
  return { root, resolve: () => undefined }
}

/** Returns the node, or the target of its `$ref`; an unknown reference allows anything. */
export function resolveNode(node: SchemaNode, schema: TypeSchema): SchemaNode {
  return node.$ref === undefined ? node : (schema.resolve(node.$ref) ?? anything)
}

const anything: SchemaNode = { 'x-kubernetes-preserve-unknown-fields': true }

/** Returns the schema that `properties` has for a field; undefined when it has none. */
export function propertyOf(node: SchemaNode, key: string): SchemaNode | undefined {
  return node.properties !== undefined && Object.hasOwn(node.properties, key) ? node.properties[key] : undefined
}

/** Returns the schema of `additionalProperties`; undefined when it is absent or a boolean. */
export function additionalOf(node: SchemaNode): SchemaNode | undefined {
  return typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined
}

/** Returns the default of a node; one beside a `$ref` overrides that of the target. */
export function defaultOf(node: SchemaNode, resolved: SchemaNode): SchemaNode['default'] {
  return node.default ?? resolved.default ?? undefined
}

/** Appends a field to a path, as field errors and warnings write it: `a.b`, or `a` at the root. */
export function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}
