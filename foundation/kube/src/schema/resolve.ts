// How the walkers move through a schema: following $ref, and from a value to the schema of its member.
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/** A structural schema (of a CRD) as a TypeSchema: it stands alone, without references. */
export function structuralSchema(root: SchemaNode): TypeSchema {
  return { root, resolve: () => undefined }
}

/** The node itself, or what its `$ref` stands for; an unknown reference reads as "anything". */
export function resolveNode(node: SchemaNode, schema: TypeSchema): SchemaNode {
  return node.$ref === undefined ? node : (schema.resolve(node.$ref) ?? anything)
}

const anything: SchemaNode = { 'x-kubernetes-preserve-unknown-fields': true }

/** The schema that `properties` has for a member; undefined when it names none. */
export function propertyOf(node: SchemaNode, key: string): SchemaNode | undefined {
  return node.properties !== undefined && Object.hasOwn(node.properties, key) ? node.properties[key] : undefined
}

/** The schema of `additionalProperties`; undefined when it is absent or a boolean. */
export function additionalOf(node: SchemaNode): SchemaNode | undefined {
  return typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined
}

/** The default of a node; one beside a `$ref` wins over that of the target. */
export function defaultOf(node: SchemaNode, resolved: SchemaNode): SchemaNode['default'] {
  return node.default ?? resolved.default ?? undefined
}

/** `a.b` and `a`: the path of a member as field errors and warnings write it. */
export function memberPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}
