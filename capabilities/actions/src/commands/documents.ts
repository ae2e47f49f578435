// Manifests from files, folders and standard input.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { YamlSyntaxError, asObject, isJsonArray, isJsonObject, parseYamlDocuments } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'

/** A file that cannot be read as manifests. The message begins with the file, and the line where there is one. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
  readonly code = 'InvalidDocument'
}

/** An object and the file that it stands in. */
export interface Document {
  readonly file: string
  readonly object: KubeObject
}

/**
 * The objects of files and folders (`.yaml`, `.yml`, `.json`, folders within them); `-` is standard input. Lists are
 * taken apart. Throws DocumentError.
 */
export async function readDocuments(
  paths: readonly string[],
  stdin: () => Promise<string>,
): Promise<readonly Document[]> {
  const documents: Document[] = []
  for (const path of paths) {
    if (path === '-') documents.push(...parse(await stdin(), 'standard input'))
    else for (const file of filesOf(path)) documents.push(...parse(readFileSync(file, 'utf8'), file))
  }
  return documents
}

/** Files of a path, in name order. Throws DocumentError. */
export function filesOf(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
  } catch (error) {
    throw new DocumentError(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .toSorted()
    .map((name) => join(path, name))
}

/** The objects of a text. Throws DocumentError. */
export function parse(text: string, file: string): readonly Document[] {
  let documents: readonly JsonValue[]
  try {
    documents = parseYamlDocuments(text)
  } catch (error) {
    if (error instanceof YamlSyntaxError)
      throw new DocumentError(`${file}:${error.line}: ${error.message}${hintFor(error.message)}`, { cause: error })
    throw error
  }
  return documents.flatMap((document) => (document === null ? [] : objectsOf(document, file)))
}

/** A wildcard apiVersion without quotes, as the design writes it, reads as an alias. */
function hintFor(message: string): string {
  return /anchor|alias/.test(message) ? `; quote wildcards: apiVersion: '*/*'` : ''
}

function objectsOf(document: JsonValue, file: string): readonly Document[] {
  if (!isJsonObject(document) || typeof document['apiVersion'] !== 'string' || typeof document['kind'] !== 'string') {
    throw new DocumentError(`${file}: every document needs apiVersion and kind`)
  }
  if (isJsonArray(document['items']) && document['kind'].endsWith('List'))
    return document['items'].flatMap((item) => objectsOf(item, file))
  return [{ file, object: asObject({ ...document, metadata: document['metadata'] ?? {} }) }]
}
