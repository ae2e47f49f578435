// Files of resources: their documents on the way in, and the file that resources make on the way out.
import type { PackageFiles } from '../package-files.ts'
import { formatDocument } from '../yaml/format.ts'
import { sequenceIndentOf } from '../yaml/sequence-indent.ts'
import { contentOf, joinDocuments, yamlDocuments } from '../yaml/yaml-file.ts'
import { joinPath } from './package-tree.ts'
import type { PackageFolder } from './package-tree.ts'
import { Resource } from './resource.ts'

/** A document without a resource, such as a licence header: kept as it is written. */
export interface CommentDocument {
  /** The number of resources in front of it. */
  readonly before: number
  readonly source: string
}

/** The resources of a package's own files, and what else these files hold. */
export interface LocalResources {
  readonly resources: readonly Resource[]
  /** Comment documents by path below the root package. */
  readonly comments: ReadonlyMap<string, readonly CommentDocument[]>
}

/** Parses the files of a package. @throws PackageError `InvalidYaml` */
export function localResources(folder: PackageFolder, files: PackageFiles): LocalResources {
  const resources: Resource[] = []
  const comments = new Map<string, CommentDocument[]>()
  for (const path of folder.resourceFiles) {
    const full = joinPath(folder.path, path)
    let index = 0
    for (const document of yamlDocuments(full, contentOf(full, files.get(full) ?? ''))) {
      if (document.isEmpty) {
        if (document.source.includes('#'))
          comments.set(full, [...(comments.get(full) ?? []), { before: index, source: document.source }])
        continue
      }
      const location = { packagePath: folder.path, path, index: String(index) }
      resources.push(new Resource(document.nodes, location, sequenceIndentOf(document.source)))
      index += 1
    }
  }
  return { resources, comments }
}

/** Returns the content of a file: resources in the order of their index, comment documents between them. */
export function formatFile(
  path: string,
  resources: readonly Resource[],
  comments: readonly CommentDocument[] = [],
): string {
  const sorted = sortByIndex(resources)
  if (path.endsWith('.json') && sorted.length === 1) return formatJson(sorted[0]!)
  const sources = sorted.map((resource) => formatResource(resource))
  for (const { before, source } of comments.toReversed()) sources.splice(before, 0, source)
  return joinDocuments(sources)
}

/** Returns a resource as YAML, with the list indentation that it was read with. */
export function formatResource(resource: Resource): string {
  const sequenceIndent = resource.sequenceIndent ?? 'compact'
  return resource.format((document) => formatDocument(document, { sequenceIndent }))
}

function formatJson(resource: Resource): string {
  return resource.format((document) => `${JSON.stringify(document.toJS(), null, 2)}\n`)
}

/** Sorts by index; a resource without one comes behind those that have one. */
function sortByIndex(resources: readonly Resource[]): readonly Resource[] {
  if (resources.length < 2) return resources
  return resources.toSorted((a, b) => orderOf(a) - orderOf(b))
}

function orderOf({ location: { index } }: Resource): number {
  return index === undefined || index === '' ? Number.MAX_SAFE_INTEGER : Number(index)
}
