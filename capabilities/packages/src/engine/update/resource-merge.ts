// Strategy resource-merge: a three-way merge by package, resource and field.
import type { PackageFiles } from '../package-files.ts'
import type { ConflictPolicy, MergeConflict } from '../merge3/conflict.ts'
import { mergeDocument } from '../merge3/merge-document.ts'
import type { Shape } from '../merge3/shape.ts'
import { definedShapes, resourceShape } from '../merge3/shape.ts'
import type { JsonValue } from '@fairlead/kube'
import type { YamlDocument } from '../yaml/yaml-document.ts'
import { isKptfile, joinDocuments } from '../yaml/yaml-file.ts'
import { mergeKptfile } from './kptfile-update.ts'
import type { ResourceFiles, ResourceMatch, Version } from './match-resources.ts'
import { isComment, matchResources, opaquePaths, resourceDocuments } from './match-resources.ts'
import { identityOf, resourceName, sameDocument } from './merge-comments.ts'
import { mergeOpaqueFile } from './opaque-file.ts'

/** The three versions of the files of one package, without those of the packages below it. */
export type PackageVersions = Readonly<Record<Version, PackageFiles>>

/** Collects the conflicts of an update. */
export interface MergeContext {
  readonly policy: ConflictPolicy
  readonly conflicts: MergeConflict[]
  /** Shapes of the kinds that CRDs of the package define. */
  readonly defined: ReadonlyMap<string, Shape>
}

/** Returns the context of an update: CRDs count wherever they are, upstream's before the local ones. */
export function mergeContext(versions: PackageVersions, policy: ConflictPolicy): MergeContext {
  const definitions: JsonValue[] = []
  for (const files of [versions.base, versions.local, versions.upstream])
    for (const [path, content] of files)
      if (typeof content === 'string' && content.includes('CustomResourceDefinition'))
        for (const document of resourceDocuments(path, content) ?? [])
          if (identityOf(document)?.kind === 'CustomResourceDefinition') definitions.push(document.toJson())
  return { policy, conflicts: [], defined: definedShapes(definitions) }
}

/** Merges the files of one package. @throws PackageError */
export function mergePackage(
  versions: PackageVersions,
  context: MergeContext,
  isRoot: boolean,
): Map<string, string | Uint8Array> {
  const { base, upstream, local } = versions
  const out = new Map<string, string | Uint8Array>()
  const paths = new Set([...local.keys(), ...upstream.keys(), ...base.keys()])
  const opaque = opaquePaths(paths, versions)
  const set = (path: string, content: string | Uint8Array | undefined): void => {
    if (content !== undefined) out.set(path, content)
  }
  for (const path of opaque) {
    const contents = { base: base.get(path), upstream: upstream.get(path), local: local.get(path) }
    set(
      path,
      isKptfile(path)
        ? mergeKptfile(path, contents, context, isRoot)
        : mergeOpaqueFile(path, contents, context.conflicts),
    )
  }
  const resourceFiles = (files: PackageFiles): ResourceFiles =>
    new Map(
      [...files]
        .filter(([path]) => !opaque.has(path))
        .map(([path, content]) => [path, resourceDocuments(path, content)!]),
    )
  const documents = { base: resourceFiles(base), upstream: resourceFiles(upstream), local: resourceFiles(local) }
  const outcomes = matchResources(documents).map((match) => ({ match, source: mergeResource(match, context) }))
  for (const [path, content] of filesOf(outcomes, documents, context)) set(path, content ?? local.get(path))
  return out
}

/** Returns the merged source of one resource; undefined when it goes. */
function mergeResource(match: ResourceMatch, context: MergeContext): string | undefined {
  const { base, upstream, local, identity } = match
  const conflict = (document: YamlDocument, taken: 'local'): void =>
    void context.conflicts.push({
      file: document.path,
      resource: resourceName(identity),
      base: base?.source,
      ours: local?.source,
      theirs: upstream?.source,
      taken,
    })
  if (local === undefined) {
    if (base === undefined) return upstream!.source
    if (upstream !== undefined && !sameDocument(base, upstream)) conflict(base, 'local')
    return undefined
  }
  if (upstream === undefined) {
    if (base === undefined) return local.source
    if (sameDocument(base, local)) return undefined
    conflict(local, 'local')
    return local.source
  }
  const shape = resourceShape(identity.apiVersion, identity.kind, context.defined)
  const merged = mergeDocument(base, upstream, local, shape, context.policy)
  for (const field of merged.conflicts)
    context.conflicts.push({ file: local.path, resource: resourceName(identity), ...field })
  return merged.source
}

interface Outcome {
  readonly match: ResourceMatch
  readonly source: string | undefined
}

/**
 * Lays the resources out in files: local ones where they are, unless upstream alone moved them; new ones behind those
 * of their file. Yields undefined for a file that stays as it is locally.
 */
function* filesOf(
  outcomes: readonly Outcome[],
  documents: Readonly<Record<Version, ResourceFiles>>,
  context: MergeContext,
): Generator<[path: string, content: string | undefined]> {
  const kept = new Map<YamlDocument, string>()
  const added = new Map<string, { readonly source: string; readonly line: number }[]>()
  for (const { match, source } of outcomes) {
    if (source === undefined) continue
    const path = pathOf(match, context)
    if (path === match.local?.path) kept.set(match.local, source)
    else added.set(path, [...(added.get(path) ?? []), { source, line: match.upstream?.line ?? 0 }])
  }
  for (const [path, local] of documents.local) {
    const sources = local.map((document) => (isComment(document) ? document.source : kept.get(document)))
    const more = (added.get(path) ?? []).toSorted((a, b) => a.line - b.line).map(({ source }) => source)
    added.delete(path)
    const isSame = more.length === 0 && sources.every((source, index) => source === local[index]!.source)
    const isEmpty = more.length === 0 && !local.some((document) => kept.has(document)) && !local.every(isComment)
    if (isSame) yield [path, undefined]
    else if (!isEmpty) yield [path, joinDocuments([...sources.filter((source) => source !== undefined), ...more])]
  }
  for (const [path, sources] of added)
    yield [path, joinDocuments(sources.toSorted((a, b) => a.line - b.line).map(({ source }) => source))]
}

/** Returns the file of a resource; a conflict where upstream and local moved it to different ones. */
function pathOf({ base, upstream, local, identity }: ResourceMatch, context: MergeContext): string {
  if (local === undefined) return upstream!.path
  if (base === undefined || upstream === undefined || upstream.path === base.path) return local.path
  if (local.path === base.path || local.path === upstream.path) return upstream.path
  const taken = context.policy === 'local' ? 'local' : 'upstream'
  const [before, ours, theirs] = [base.path, local.path, upstream.path]
  context.conflicts.push({
    file: ours,
    resource: resourceName(identity),
    path: '(file)',
    base: before,
    ours,
    theirs,
    taken,
  })
  return taken === 'local' ? ours : theirs
}
