// A revision of a package, as the index of a repository knows it.
import type { Task } from '../api.ts'
import type { Lifecycle } from '../engine/lifecycle.ts'

/** The revision of the content of the branch, whatever its tags. */
export const placeholder = -1

/** A revision. Its content never changes: another commit is another value. */
export interface Revision {
  /** Name of its objects. */
  readonly name: string
  /** Path below the directory of the Repository. */
  readonly packageName: string
  /** Path in the git repository. */
  readonly path: string
  readonly workspace: string
  /** 0 before publication, {@link placeholder} for the branch. */
  readonly revision: number
  readonly lifecycle: Lifecycle
  /** The branch or tag that holds it. */
  readonly ref: string
  readonly commit: string
  /** Hash of the package's folder. */
  readonly tree: string
  /** Hash of the content of its Kptfile. */
  readonly kptfile: string
  readonly task: Task | undefined
  /** Seconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly updatedBy: string
  /** The published revision of the package with the highest number. */
  readonly isLatest: boolean
}

/** A change of a repository's revisions. */
export interface RevisionChange {
  readonly before: Revision | undefined
  readonly after: Revision | undefined
}

/** Returns whether two states of a revision are the same; which one of its package is the latest is left aside. */
export function sameRevision(a: Omit<Revision, 'isLatest'>, b: Omit<Revision, 'isLatest'>): boolean {
  return (
    a.commit === b.commit &&
    a.tree === b.tree &&
    a.ref === b.ref &&
    a.lifecycle === b.lifecycle &&
    a.revision === b.revision
  )
}
