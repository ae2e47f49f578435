// Objects from files, for the commands.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { YamlSyntaxError, asObject, isJsonObject, parseYamlDocuments } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'

/** A file cannot be read. The message begins with its name. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
  readonly code = 'UnreadableDocument'
}

/** The objects of files and folders; `-` is standard input. Throws {@link DocumentError}. */
export async function readObjects(paths: readonly string[], stdin: () => Promise<string>): Promise<KubeObject[]> {
  const found: KubeObject[] = []
  for (const path of paths) {
    if (path === '-') found.push(...objectsOf(await stdin(), 'standard input'))
    else for (const file of filesOf(path)) found.push(...objectsOf(textOf(file), file))
  }
  return found
}

/** The objects of one file. Throws {@link DocumentError}. */
export function readFile(path: string): KubeObject[] {
  return objectsOf(textOf(path), path)
}

/** The documents of one file, whatever they are. Throws {@link DocumentError}. */
export function readValues(path: string): JsonValue[] {
  return valuesOf(textOf(path), path)
}

function filesOf(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
  } catch (error) {
    throw new DocumentError(`${path}: ${(error as Error).message}`, { cause: error })
  }
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ya?ml|json)$/.test(name))
    .toSorted()
    .map((name) => join(path, name))
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new DocumentError(`${file}: ${(error as Error).message}`, { cause: error })
  }
}

function objectsOf(text: string, file: string): KubeObject[] {
  return valuesOf(text, file).flatMap((value) => {
    const isObject = isJsonObject(value) && typeof value['apiVersion'] === 'string' && typeof value['kind'] === 'string'
    return isObject ? [asObject({ ...value, metadata: value['metadata'] ?? {} })] : []
  })
}

function valuesOf(text: string, file: string): JsonValue[] {
  try {
    return parseYamlDocuments(text).filter((value) => value !== null)
  } catch (error) {
    if (error instanceof YamlSyntaxError)
      throw new DocumentError(`${file}:${error.line}: ${error.message}`, { cause: error })
    throw error
  }
}
