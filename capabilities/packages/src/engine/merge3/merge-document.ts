// Three-way merge of one resource.
import type { Document, Node, Pair } from 'yaml'
import { yamlLibrary } from '@fairlead/kube'
import { jsonOf } from '../yaml/json-value.ts'
import { formatDocument } from '../yaml/format.ts'
import type { SequenceIndent } from '../yaml/sequence-indent.ts'
import { sequenceIndentOf } from '../yaml/sequence-indent.ts'
import type { YamlDocument } from '../yaml/yaml-document.ts'
import { isKptfile } from '../yaml/yaml-file.ts'
import type { ConflictPolicy } from './conflict.ts'
import { equalNodes } from './equal-nodes.ts'
import type { FieldConflict } from './merge-nodes.ts'
import { NodeMerge } from './merge-nodes.ts'
import { giveCommentsToFirstKeys } from './three-way-comments.ts'
import type { Shape } from './shape.ts'

/** The outcome of a merge of one document. */
export interface MergedDocument {
  /** The local source, to the byte, where the merge changes nothing. */
  readonly source: string
  readonly conflicts: readonly FieldConflict[]
}

/**
 * Merges one document that exists upstream and locally; both may have added it. A changed document is written in kpt's
 * format, with the list indentation that it had.
 * @throws PackageError `InvalidYaml`
 */
export function mergeDocument(
  base: YamlDocument | undefined,
  upstream: YamlDocument,
  local: YamlDocument,
  shape: Shape,
  policy: ConflictPolicy,
): MergedDocument {
  if (base?.source === upstream.source || upstream.source === local.source)
    return { source: local.source, conflicts: [] }
  const document = nodesOf(local)
  const before = base === undefined ? undefined : nodesOf(base)
  const theirs = nodesOf(upstream)
  // A Kptfile's fields have an order of their own.
  const merge = new NodeMerge({ policy, sortsNewFields: !isKptfile(local.path) })
  const contents = merge.merge(before?.contents, theirs.contents, document.contents, shape, '')
  merge.comments.merge(before, theirs, document)
  const { comments, conflicts } = merge
  if (!comments.hasChanged && equalNodes(contents, nodesOf(local).contents)) return { source: local.source, conflicts }
  document.contents = contents as typeof document.contents
  return { source: formatFor(local.path, document, local.source), conflicts }
}

function nodesOf(document: YamlDocument): Document.Parsed {
  const nodes = withoutAliases(document.parse())
  giveCommentsToFirstKeys(nodes)
  return nodes
}

/** Returns the text of a document for its file: JSON where the name of the file says so. */
function formatFor(path: string, document: Document, source: string): string {
  if (path.endsWith('.json')) return `${JSON.stringify(jsonOf(document.contents, document), undefined, 2)}\n`
  return formatDocument(document, { sequenceIndent: sequenceIndentOf(source) ?? defaultIndent(path) })
}

function defaultIndent(path: string): SequenceIndent {
  return /(?:^|\/)Kptfile$/.test(path) ? 'wide' : 'compact'
}

/** Replaces aliases by copies of their targets: nodes of one document do not see the anchors of another. */
function withoutAliases(document: Document.Parsed): Document.Parsed {
  const { isAlias, isNode, visit } = yamlLibrary()
  const replace = (node: unknown, depth: number): Node | undefined => {
    if (!isAlias(node) || depth > 20) return undefined
    const target = node.resolve(document)?.clone() as Node | undefined
    if (target === undefined) return undefined
    delete (target as { anchor?: string }).anchor
    return target
  }
  let found = false
  visit(document, {
    Alias(_, alias, path) {
      found = true
      return replace(alias, path.length)
    },
  })
  if (found)
    visit(document, {
      Node(_, node) {
        delete (node as { anchor?: string }).anchor
      },
      Pair(_, pair: Pair<unknown, unknown>) {
        if (isNode(pair.value)) delete (pair.value as { anchor?: string }).anchor
      },
    })
  return document
}
