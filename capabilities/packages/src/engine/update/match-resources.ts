// Matching of the resources of base, upstream and local: by identity, in the same file first, else wherever each of the
// three has at most one left, so that files may be renamed and resources moved on either side.
import type { PackageFiles } from '../package-files.ts'
import { PackageError } from '../package-error.ts'
import type { MergeIdentity } from '../merge3/identity.ts'
import { identityKey } from '../merge3/identity.ts'
import type { YamlDocument } from '../yaml/yaml-document.ts'
import { isKptfile, isResourceFile, yamlDocuments } from '../yaml/yaml-file.ts'
import { identityOf, resourceName } from './merge-comments.ts'

/** The versions of a package. */
export type Version = 'base' | 'upstream' | 'local'

const versions: readonly Version[] = ['base', 'upstream', 'local']

/** One resource in up to three versions. */
export interface ResourceMatch {
  readonly identity: MergeIdentity
  base?: YamlDocument
  upstream?: YamlDocument
  local?: YamlDocument
}

/** The resource files of a version: their documents, those of comments alone included. */
export type ResourceFiles = ReadonlyMap<string, readonly YamlDocument[]>

/** Returns the documents of a file; undefined when one of them is no resource. */
export function resourceDocuments(path: string, content: string | Uint8Array | undefined): YamlDocument[] | undefined {
  if (typeof content !== 'string' || !isResourceFile(path) || isKptfile(path)) return undefined
  const documents = yamlDocuments(path, content)
  const areResources = documents.every((document) => identityOf(document) !== undefined || isComment(document))
  return areResources ? documents : undefined
}

/** The document holds comments alone. */
export function isComment({ source }: YamlDocument): boolean {
  return source.split('\n').every((line) => /^\s*(?:#.*)?$/.test(line))
}

/** Returns the paths that hold no resources in at least one version. */
export function opaquePaths(paths: Iterable<string>, files: Readonly<Record<Version, PackageFiles>>): Set<string> {
  const opaque = new Set<string>()
  for (const path of paths)
    for (const version of versions) {
      const content = files[version].get(path)
      if (content !== undefined && resourceDocuments(path, content) === undefined) opaque.add(path)
    }
  return opaque
}

/** @throws PackageError `DuplicateResource` when a file holds a resource twice */
export function matchResources(files: Readonly<Record<Version, ResourceFiles>>): ResourceMatch[] {
  const byIdentity = new Map<string, Map<string, ResourceMatch>>()
  for (const version of versions)
    for (const [path, documents] of files[version])
      for (const document of documents) {
        const identity = identityOf(document)
        if (identity === undefined) continue
        // A kind without names is its file's own.
        const key = identityKey(identity) + (identity.name === '' ? ` ${path}` : '')
        const byPath = byIdentity.get(key) ?? new Map<string, ResourceMatch>()
        byIdentity.set(key, byPath)
        const match = byPath.get(path) ?? { identity }
        byPath.set(path, match)
        if (match[version] !== undefined) throw duplicate(document, identity, version)
        match[version] = document
      }
  return [...byIdentity.values()].flatMap((byPath) => [...joinedMatches([...byPath.values()])])
}

function duplicate(document: YamlDocument, identity: MergeIdentity, version: Version): PackageError {
  const { line, path } = document
  const where = version === 'local' ? 'the local package' : version === 'base' ? 'the base' : 'upstream'
  return new PackageError('DuplicateResource', `found duplicate resource ${resourceName(identity)} in ${where}`, {
    path,
    line,
  })
}

/** Joins the incomplete matches of one identity where no version has two of them. */
function joinedMatches(matches: readonly ResourceMatch[]): readonly ResourceMatch[] {
  if (matches.length === 1) return matches
  const isComplete = (match: ResourceMatch): boolean => versions.every((version) => match[version] !== undefined)
  const loose = matches.filter((match) => !isComplete(match))
  const isUnique = versions.every((version) => loose.filter((match) => match[version] !== undefined).length <= 1)
  if (loose.length < 2 || !isUnique) return matches
  const joined: ResourceMatch = Object.assign({}, ...loose) as ResourceMatch
  return [...matches.filter(isComplete), joined]
}
