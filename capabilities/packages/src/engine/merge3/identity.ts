// Names by which a merge matches documents, read without a parse where a document is written in the usual way.
import { keyOf } from '../yaml/json-value.ts'
import { mergeComment, pairOf } from '../yaml/resource-identity.ts'
import type { YamlDocument } from '../yaml/yaml-document.ts'
import { yamlLibrary } from '@fairlead/kube'

/** The identity of a resource in its upstream: the merge comment's namespace and name where there is one. */
export interface MergeIdentity {
  readonly apiVersion: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  /** Empty for kinds whose files have no name, such as Kustomization. */
  readonly name: string
  readonly hasMergeComment: boolean
}

/** Returns the identity of a document; undefined when it is no resource. @throws PackageError `InvalidYaml` */
export function mergeIdentity(document: YamlDocument): MergeIdentity | undefined {
  return quickIdentity(document.source) ?? parsedIdentity(document)
}

/** Returns `group/Kind/namespace/name` for messages and matching. */
export function identityKey({ group, kind, namespace, name }: MergeIdentity): string {
  return [group, kind, namespace, name].filter((part) => part !== '').join('/')
}

const plain = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$/
const entry = /^( {0,2})([A-Za-z]+):(?: +([^\s#]+))? *(#.*)?$/

/**
 * Reads the fields at the top and below a block `metadata` by their lines. Undefined when anything there is unusual:
 * quoted, indented otherwise, between brackets, missing.
 */
function quickIdentity(source: string): MergeIdentity | undefined {
  const found: Record<string, string> = { namespace: '' }
  let comment: string | undefined
  let hasMetadata = false
  let inMetadata = false
  for (const line of source.split('\n')) {
    const inner = line.startsWith('  ') && line[2] !== ' '
    if (line.startsWith('   ') || (inner && !inMetadata) || line === '') continue
    if (!inner) inMetadata = false
    const [, indent, key, value, note] = entry.exec(line) ?? []
    if (key === undefined) {
      if (/^(?:#| *- | {2}#| {2}[^\s:]+:)|^[A-Za-z][^\s:]*:/.test(line)) continue
      return undefined
    }
    if (indent === '' && key === 'metadata') {
      if (value !== undefined || hasMetadata) return undefined
      hasMetadata = inMetadata = true
      comment = note
      continue
    }
    const isName =
      indent === ''
        ? key === 'apiVersion' || key === 'kind'
        : indent === '  ' && (key === 'name' || key === 'namespace')
    if (!isName) continue
    if (value === undefined || !plain.test(value) || (found[key] ?? '') !== '') return undefined
    found[key] = value
  }
  const { apiVersion, kind, name, namespace } = found
  if (apiVersion === undefined || kind === undefined || name === undefined) return undefined
  return identity(apiVersion, kind, namespace!, name, mergeNames(comment))
}

function parsedIdentity(document: YamlDocument): MergeIdentity | undefined {
  const { root } = document
  if (root === undefined) return undefined
  const { isMap, isScalar } = yamlLibrary()
  const string = (node: unknown): string => (isScalar(node) && node.value !== null ? keyOf(node) : '')
  const apiVersion = string(pairOf(root, 'apiVersion')?.value)
  const kind = string(pairOf(root, 'kind')?.value)
  if (apiVersion === '' || kind === '') return undefined
  const metadata = pairOf(root, 'metadata')?.value
  const field = (name: string): string => (isMap(metadata) ? string(pairOf(metadata, name)?.value) : '')
  return identity(apiVersion, kind, field('namespace'), field('name'), mergeComment(root))
}

function identity(
  apiVersion: string,
  kind: string,
  namespace: string,
  name: string,
  upstream: { namespace: string; name: string } | undefined,
): MergeIdentity {
  const slash = apiVersion.indexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  return { apiVersion, group, kind, namespace, name, ...upstream, hasMergeComment: upstream !== undefined }
}

function mergeNames(comment: string | undefined): { namespace: string; name: string } | undefined {
  const found = comment === undefined ? null : /^#\s*kpt-merge:\s*([^/]*)\/(.*?)\s*$/.exec(comment)
  return found === null ? undefined : { namespace: found[1]!, name: found[2]! }
}
