// Manifests from files, folders and standard input.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { YamlSyntaxError, applySchemaDefaults, asJson, asObject, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, SchemaNode, TypeSchema } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import { crds } from '../generated/crds.ts'

/** A file that cannot be read as manifests. The message begins with the file, and the line where there is one. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
  readonly code = 'InvalidDocument'
}

/** The objects of files and folders (`.yaml`, `.yml`, `.json`); `-` is standard input. Lists are taken apart. Throws DocumentError. */
export async function readDocuments(paths: readonly string[], stdin: () => Promise<string>): Promise<KubeObject[]> {
  const objects: KubeObject[] = []
  for (const path of paths) {
    if (path === '-') objects.push(...parse(await stdin(), 'standard input'))
    else for (const file of filesOf(path)) objects.push(...parse(readFileSync(file, 'utf8'), file))
  }
  return objects
}

/** The MapControllers among objects, with the defaults of their schema. */
export function mapControllersOf(objects: readonly KubeObject[]): MapController[] {
  const found = objects.filter((object) => object.kind === 'MapController' && object.apiVersion === apiVersion)
  return found.map((object) => applySchemaDefaults(asJson(object), schema) as unknown as MapController)
}

/** The schema of MapControllers. */
const schema: TypeSchema = { root: schemaOf(crds), resolve: () => undefined }

function schemaOf([definition]: readonly KubeObject[]): SchemaNode {
  const spec = definition?.spec as
    | { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: SchemaNode } }[] }
    | undefined
  const [version] = spec?.versions ?? []
  if (version === undefined) throw new Error('The definition of MapController has no version')
  return version.schema.openAPIV3Schema
}

function filesOf(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
  } catch (error) {
    throw new DocumentError(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
  return readdirSync(path)
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .toSorted()
    .map((name) => join(path, name))
}

function parse(text: string, file: string): KubeObject[] {
  let documents: JsonValue[]
  try {
    documents = parseYamlDocuments(text)
  } catch (error) {
    if (error instanceof YamlSyntaxError)
      throw new DocumentError(`${file}:${error.line}: ${error.message}`, { cause: error })
    throw error
  }
  return documents.flatMap((document) => (document === null ? [] : objectsOf(document, file)))
}

function objectsOf(document: JsonValue, file: string): KubeObject[] {
  const object = document as JsonObject
  if (typeof object !== 'object' || typeof object.apiVersion !== 'string' || typeof object.kind !== 'string') {
    throw new DocumentError(`${file}: every document needs apiVersion and kind`)
  }
  if (Array.isArray(object.items) && object.kind.endsWith('List'))
    return (object.items as readonly JsonValue[]).flatMap((item) => objectsOf(item, file))
  return [asObject({ ...object, metadata: object.metadata ?? {} })]
}
