// Differences between two versions of a package, file by file.
import { unifiedDifference } from '@fairlead/kube'
import type { PackageFiles } from '../package-files.ts'
import { sameContent } from '../update/opaque-file.ts'

/** One changed file; undefined where it does not exist. */
export interface FileChange {
  readonly path: string
  readonly before: string | Uint8Array | undefined
  readonly after: string | Uint8Array | undefined
}

/** Returns the files that differ, in alphabetical order. */
export function fileChanges(before: PackageFiles, after: PackageFiles): FileChange[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .toSorted()
    .map((path) => ({ path, before: before.get(path), after: after.get(path) }))
    .filter((change) => !sameContent(change.before, change.after))
}

/** Returns the changes as a patch: unified differences with the names of the files; '' for none. */
export function formatChanges(
  changes: readonly FileChange[],
  names: { readonly before: string; readonly after: string } = { before: 'a', after: 'b' },
): string {
  return changes.map((change) => formatChange(change, names)).join('')
}

function formatChange(
  { path, before, after }: FileChange,
  names: { readonly before: string; readonly after: string },
): string {
  const from = before === undefined ? '/dev/null' : `${names.before}/${path}`
  const to = after === undefined ? '/dev/null' : `${names.after}/${path}`
  if (typeof (before ?? '') !== 'string' || typeof (after ?? '') !== 'string')
    return `Binary files ${from} and ${to} differ\n`
  return `--- ${from}\n+++ ${to}\n${unifiedDifference(linesOf(before), linesOf(after))}`
}

function linesOf(content: string | Uint8Array | undefined): string[] {
  if (content === undefined || content === '') return []
  const lines = String(content).split('\n')
  if (lines.at(-1) === '') return lines.slice(0, -1)
  return [...lines.slice(0, -1), `${lines.at(-1)}\n\\ No newline at end of file`]
}
