// One repository of packages: its revisions, and the changes by which they are made, moved and deleted. Writes are
// serialized; when the remote has moved, they are planned again on its new state.
import type { Clock } from '@fairlead/kube'
import type { PackageFiles } from '../engine/package-files.ts'
import { GitError, withoutCredentials } from '../git/git-error.ts'
import { branchRef, packageRef } from '../git/package-layout.ts'
import { GitRepository } from '../git/repository.ts'
import type { RefCommit } from '../git/repository.ts'
import type { GitRemote } from '../git/remote.ts'
import { KptfileCache } from './kptfile-cache.ts'
import { Mutex } from './mutex.ts'
import type { RepositorySettings } from './repository-settings.ts'
import type { Revision, RevisionChange } from './revision.ts'
import { RevisionCommits } from './revision-commits.ts'
import type { DraftContent } from './revision-commits.ts'
import { RevisionIndex } from './revision-index.ts'
import type { Revisions } from './revision-index.ts'
import { RevisionPlans } from './revision-plans.ts'
import type { Plan, RepositoryState } from './revision-plans.ts'

/** The port of a repository: its remote, its clock, and the handler of its changes. */
export interface RepositoryHost {
  readonly clock: Clock
  /** Returns the remote with its credentials, read anew for each use. */
  remote(signal: AbortSignal): Promise<GitRemote>
  /** Notifies of changes, in order. Writes resolve afterwards; what a sync found is notified in the background. */
  changed(repository: PackageRepository, changes: readonly RevisionChange[]): Promise<void>
}

/** Attempts to write while others move the remote's refs. */
const attempts = 8

/** Milliseconds before the second attempt; longer before each further one (Porch's figure). */
const retryDelay = 200

/** A repository that is open. */
export class PackageRepository implements AsyncDisposable {
  readonly settings: RepositorySettings
  readonly git: GitRepository
  readonly kptfiles: KptfileCache
  readonly #host: RepositoryHost
  readonly #index: RevisionIndex
  readonly #plans: RevisionPlans
  readonly #mutex = new Mutex()
  readonly #stop = new AbortController()
  #state: RepositoryState = { refs: new Map(), revisions: new Map() }
  #isSynced = false

  private constructor(git: GitRepository, settings: RepositorySettings, host: RepositoryHost) {
    this.git = git
    this.kptfiles = new KptfileCache(git)
    this.settings = settings
    this.#host = host
    this.#index = new RevisionIndex(git, settings)
    const commits = new RevisionCommits(git, settings, host.clock, this.#stop.signal)
    this.#plans = new RevisionPlans(settings, git, commits)
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
    return this.#state.revisions
  }

  /** The remote was read completely at least once. Nothing may be concluded from a missing revision before. */
  get isSynced(): boolean {
    return this.#isSynced
  }

  /** The commit of the branch; undefined when it does not exist. */
  get head(): string | undefined {
    return this.#state.refs.get(branchRef(this.settings.branch))?.commit
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
   * rewritten. `knownRevisions` is the number of revisions that an earlier process has read: a response without any
   * branch or tag is not believed then. @throws GitError; the revisions stay as they were
   */
  async sync(signal: AbortSignal, knownRevisions: number = 0): Promise<string | undefined> {
    using _lock = await this.#mutex.acquire()
    const before = this.head
    const during = AbortSignal.any([signal, this.#stop.signal])
    await this.#fetch(during, knownRevisions)
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

  /** Returns the paths of the files of a revision that can be executed. @throws GitError `Corrupt` */
  executables({ commit, path }: Revision): Promise<ReadonlySet<string>> {
    return this.git.executables(commit, path)
  }

  /**
   * Creates a draft. `check` throws when the revisions that exist then do not allow it: others may have been created
   * since the caller looked. No ref names the draft before `stored` resolves: what git does not hold of it is on disk
   * then. @throws GitError, or the error of `check` or `stored`
   */
  async createDraft(
    draft: DraftContent,
    check: (revisions: Revisions) => void,
    stored?: Promise<unknown>,
  ): Promise<Revision> {
    const path = this.#path(draft.packageName)
    await this.#write(async (state) => {
      check(state.revisions)
      return (await Promise.all([this.#plans.createDraft(state, draft, path), stored]))[0]
    })
    return this.#find((revision) => revision.path === path && revision.workspace === draft.workspace)
  }

  /** Replaces the content of a draft. @throws GitError `RefChanged` when the draft has changed */
  async saveDraft(revision: Revision, draft: DraftContent): Promise<Revision> {
    await this.#write((state) => this.#plans.saveDraft(state, revision, draft))
    return this.#named(revision)
  }

  /** Moves a revision that is not published between Draft and Proposed. @throws GitError `RefChanged` */
  async setProposed(revision: Revision, isProposed: boolean): Promise<Revision> {
    await this.#write((state) => this.#plans.setProposed(state, revision, isProposed))
    return this.#named(revision)
  }

  /** Publishes a proposed revision under the next number. @throws GitError `RefChanged` */
  async publish(revision: Revision, user: string): Promise<Revision> {
    await this.#write((state) => this.#plans.publish(state, revision, user))
    return this.#named(revision)
  }

  /** Proposes the deletion of a published revision, or takes the proposal back. @throws GitError `RefChanged` */
  async setDeletionProposed(revision: Revision, isProposed: boolean): Promise<Revision> {
    await this.#write((state) => this.#plans.setDeletionProposed(state, revision, isProposed))
    return this.#named(revision)
  }

  /** Makes the tag `<package>/<name>` name a published revision, or moves it. @throws GitError `RefChanged` */
  async tag(revision: Revision, name: string): Promise<void> {
    await this.#write((state) => this.#plans.tag(state, revision, name))
  }

  /**
   * Deletes a revision. The last published one of a package takes the package off the branch, as the deletion of the
   * placeholder does. @throws GitError `RefChanged`
   */
  async delete(revision: Revision, user: string): Promise<void> {
    await this.#write((state) => this.#plans.delete(state, revision, user))
  }

  /** Carries out a plan, again when refs of the remote have moved. */
  async #write(plan: (state: RepositoryState) => Plan | Promise<Plan>): Promise<void> {
    const { signal } = this.#stop
    using _lock = await this.#mutex.acquire()
    if (!this.#isSynced) throw notSynced(this.settings.repository)
    for (let attempt = 1; ; attempt++) {
      const { changes, commits } = await plan(this.#state)
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
      const refs = new Map(this.#state.refs)
      for (const { ref, to } of changes) if (to === undefined) refs.delete(ref)
      for (const commit of commits) refs.set(commit.ref, commit)
      const { notified } = await this.#adopt(refs, commits, signal)
      await notified
      return
    }
  }

  async #fetch(signal: AbortSignal, knownRevisions: number = 0): Promise<void> {
    const remote = this.settings.url === undefined ? undefined : await this.#host.remote(signal)
    if (remote !== undefined) await this.git.fetch(remote, signal)
    const refs = await this.git.refs(signal)
    if (refs.size === 0 && (this.#state.refs.size > 0 || knownRevisions > 0)) await this.#restoreRefs()
    if (refs.size === 0 && remote !== undefined) await this.git.checkEmpty(remote, signal)
    const { branch, createBranch, repository } = this.settings
    // Drafts may be all that an empty repository has so far.
    const isEmpty = [...refs.keys()].every((ref) => ['Draft', 'Proposed'].includes(packageRef(ref)?.kind ?? ''))
    if (!isEmpty && !refs.has(branchRef(branch)) && !createBranch)
      throw new GitError('RefNotFound', `the repository ${repository} has no branch ${branch}`)
    await this.#adopt(refs, [], signal)
    this.#isSynced = true
  }

  /**
   * Restores the refs of the last read after a response without any: to git, a page of a proxy is an empty repository.
   * @throws GitError
   */
  async #restoreRefs(): Promise<never> {
    const changes = [...this.#state.refs.values()].map(({ ref, hash }) => ({ ref, expected: undefined, to: hash }))
    if (changes.length > 0) await this.git.update(changes, this.#stop.signal)
    const { repository, url = 'its folder' } = this.settings
    throw new GitError(
      'RepositoryNotFound',
      `${withoutCredentials(url)} answers without a single branch or tag, although ${repository} had package revisions: is this a git repository? If it was emptied on purpose, delete the Repository and create it again`,
    )
  }

  /** Computes the revisions of refs and notifies of the changes. */
  async #adopt(
    refs: ReadonlyMap<string, RefCommit>,
    written: readonly RefCommit[],
    signal: AbortSignal,
  ): Promise<{ readonly notified: Promise<void> | undefined }> {
    const before = this.#state.revisions
    const after = await this.#index.update(refs, written, signal)
    this.#state = { refs, revisions: after }
    const changes: RevisionChange[] = []
    for (const revision of after.values()) {
      const old = before.get(revision.name)
      if (old !== revision) changes.push({ before: old, after: revision })
    }
    for (const revision of before.values())
      if (!after.has(revision.name)) changes.push({ before: revision, after: undefined })
    return { notified: changes.length > 0 ? this.#host.changed(this, changes) : undefined }
  }

  #named({ name }: Revision): Revision {
    return this.#find((revision) => revision.name === name)
  }

  #find(matches: (revision: Revision) => boolean): Revision {
    const found = this.revisions.values().find(matches)
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
