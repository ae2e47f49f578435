// Schemas of built-in kinds, from the conformance data.
import type { SchemaNode, TypeSchema } from '@fairlead/kube'
import { readDataJson } from '../../../../test/support/conformance-data.ts'

interface SchemaFile {
  readonly kinds: Record<string, Record<string, string>>
  readonly schemas: Record<string, SchemaNode>
}

let schemaFile: SchemaFile | undefined

/** Returns the schema of a built-in kind. */
export function builtInSchema(apiVersion: string, kind: string): TypeSchema {
  schemaFile ??= readDataJson('kubernetes', 'schemas.json') as unknown as SchemaFile
  const { kinds, schemas } = schemaFile
  return { root: schemas[kinds[apiVersion]![kind]!]!, resolve: (name) => schemas[name] }
}
