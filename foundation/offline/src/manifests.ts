// Reads manifests: the Kubernetes objects of files, folders and standard input. Start with readManifests.
import { ObjectMetaError, asObject, decodeObjectMeta, isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { Document, SyntaxHint } from './documents.ts'
import { parseDocuments, readDocuments } from './documents.ts'
import { ManifestError } from './manifest-error.ts'

/** An object and where it was read. */
export interface Manifest {
  readonly file: string
  /** Line where its document begins, from 1. Items of a List have the line of the List. */
  readonly line: number
  readonly object: KubeObject
}

/** Options of {@link readManifests}. */
export interface ReadOptions {
  /** Reads standard input, for the path `-`; called at most once. */
  readonly stdin: () => Promise<string>
  readonly hint?: SyntaxHint
}

/**
 * Returns the objects of files and folders; `-` is standard input. Lists (v1 List and every kind ending in List that
 * has items) are taken apart.
 * @throws ManifestError when a path does not exist, and for every document that is neither null nor an object with
 * apiVersion, kind and metadata of the right types
 */
export async function readManifests(
  paths: readonly string[],
  { stdin, hint }: ReadOptions,
): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = []
  let isStdinRead = false
  for (const path of paths) {
    if (path !== '-') manifests.push(...manifestsOf(readDocuments(path, hint)))
    else if (!isStdinRead) {
      isStdinRead = true
      manifests.push(...manifestsOf(parseDocuments(await stdin(), 'standard input', hint)))
    }
  }
  return manifests
}

/**
 * Returns the objects of documents, Lists taken apart.
 * @throws ManifestError
 */
export function manifestsOf(documents: readonly Document[]): readonly Manifest[] {
  return documents.flatMap(({ file, line, value }) =>
    objectsOf(value, '', (problem) => new ManifestError(file, line, problem)).map((object) => ({ file, line, object })),
  )
}

type Fail = (problem: string) => ManifestError

/** `at` is the path within the document, '' or with a trailing colon and blank. */
function objectsOf(value: JsonValue, at: string, fail: Fail): readonly KubeObject[] {
  if (!isJsonObject(value)) throw fail(`${at}expected an object with apiVersion and kind, found ${describeType(value)}`)
  const { apiVersion, kind } = value
  for (const [field, found] of Object.entries({ apiVersion, kind })) {
    if (found === undefined || found === null || found === '')
      throw fail(`${at}${field} is missing; every object needs apiVersion and kind`)
    if (typeof found !== 'string') throw fail(`${at}${field} must be a string, found ${describeType(found)}`)
  }
  if (!isList(value)) return [asObject({ ...value, metadata: metadataOf(value['metadata'] ?? null, at, fail) })]
  const items = value['items'] ?? []
  if (!isJsonArray(items)) throw fail(`${at}items must be a list, found ${describeType(items)}`)
  return items.flatMap((item, index) =>
    objectsOf(asItem(item, value), `${at.replace(/: $/, '.')}items[${index}]: `, fail),
  )
}

function isList({ apiVersion, kind, items }: JsonObject): boolean {
  return (kind === 'List' && apiVersion === 'v1') || (String(kind).endsWith('List') && isJsonArray(items ?? null))
}

/** Items of a typed list may leave out their type, as in the API server's responses. */
function asItem(item: JsonValue, { apiVersion, kind }: JsonObject): JsonValue {
  const itemKind = String(kind).replace(/List$/, '')
  return isJsonObject(item) && itemKind !== '' && item['kind'] === undefined && item['apiVersion'] === undefined
    ? { apiVersion: apiVersion!, kind: itemKind, ...item }
    : item
}

const strings = ['name', 'generateName', 'namespace', 'uid', 'resourceVersion']

/** Fields that are null are left out, as the API server's decoder does; unknown fields are kept. */
function metadataOf(metadata: JsonValue, at: string, fail: Fail): JsonObject {
  if (metadata === null) return {}
  if (!isJsonObject(metadata)) throw fail(`${at}metadata must be a map, found ${describeType(metadata)}`)
  const fields = Object.entries(metadata).filter(([, value]) => value !== null)
  for (const [field, value] of fields) {
    if (strings.includes(field) && typeof value !== 'string')
      throw fail(`${at}metadata.${field} must be a string, found ${describeType(value)}`)
    if (field === 'labels' || field === 'annotations') checkStringMap(value, `${at}metadata.${field}`, fail)
  }
  try {
    decodeObjectMeta(metadata)
  } catch (error) {
    if (error instanceof ObjectMetaError) throw fail(`${at}metadata: ${error.message}`)
    throw error
  }
  return Object.fromEntries(fields)
}

function checkStringMap(value: JsonValue, path: string, fail: Fail): void {
  if (!isJsonObject(value)) throw fail(`${path} must be a map of strings, found ${describeType(value)}`)
  for (const [key, entry] of Object.entries(value))
    if (typeof entry !== 'string' && entry !== null)
      throw fail(`${path}[${key}] must be a string, found ${describeType(entry)}; write it in quotes`)
}

/** `a number`, `a list`. */
function describeType(value: JsonValue): string {
  if (value === null) return 'null'
  if (isJsonArray(value)) return 'a list'
  switch (typeof value) {
    case 'bigint':
    case 'number':
      return 'a number'
    case 'object':
      return 'a map'
    default:
      return `a ${typeof value}`
  }
}
