// One repository of packages: its revisions, and the changes of refs by which they are made, moved and deleted. Writes
// are serialized; when the remote has moved, they are planned again on its new state.
import type { Clock } from '@fairlead/kube'
import type { Task } from '../api.ts'
import { deletionProposedBranch, draftBranch, nextRevision, proposedBranch, revisionTag } from '../engine/names.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { isPublished } from '../engine/lifecycle.ts'
import { markedMessage } from '../git/commit-mark.ts'
import type { CommitMark } from '../git/commit-mark.ts'
import type { FolderChange, Signature } from '../git/new-commit.ts'
import { GitError } from '../git/git-error.ts'
import { branchRef, tagRef } from '../git/package-layout.ts'
import { GitRepository } from '../git/repository.ts'
import type { RefCommit } from '../git/repository.ts'
import type { RefChange } from '../git/ref-updates.ts'
import type { GitRemote } from '../git/remote.ts'
import { KptfileCache } from './kptfile-cache.ts'
import { Mutex } from './mutex.ts'
import { placeholder } from './revision.ts'
import type { Revision, RevisionChange } from './revision.ts'
import { RevisionIndex } from './revision-index.ts'
import type { IndexScope, Revisions } from './revision-index.ts'

/** The settings of a repository, from its Repository object. */
export interface RepositorySettings extends IndexScope {
  readonly namespace: string
  /** Address of the remote; undefined for a managed repository. */
  readonly url: string | undefined
  readonly deployment: boolean
  readonly createBranch: boolean
  /** The author of commits in place of the user. */
  readonly author: { readonly name: string; readonly email: string } | undefined
}

/** The port of a repository: its remote, its clock, and the handler of its changes. */
export interface RepositoryHost {
  readonly clock: Clock
  /** Returns the remote with its credentials, read anew for each use. */
  remote(signal: AbortSignal): Promise<GitRemote>
  /** Notifies of changes, in order. Writes resolve afterwards; what a sync found is notified in the background. */
  changed(repository: PackageRepository, changes: readonly RevisionChange[]): Promise<void>
}

/** A new revision, or new content of a draft. */
export interface DraftContent {
  readonly packageName: string
  readonly workspace: string
  readonly files: PackageFiles
  readonly task: Task
  /** Name of the user. */
  readonly user: string
}

/** The outcome of a plan: refs to change, and the commits that are new. */
interface Plan {
  readonly changes: readonly RefChange[]
  readonly commits: readonly RefCommit[]
}

/** Attempts to write while others move the remote's refs. */
const attempts = 8

/** Milliseconds before the second attempt; longer before each further one (Porch's figure). */
const retryDelay = 200

const messages: Readonly<Record<string, string>> = {
  init: 'Creating new empty revision',
  clone: 'Creating new revision by cloning',
  edit: 'Creating new revision by copying previous revision',
  upgrade: 'Upgrading revision',
  render: 'Rendering package',
}

const committer = { name: 'Package Orchestration Service', email: 'porch@kpt.dev' }

/** A repository that is open. */
export class PackageRepository implements AsyncDisposable {
  readonly settings: RepositorySettings
  readonly git: GitRepository
  readonly kptfiles: KptfileCache
  readonly #host: RepositoryHost
  readonly #index: RevisionIndex
  readonly #mutex = new Mutex()
  readonly #stop = new AbortController()
  #refs: ReadonlyMap<string, RefCommit> = new Map()
  #revisions: Revisions = new Map()
  #isSynced = false

  private constructor(git: GitRepository, settings: RepositorySettings, host: RepositoryHost) {
    this.git = git
    this.kptfiles = new KptfileCache(git)
    this.settings = settings
    this.#host = host
    this.#index = new RevisionIndex(git, settings)
  }

  /** Opens the repository in a folder; creates the folder. Its revisions are known after the first sync. */
  static async open(
    folder: string,
    settings: RepositorySettings,
    host: RepositoryHost,
    signal: AbortSignal,
  ): Promise<PackageRepository> {
    return new PackageRepository(await GitRepository.open(folder, signal), settings, host)
  }

  /** All revisions, of the last sync or write. */
  get revisions(): Revisions {
    return this.#revisions
  }

  /** The remote was read completely at least once. Nothing may be concluded from a missing revision before. */
  get isSynced(): boolean {
    return this.#isSynced
  }

  /** The commit of the branch; undefined when it does not exist. */
  get head(): string | undefined {
    return this.#refs.get(branchRef(this.settings.branch))?.commit
  }

  /** Paths of packages that are not served, because they make no valid names. */
  get unusable(): ReadonlySet<string> {
    return this.#index.unusable
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new GitError('Closed', `the repository ${this.settings.repository} was closed`))
    using _lock = await this.#mutex.acquire()
    this.git[Symbol.dispose]()
  }

  /** Reads the refs on disk: all of a managed repository, those of the last sync of a remote one. @throws GitError */
  async load(signal: AbortSignal): Promise<void> {
    using _lock = await this.#mutex.acquire()
    const refs = await this.git.refs(signal)
    await this.#adopt(refs, [], signal)
    this.#isSynced = this.settings.url === undefined || refs.size > 0
  }

  /**
   * Reads the remote, or the refs of a managed repository. Returns the former commit of the branch if its history was
   * rewritten. @throws GitError; the revisions stay as they were
   */
  async sync(signal: AbortSignal): Promise<string | undefined> {
    using _lock = await this.#mutex.acquire()
    const before = this.head
    const during = AbortSignal.any([signal, this.#stop.signal])
    await this.#fetch(during)
    if (before === undefined || this.head === before) return undefined
    const { head } = this
    return head !== undefined && (await this.git.isAncestor(before, head, during)) ? undefined : before
  }

  /** Returns the files of a revision. @throws GitError `InvalidContent`, `TooLarge`, `Corrupt` */
  async files(revision: Revision): Promise<PackageFiles> {
    const files = await this.git.files(revision.commit, revision.path)
    if (files === undefined)
      throw new GitError('Corrupt', `the commit ${revision.commit} of ${revision.name} has no folder ${revision.path}`)
    return files
  }

  /**
   * Creates a draft. No ref names it before `stored` resolves: what git does not hold of it is on disk then.
   * @throws GitError, or the error of `stored`
   */
  async createDraft(draft: DraftContent, stored?: Promise<unknown>): Promise<Revision> {
    const path = this.#path(draft.packageName)
    await this.#write(async () => {
      const ref = branchRef(draftBranch(path, draft.workspace))
      const head = this.head
      const commit = this.#draftCommit(draft, path, ref, head === undefined ? [] : [head], undefined)
      return (await Promise.all([commit, stored]))[0]
    })
    return this.#find((revision) => revision.path === path && revision.workspace === draft.workspace)
  }

  /** Replaces the content of a draft. @throws GitError `RefChanged` when the draft has changed */
  async saveDraft(revision: Revision, draft: DraftContent): Promise<Revision> {
    await this.#write(async () => {
      this.#expectCommit(revision)
      return this.#draftCommit(draft, revision.path, revision.ref, [revision.commit], revision.commit)
    })
    return this.#find(({ name }) => name === revision.name)
  }

  /** Moves a revision that is not published between Draft and Proposed. @throws GitError `RefChanged` */
  async setProposed(revision: Revision, isProposed: boolean): Promise<Revision> {
    await this.#write(async (refs) => {
      this.#expectCommit(revision)
      const branch = (isProposed ? proposedBranch : draftBranch)(revision.path, revision.workspace)
      const commit = { ...refs.get(revision.ref)!, ref: branchRef(branch) }
      return {
        changes: [
          { ref: revision.ref, expected: revision.commit, to: undefined },
          { ref: commit.ref, expected: undefined, to: revision.commit },
        ],
        commits: [commit],
      }
    })
    return this.#find(({ name }) => name === revision.name)
  }

  /** Publishes a proposed revision under the next number. @throws GitError `RefChanged` */
  async publish(revision: Revision, user: string): Promise<Revision> {
    await this.#write(async () => {
      this.#expectCommit(revision)
      const published = [...this.#revisions.values()].filter(({ path }) => path === revision.path)
      const number = nextRevision(published.map((other) => other.revision))
      const branch = branchRef(this.settings.branch)
      const { head } = this
      const mark = { package: revision.path, workspaceName: revision.workspace, revision: String(number) }
      const commit = await this.#commit(
        `Approving package revision ${revision.path}/${number}`,
        mark,
        user,
        head === undefined ? [revision.commit] : [head, revision.commit],
        { path: revision.path, content: { tree: revision.tree } },
      )
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
    })
    return this.#find(({ name }) => name === revision.name)
  }

  /** Proposes the deletion of a published revision, or takes the proposal back. @throws GitError `RefChanged` */
  async setDeletionProposed(revision: Revision, isProposed: boolean): Promise<Revision> {
    await this.#write(async (refs) => {
      this.#expectCommit(revision)
      const ref = this.#deletionRef(revision)
      const commit = { ...refs.get(revision.ref)!, ref, hash: revision.commit }
      const existing = refs.get(ref)?.hash
      if (isProposed === (existing !== undefined)) return { changes: [], commits: [] }
      return isProposed
        ? { changes: [{ ref, expected: undefined, to: commit.commit }], commits: [commit] }
        : { changes: [{ ref, expected: existing, to: undefined }], commits: [] }
    })
    return this.#find(({ name }) => name === revision.name)
  }

  /** Makes the tag `<package>/<name>` name a published revision, or moves it. @throws GitError `RefChanged` */
  async tag(revision: Revision, name: string): Promise<void> {
    await this.#write(async (refs) => {
      this.#expectCommit(revision)
      const ref = tagRef(`${revision.path}/${name}`)
      const existing = refs.get(ref)
      if (existing?.commit === revision.commit) return { changes: [], commits: [] }
      return {
        changes: [{ ref, expected: existing?.hash, to: revision.commit }],
        commits: [{ ...refs.get(revision.ref)!, ref, hash: revision.commit }],
      }
    })
  }

  /**
   * Deletes a revision. The last published one of a package takes the package off the branch, as the deletion of the
   * placeholder does. @throws GitError `RefChanged`
   */
  async delete(revision: Revision, user: string): Promise<void> {
    await this.#write(async (refs) => {
      this.#expectCommit(revision)
      const changes: RefChange[] = []
      const commits: RefCommit[] = []
      const isPlaceholder = revision.ref === branchRef(this.settings.branch)
      if (!isPlaceholder) changes.push({ ref: revision.ref, expected: refs.get(revision.ref)?.hash, to: undefined })
      const deletion = this.#deletionRef(revision)
      const proposed = refs.get(deletion)
      if (proposed !== undefined) changes.push({ ref: deletion, expected: proposed.hash, to: undefined })
      const others = [...this.#revisions.values()].filter(
        ({ name, path, revision: number }) => path === revision.path && number > 0 && name !== revision.name,
      )
      if (isPlaceholder || (isPublished(revision.lifecycle) && others.length === 0)) {
        const removal = await this.#removal(revision, user)
        changes.push(...removal.changes)
        commits.push(...removal.commits)
        const ref = branchRef(deletionProposedBranch(revision.path, 0).replace(/v0$/, this.settings.branch))
        const other = refs.get(ref)
        if (!isPlaceholder && other !== undefined) changes.push({ ref, expected: other.hash, to: undefined })
      }
      return { changes, commits }
    })
  }

  async #removal({ path }: Revision, user: string): Promise<Plan> {
    const { head } = this
    if (head === undefined || (await this.git.tree(`${head}:${path}`)) === undefined)
      return { changes: [], commits: [] }
    const commit = await this.#commit(`Delete ${path}`, undefined, user, [head], { path, content: undefined })
    const ref = branchRef(this.settings.branch)
    return { changes: [{ ref, expected: head, to: commit.commit }], commits: [{ ...commit, ref }] }
  }

  async #draftCommit(
    draft: DraftContent,
    path: string,
    ref: string,
    parents: readonly string[],
    expected: string | undefined,
  ): Promise<Plan> {
    const { task, workspace, user } = draft
    const text = messages[task.type] ?? `Intermediate commit: ${task.type}`
    const mark = { package: path, workspaceName: workspace, task }
    const commit = await this.#commit(text, mark, user, parents, { path, content: draft.files })
    return { changes: [{ ref, expected, to: commit.commit }], commits: [{ ...commit, ref }] }
  }

  async #commit(
    text: string,
    mark: CommitMark | undefined,
    user: string,
    parents: readonly string[],
    change: FolderChange,
  ): Promise<RefCommit> {
    const seconds = Math.floor(this.#host.clock.now() / 1000)
    const author: Signature = { ...(this.settings.author ?? { name: user, email: user }), seconds }
    const message = mark === undefined ? `${text}\n` : markedMessage(text, mark)
    const commit = await this.git.commit(
      { message, author, committer: { ...committer, seconds }, parents, changes: [change] },
      this.#stop.signal,
    )
    return {
      ref: '',
      hash: commit,
      commit,
      message,
      authorName: author.name,
      authorEmail: author.email,
      authoredAt: seconds,
    }
  }

  /** Carries out a plan, again when refs of the remote have moved. */
  async #write(plan: (refs: ReadonlyMap<string, RefCommit>) => Promise<Plan>): Promise<void> {
    const { signal } = this.#stop
    using _lock = await this.#mutex.acquire()
    if (!this.#isSynced) throw notSynced(this.settings.repository)
    for (let attempt = 1; ; attempt++) {
      const { changes, commits } = await plan(this.#refs)
      if (changes.length === 0) return
      try {
        if (this.settings.url === undefined) await this.git.update(changes, signal)
        else await this.git.push(await this.#host.remote(signal), changes, signal)
      } catch (error) {
        if (!(error instanceof GitError) || error.code !== 'RefChanged' || attempt === attempts) throw error
        if (attempt > 1) await this.#host.clock.sleep(retryDelay * attempt, signal)
        await this.#fetch(signal)
        continue
      }
      const refs = new Map(this.#refs)
      for (const { ref, to } of changes) if (to === undefined) refs.delete(ref)
      for (const commit of commits) refs.set(commit.ref, commit)
      const { notified } = await this.#adopt(refs, commits, signal)
      await notified
      return
    }
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    if (this.settings.url !== undefined) await this.git.fetch(await this.#host.remote(signal), signal)
    const refs = await this.git.refs(signal)
    const { branch, createBranch, repository } = this.settings
    if (refs.size > 0 && !refs.has(branchRef(branch)) && !createBranch)
      throw new GitError('RefNotFound', `the repository ${repository} has no branch ${branch}`)
    await this.#adopt(refs, [], signal)
    this.#isSynced = true
  }

  /** Computes the revisions of refs and notifies of the changes. */
  async #adopt(
    refs: ReadonlyMap<string, RefCommit>,
    written: readonly RefCommit[],
    signal: AbortSignal,
  ): Promise<{ readonly notified: Promise<void> | undefined }> {
    const before = this.#revisions
    const after = await this.#index.update(refs, written, signal)
    this.#refs = refs
    this.#revisions = after
    const changes: RevisionChange[] = []
    for (const revision of after.values()) {
      const old = before.get(revision.name)
      if (old !== revision) changes.push({ before: old, after: revision })
    }
    for (const revision of before.values())
      if (!after.has(revision.name)) changes.push({ before: revision, after: undefined })
    return { notified: changes.length > 0 ? this.#host.changed(this, changes) : undefined }
  }

  #deletionRef({ path, revision, workspace, ref }: Revision): string {
    if (revision > 0) return branchRef(deletionProposedBranch(path, revision))
    const version = ref === branchRef(this.settings.branch) ? this.settings.branch : workspace
    return branchRef(`deletionProposed/${path}/${version}`)
  }

  #expectCommit(revision: Revision): void {
    const current = this.#revisions.get(revision.name)
    if (current === undefined)
      throw new GitError('RefNotFound', `the revision ${revision.name} was deleted in the repository`)
    const isMovedBranch = revision.revision === placeholder && current.tree === revision.tree
    if ((current.commit !== revision.commit && !isMovedBranch) || current.lifecycle !== revision.lifecycle)
      throw new GitError('RefChanged', `the revision ${revision.name} has changed in the repository`)
  }

  #find(matches: (revision: Revision) => boolean): Revision {
    const found = this.#revisions.values().find(matches)
    if (found === undefined)
      throw new GitError('RefNotFound', `the revision is not in ${this.settings.repository} any more`)
    return found
  }

  #path(packageName: string): string {
    const { directory } = this.settings
    return directory === '' ? packageName : `${directory}/${packageName}`
  }
}

/** Returns the error of a repository that was not read yet. */
export function notSynced(repository: string): GitError {
  return new GitError('Unreachable', `the repository ${repository} was not read yet; its condition Ready says why`)
}
