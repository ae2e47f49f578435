// Comments that the `yaml` library leaves at other nodes than go-yaml does.
import type { Document } from 'yaml'
import { yamlLibrary } from '@fairlead/kube'

/**
 * Moves the comment behind the colon of a key (`metadata: # kpt-merge: /web`), which the library counts among those in
 * front of the value's first entry, to the key; and a comment directly behind the last entry to the root.
 */
export function attachComments(document: Document.Parsed, source: string): void {
  if (!source.includes('#')) return
  const { isCollection, isScalar, visit } = yamlLibrary()
  const { comment, contents } = document
  if (typeof comment === 'string' && isCollection(contents) && contents.comment === undefined)
    if (!/\n[ \t]*\n(?:[ \t]*#.*\n?)+\s*$/.test(source)) {
      contents.comment = comment
      document.comment = null
    }
  visit(document, {
    Pair(_, pair) {
      const { key, value } = pair
      if (!isScalar(key) || !isCollection(value) || typeof value.commentBefore !== 'string') return
      const end = key.range?.[1]
      if (end === undefined || !/^[ \t]*:[ \t]+(?:[&!][^\s]*[ \t]+)*#/.test(lineFrom(source, end))) return
      const [first, ...rest] = value.commentBefore.split('\n')
      key.comment = first!
      if (rest.length > 0) value.commentBefore = rest.join('\n')
      else delete value.commentBefore
    },
  })
}

/** Returns the comment behind the colon of a key, without `#`. */
export function keyComment(key: unknown): string | undefined {
  const { isScalar } = yamlLibrary()
  return isScalar(key) && typeof key.comment === 'string' ? key.comment : undefined
}

function lineFrom(source: string, start: number): string {
  const end = source.indexOf('\n', start)
  return source.slice(start, end < 0 ? undefined : end)
}
