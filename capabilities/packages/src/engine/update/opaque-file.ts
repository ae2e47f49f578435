// Merge of files that hold no resources: each is one value.
import type { MergeConflict } from '../merge3/conflict.ts'

/** Content of a file; undefined where it does not exist. */
export type Content = string | Uint8Array | undefined

/** The contents are the same bytes. */
export function sameContent(a: Content, b: Content): boolean {
  if (a === undefined || b === undefined || (typeof a === 'string' && typeof b === 'string')) return a === b
  return Buffer.from(a).equals(Buffer.from(b))
}

/**
 * Returns the content after an update: upstream's where the local file is as it was, else the local one. A file that
 * both changed is a conflict; it stays as it is locally, for nothing could bring it back.
 */
export function mergeOpaqueFile(
  file: string,
  { base, upstream, local }: { readonly base: Content; readonly upstream: Content; readonly local: Content },
  conflicts: MergeConflict[],
): Content {
  if (sameContent(base, upstream) || sameContent(upstream, local)) return local
  if (sameContent(base, local)) return upstream
  conflicts.push({ file, base: shown(base), ours: shown(local), theirs: shown(upstream), taken: 'local' })
  return local
}

function shown(content: Content): string | undefined {
  return content === undefined || typeof content === 'string' ? content : `(${content.length} bytes)`
}
