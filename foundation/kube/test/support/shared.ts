// Where the facts of ../shared are, for the tests that read them.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject, JsonValue, SchemaNode, TypeSchema } from '@fairlead/kube'
import { parseJson } from '@fairlead/kube'

const folder = process.env['FAIRLEAD_SHARED'] ?? join(import.meta.dirname, '../../../../../shared')

/** The facts are not there: tests that need them are skipped, with one line that says so. */
export const sharedIsAbsent = !existsSync(folder)
if (sharedIsAbsent) console.log(`skipped: tests that read ${folder} (set FAIRLEAD_SHARED)`)

export function readShared(...path: string[]): string {
  return readFileSync(join(folder, ...path), 'utf8')
}

export function readSharedJson(...path: string[]): JsonValue {
  return parseJson(readShared(...path))
}

export function sharedPath(...path: string[]): string {
  return join(folder, ...path)
}

export interface RecordedStep {
  readonly kind: string
  readonly request?: {
    readonly method: string
    readonly path: string
    readonly headers?: Record<string, string>
    readonly body?: JsonValue
    readonly rawBody?: string
  }
  readonly response?: { readonly status: number; readonly body?: JsonObject }
}

export interface Recording {
  readonly name: string
  readonly steps: readonly RecordedStep[]
}

/** The scenarios of an area; none without the facts, because the body of a skipped `describe` runs too. */
export function recordings(area: string): readonly Recording[] {
  if (sharedIsAbsent) return []
  return readSharedJson('kubernetes', 'recordings', `${area}.json`) as unknown as readonly Recording[]
}

interface SchemaFile {
  readonly kinds: Record<string, Record<string, string>>
  readonly schemas: Record<string, SchemaNode>
}

let schemaFile: SchemaFile | undefined

/** The schema of a built-in kind. */
export function builtInSchema(apiVersion: string, kind: string): TypeSchema {
  schemaFile ??= readSharedJson('kubernetes', 'schemas.json') as unknown as SchemaFile
  const { kinds, schemas } = schemaFile
  return { root: schemas[kinds[apiVersion]![kind]!]!, resolve: (name) => schemas[name] }
}
