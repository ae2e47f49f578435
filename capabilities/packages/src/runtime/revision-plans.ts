// Plans of changes of revisions: the refs that each change moves, and its new commits. A plan is made on one state of
// the repository; when a ref has moved meanwhile, it is made again on the next.
import { deletionProposedBranch, draftBranch, nextRevision, proposedBranch, revisionTag } from '../engine/names.ts'
import { isPublished } from '../engine/lifecycle.ts'
import { GitError } from '../git/git-error.ts'
import { branchRef, tagRef } from '../git/package-layout.ts'
import type { GitRepository, RefCommit } from '../git/repository.ts'
import type { RefChange } from '../git/ref-updates.ts'
import type { RepositorySettings } from './repository-settings.ts'
import { placeholder } from './revision.ts'
import type { Revision } from './revision.ts'
import type { DraftContent, RevisionCommits } from './revision-commits.ts'
import type { Revisions } from './revision-index.ts'

/** The refs of a repository, and the revisions that they hold. */
export interface RepositoryState {
  readonly refs: ReadonlyMap<string, RefCommit>
  readonly revisions: Revisions
}

/** The outcome of a plan: refs to change, and the commits that are new. */
export interface Plan {
  readonly changes: readonly RefChange[]
  readonly commits: readonly RefCommit[]
}

const nothing: Plan = { changes: [], commits: [] }

/** Makes the plans for one repository. All throw GitError `RefChanged` for a revision that has changed. */
export class RevisionPlans {
  readonly #settings: RepositorySettings
  readonly #git: GitRepository
  readonly #commits: RevisionCommits

  constructor(settings: RepositorySettings, git: GitRepository, commits: RevisionCommits) {
    this.#settings = settings
    this.#git = git
    this.#commits = commits
  }

  /** Plans a draft in the folder `path`. */
  async createDraft(state: RepositoryState, draft: DraftContent, path: string): Promise<Plan> {
    const ref = branchRef(draftBranch(path, draft.workspace))
    const head = this.#head(state)
    const commit = await this.#commits.draft(draft, path, head === undefined ? [] : [head])
    return { changes: [{ ref, expected: undefined, to: commit.commit }], commits: [{ ...commit, ref }] }
  }

  /** Plans other content of a draft. */
  async saveDraft(state: RepositoryState, revision: Revision, draft: DraftContent): Promise<Plan> {
    expectCommit(state, revision)
    const { ref, path, commit: expected } = revision
    const commit = await this.#commits.draft(draft, path, [expected])
    return { changes: [{ ref, expected, to: commit.commit }], commits: [{ ...commit, ref }] }
  }

  /** Plans the move of a revision between Draft and Proposed. */
  setProposed(state: RepositoryState, revision: Revision, isProposed: boolean): Plan {
    expectCommit(state, revision)
    const branch = (isProposed ? proposedBranch : draftBranch)(revision.path, revision.workspace)
    const commit = { ...state.refs.get(revision.ref)!, ref: branchRef(branch) }
    return {
      changes: [
        { ref: revision.ref, expected: revision.commit, to: undefined },
        { ref: commit.ref, expected: undefined, to: revision.commit },
      ],
      commits: [commit],
    }
  }

  /** Plans the publication of a proposed revision under the next number. */
  async publish(state: RepositoryState, revision: Revision, user: string): Promise<Plan> {
    expectCommit(state, revision)
    const published = [...state.revisions.values()].filter(({ path }) => path === revision.path)
    const number = nextRevision(published.map((other) => other.revision))
    const branch = branchRef(this.#settings.branch)
    const head = this.#head(state)
    const commit = await this.#commits.approval(revision, number, user, head)
    const tag = tagRef(revisionTag(revision.path, number))
    return {
      changes: [
        { ref: branch, expected: head, to: commit.commit },
        { ref: tag, expected: undefined, to: commit.commit },
        { ref: revision.ref, expected: revision.commit, to: undefined },
      ],
      commits: [
        { ...commit, ref: branch },
        { ...commit, ref: tag },
      ],
    }
  }

  /** Plans the proposal to delete a published revision, or its withdrawal. */
  setDeletionProposed(state: RepositoryState, revision: Revision, isProposed: boolean): Plan {
    expectCommit(state, revision)
    const ref = this.#deletionRef(revision)
    const commit = { ...state.refs.get(revision.ref)!, ref, hash: revision.commit }
    const existing = state.refs.get(ref)?.hash
    if (isProposed === (existing !== undefined)) return nothing
    return isProposed
      ? { changes: [{ ref, expected: undefined, to: commit.commit }], commits: [commit] }
      : { changes: [{ ref, expected: existing, to: undefined }], commits: [] }
  }

  /** Plans a tag `<package>/<name>` of a published revision, or its move to that revision. */
  tag(state: RepositoryState, revision: Revision, name: string): Plan {
    expectCommit(state, revision)
    const ref = tagRef(`${revision.path}/${name}`)
    const existing = state.refs.get(ref)
    if (existing?.commit === revision.commit) return nothing
    return {
      changes: [{ ref, expected: existing?.hash, to: revision.commit }],
      commits: [{ ...state.refs.get(revision.ref)!, ref, hash: revision.commit }],
    }
  }

  /**
   * Plans the deletion of a revision. The last published one of a package takes the package off the branch, as the
   * deletion of the placeholder does.
   */
  async delete(state: RepositoryState, revision: Revision, user: string): Promise<Plan> {
    expectCommit(state, revision)
    const { refs, revisions } = state
    const changes: RefChange[] = []
    const commits: RefCommit[] = []
    const isPlaceholder = revision.ref === branchRef(this.#settings.branch)
    if (!isPlaceholder) changes.push({ ref: revision.ref, expected: refs.get(revision.ref)?.hash, to: undefined })
    const deletion = this.#deletionRef(revision)
    const proposed = refs.get(deletion)
    if (proposed !== undefined) changes.push({ ref: deletion, expected: proposed.hash, to: undefined })
    const others = [...revisions.values()].filter(
      ({ name, path, revision: number }) => path === revision.path && number > 0 && name !== revision.name,
    )
    if (isPlaceholder || (isPublished(revision.lifecycle) && others.length === 0)) {
      const removal = await this.#removal(state, revision, user)
      changes.push(...removal.changes)
      commits.push(...removal.commits)
      const ref = branchRef(deletionProposedBranch(revision.path, 0).replace(/v0$/, this.#settings.branch))
      const other = refs.get(ref)
      if (!isPlaceholder && other !== undefined) changes.push({ ref, expected: other.hash, to: undefined })
    }
    return { changes, commits }
  }

  async #removal(state: RepositoryState, { path }: Revision, user: string): Promise<Plan> {
    const head = this.#head(state)
    if (head === undefined || (await this.#git.tree(`${head}:${path}`)) === undefined) return nothing
    const commit = await this.#commits.removal(path, user, head)
    const ref = branchRef(this.#settings.branch)
    return { changes: [{ ref, expected: head, to: commit.commit }], commits: [{ ...commit, ref }] }
  }

  #head({ refs }: RepositoryState): string | undefined {
    return refs.get(branchRef(this.#settings.branch))?.commit
  }

  #deletionRef({ path, revision, workspace, ref }: Revision): string {
    if (revision > 0) return branchRef(deletionProposedBranch(path, revision))
    const { branch } = this.#settings
    return branchRef(`deletionProposed/${path}/${ref === branchRef(branch) ? branch : workspace}`)
  }
}

/** @throws GitError `RefNotFound`, `RefChanged` */
function expectCommit({ revisions }: RepositoryState, revision: Revision): void {
  const current = revisions.get(revision.name)
  if (current === undefined)
    throw new GitError('RefNotFound', `the revision ${revision.name} was deleted in the repository`)
  const isMovedBranch = revision.revision === placeholder && current.tree === revision.tree
  if ((current.commit !== revision.commit && !isMovedBranch) || current.lifecycle !== revision.lifecycle)
    throw new GitError('RefChanged', `the revision ${revision.name} has changed in the repository`)
}
