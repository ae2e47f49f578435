// Three-way merge of comments, as kpt does it: a comment that was changed locally stays, any other follows upstream.
// A comment behind a scalar belongs to its value: where upstream's value wins, upstream's comment comes with it.
import type { Document, Node, Pair, Scalar, YAMLMap } from 'yaml'
import { yamlLibrary } from '@fairlead/kube'
import { keyOf } from '../yaml/json-value.ts'

type Comment = string | null | undefined

/** Something with comments: a key, a value or a document. */
interface Commented {
  comment?: Comment
  commentBefore?: Comment
}

/**
 * Gives the comment in front of the first entry of a map to that entry, as for all others. The map of a list element
 * keeps it: it belongs in front of the dash.
 */
export function giveCommentsToFirstKeys(document: Document): void {
  const { isMap, visit } = yamlLibrary()
  const give = (map: YAMLMap): void => {
    const key = map.items[0]?.key as Commented | undefined
    if (key === undefined || map.flow === true || typeof map.commentBefore !== 'string') return
    key.commentBefore =
      typeof key.commentBefore === 'string' ? `${map.commentBefore}\n${key.commentBefore}` : map.commentBefore
    delete map.commentBefore
  }
  if (isMap(document.contents)) give(document.contents)
  visit(document, {
    Pair(_, { value }) {
      if (isMap(value)) give(value)
    },
  })
}

/** Returns the comment that a merge leaves. */
export function mergedComment(base: Comment, upstream: Comment, local: Comment): Comment {
  return (local ?? undefined) === (base ?? undefined) ? upstream : local
}

/** Merges comments into local nodes, and notes whether any changed. */
export class CommentMerge {
  hasChanged = false
  readonly #yaml = yamlLibrary()

  /** Merges the comments in front of and behind a key, a collection or a document. */
  merge(base: Commented | undefined, upstream: Commented, local: Commented): void {
    this.#set(local, 'commentBefore', mergedComment(base?.commentBefore, upstream.commentBefore, local.commentBefore))
    // A merge comment is the package's own: without it a renamed resource would be a stranger.
    if ([upstream, local].some(({ comment }) => typeof comment === 'string' && /^\s*kpt-merge:/.test(comment))) return
    this.#set(local, 'comment', mergedComment(base?.comment, upstream.comment, local.comment))
  }

  /** Merges the comments of values that the merge leaves as they are locally. Lists have none of their own. */
  mergeKept(base: Node | null | undefined, upstream: Node | null | undefined, local: Node | null | undefined): void {
    const { isMap, isScalar } = this.#yaml
    if (isScalar(local) && isScalar(upstream)) this.#mergeScalars(isScalar(base) ? base : undefined, upstream, local)
    if (!isMap(local) || !isMap(upstream)) return
    const before = pairsOf(base)
    const theirs = pairsOf(upstream)
    for (const [name, pair] of pairsOf(local)) {
      const other = theirs.get(name)
      if (other === undefined) continue
      this.merge(before.get(name)?.key, other.key, pair.key)
      this.mergeKept(before.get(name)?.value, other.value, pair.value)
    }
    this.#set(
      local,
      'comment',
      mergedComment((base as Commented | undefined)?.comment, upstream.comment, local.comment),
    )
  }

  #mergeScalars(base: Scalar | undefined, upstream: Scalar, local: Scalar): void {
    // What was changed locally has its own comment.
    if (local.value !== upstream.value) return
    const isNew = base === undefined || base.value !== upstream.value
    this.#set(local, 'comment', isNew ? upstream.comment : mergedComment(base.comment, upstream.comment, local.comment))
  }

  #set(node: Commented, field: 'comment' | 'commentBefore', comment: Comment): void {
    if ((node[field] ?? undefined) === (comment ?? undefined)) return
    node[field] = comment ?? null
    this.hasChanged = true
  }
}

function pairsOf(map: Node | null | undefined): Map<string, Pair<Node, Node | null>> {
  if (!yamlLibrary().isMap(map)) return new Map()
  return new Map((map.items as Pair<Node, Node | null>[]).map((pair) => [keyOf(pair.key), pair]))
}
