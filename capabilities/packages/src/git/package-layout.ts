// The places of package revisions in a repository, as Porch keeps them: drafts and proposed revisions on branches,
// published ones as tags, proposed deletions as branches that only have to exist.
import type { RefCommit } from './repository.ts'

/** The meaning of a ref. Paths are those in the repository. */
export type PackageRef =
  | { readonly kind: 'Draft' | 'Proposed'; readonly path: string; readonly workspace: string }
  | { readonly kind: 'Published' | 'DeletionProposed'; readonly path: string; readonly version: string }

const branches = 'refs/heads/'
const tags = 'refs/tags/'
const prefixes = [
  ['Draft', `${branches}drafts/`],
  ['Proposed', `${branches}proposed/`],
  ['DeletionProposed', `${branches}deletionProposed/`],
  ['Published', tags],
] as const

/** Returns the meaning of a ref; undefined for branches and tags of others. */
export function packageRef(ref: string): PackageRef | undefined {
  for (const [kind, prefix] of prefixes) {
    if (!ref.startsWith(prefix)) continue
    const rest = ref.slice(prefix.length)
    const slash = rest.lastIndexOf('/')
    if (slash <= 0) return undefined
    const path = rest.slice(0, slash)
    const last = rest.slice(slash + 1)
    return kind === 'Draft' || kind === 'Proposed' ? { kind, path, workspace: last } : { kind, path, version: last }
  }
  return undefined
}

/** Returns the number of a version: `v3` and `3` are 3, anything else is -1. */
export function versionNumber(version: string): number {
  const [, digits] = /^v?(\d+)$/.exec(version) ?? []
  return digits === undefined ? -1 : Number(digits)
}

/** Returns the full name of a branch. */
export function branchRef(branch: string): string {
  return branches + branch
}

/** Returns the full name of a tag. */
export function tagRef(tag: string): string {
  return tags + tag
}

/** Returns a ref as locks name it: without `refs/heads/` or `refs/tags/`. */
export function shortRef(ref: string): string {
  return ref.replace(/^refs\/(heads|tags)\//, '')
}

/** The refs of a repository by full name. */
export type Refs = ReadonlyMap<string, RefCommit>
