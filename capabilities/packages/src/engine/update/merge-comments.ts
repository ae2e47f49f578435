// Merge comments: `# kpt-merge: <namespace>/<name>` on the `metadata` line says what a resource is called upstream, so
// that updates find it after it was renamed or moved to another namespace.
import type { PackageFiles } from '../package-files.ts'
import { yamlLibrary } from '@fairlead/kube'
import { PackageError } from '../package-error.ts'
import { identityKey, mergeIdentity } from '../merge3/identity.ts'
import type { MergeIdentity } from '../merge3/identity.ts'
import { upstreamIdentifier } from '../merge3/shape.ts'
import { formatDocument } from '../yaml/format.ts'
import { mapField, setField } from '../yaml/new-node.ts'
import { pairOf } from '../yaml/resource-identity.ts'
import { sequenceIndentOf } from '../yaml/sequence-indent.ts'
import type { YamlDocument } from '../yaml/yaml-document.ts'
import { isKptfile, isResourceFile, joinDocuments, yamlDocuments } from '../yaml/yaml-file.ts'

/**
 * Returns the files with a merge comment on every resource that has none. With `annotate`, as `kpt pkg get` does it,
 * also with the annotation `internal.kpt.dev/upstream-identifier`. Files that hold something else stay as they are.
 */
export function addMergeComments(files: PackageFiles, options: { readonly annotate?: boolean } = {}): PackageFiles {
  const out = new Map(files)
  for (const [path, content] of files) {
    if (typeof content !== 'string' || !isResourceFile(path) || isKptfile(path) || path.endsWith('.json')) continue
    const documents = yamlDocuments(path, content)
    const sources = documents.map((document) => commented(document, options.annotate === true))
    if (sources.some((source, index) => source !== documents[index]!.source)) out.set(path, joinDocuments(sources))
  }
  return out
}

function commented(document: YamlDocument, annotate: boolean): string {
  const identity = identityOf(document)
  if (identity === undefined || identity.name === '') return document.source
  const { namespace, name } = identity
  const source = identity.hasMergeComment
    ? document.source
    : document.source.replace(/^metadata:[ \t]*$/m, () => `metadata: # kpt-merge: ${namespace}/${name}`)
  const annotated = annotate && !source.includes(upstreamIdentifier) ? annotatedSource(document, identity) : undefined
  return annotated ?? source
}

function annotatedSource(document: YamlDocument, identity: MergeIdentity): string {
  const { group, kind, namespace, name } = identity
  const nodes = document.parse()
  const { contents } = nodes
  const { isMap, isScalar, Scalar } = yamlLibrary()
  const metadata = isMap(contents) ? pairOf(contents, 'metadata') : undefined
  if (!isMap(metadata?.value)) return document.source
  if (!identity.hasMergeComment && metadata.value.flow !== true && isScalar(metadata.key))
    metadata.key.comment = ` kpt-merge: ${namespace}/${name}`
  const value = new Scalar([group, kind, namespace === '' ? 'default' : namespace, name].join('|'))
  value.type = 'QUOTE_SINGLE'
  setField(mapField(metadata.value, 'annotations'), upstreamIdentifier, value)
  return formatDocument(nodes, { sequenceIndent: sequenceIndentOf(document.source) })
}

/** Returns the identity of a document; undefined also where it is no YAML. */
export function identityOf(document: YamlDocument): MergeIdentity | undefined {
  try {
    return mergeIdentity(document)
  } catch (error) {
    if (error instanceof PackageError) return undefined
    throw error
  }
}

/**
 * Returns the text of a document by which a change is found: formatted, without merge comment and bookkeeping
 * annotation. The source where it is no YAML.
 */
export function comparableSource(document: YamlDocument): string {
  try {
    const nodes = document.parse()
    const { contents } = nodes
    const { isMap, isScalar } = yamlLibrary()
    const metadata = isMap(contents) ? pairOf(contents, 'metadata') : undefined
    if (isScalar(metadata?.key) && /^\s*kpt-merge:/.test(metadata.key.comment ?? '')) metadata.key.comment = null
    if (isMap(metadata?.value)) {
      const annotations = pairOf(metadata.value, 'annotations')?.value
      if (isMap(annotations) && annotations.delete(upstreamIdentifier) && annotations.items.length === 0)
        metadata.value.delete('annotations')
    }
    return formatDocument(nodes)
  } catch (error) {
    if (error instanceof PackageError) return document.source
    throw error
  }
}

/** Two documents say the same, bookkeeping and layout aside. */
export function sameDocument(a: YamlDocument, b: YamlDocument): boolean {
  return a.source === b.source || comparableSource(a) === comparableSource(b)
}

/** Returns how a resource is called in messages: `apps/Deployment/prod/web`. */
export function resourceName(identity: MergeIdentity): string {
  return identityKey(identity)
}
