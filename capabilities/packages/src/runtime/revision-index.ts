// The revisions of a repository, computed from its refs. What a commit holds never changes, so only new commits are
// read: computing the index again after a push costs little.
import type { Task } from '../api.ts'
import { packageRevisionName, packageRevisionNameError } from '../engine/names.ts'
import { commitMarks } from '../git/commit-mark.ts'
import { branchRef, packageRef, versionNumber } from '../git/package-layout.ts'
import type { PackageRef, Refs } from '../git/package-layout.ts'
import type { GitRepository, RefCommit } from '../git/repository.ts'
import { treeEntries } from '../git/tree.ts'
import type { TreeEntry } from '../git/tree.ts'
import { placeholder, sameRevision } from './revision.ts'
import type { Revision } from './revision.ts'

/** The part of a Repository that the index depends on. */
export interface IndexScope {
  /** Name of the Repository. */
  readonly repository: string
  readonly branch: string
  /** Folder of the packages, without slashes at its ends. */
  readonly directory: string
}

/** Revisions by name. */
export type Revisions = ReadonlyMap<string, Revision>

/** Packages that are read at a time. */
const readAhead = 500

/** Folders whose packages are remembered. */
const knownFolders = 50_000

/** The hashes of a package's folder and of its Kptfile. */
type PackageContent = Pick<Revision, 'tree' | 'kptfile'>

interface Origin {
  readonly task: Task | undefined
  readonly createdAt: number
}

type Draft = Omit<Revision, 'isLatest'>

/** A published revision, and the name under which its deletion is proposed. */
interface Published {
  readonly revision: Draft
  readonly deletion: string
}

/** Computes the revisions of one repository. */
export class RevisionIndex {
  readonly #git: GitRepository
  readonly #scope: IndexScope
  /** The content of a package by commit and path; undefined when there is no package. */
  #contents = new Map<string, PackageContent | undefined>()
  /** Packages below a folder by its hash: relative paths with their contents. */
  readonly #packages = new Map<string, ReadonlyMap<string, PackageContent>>()
  /** The task and time that made a revision, by path and workspace. */
  readonly #origins = new Map<string, Origin>()
  /** Published revisions by their tag. */
  readonly #published = new Map<string, Published>()
  /** The packages of the branch, as of the last update. */
  #head: { readonly commit: string; readonly packages: ReadonlyMap<string, PackageContent> } | undefined
  /** Revisions of the branch by the path of their package. */
  readonly #placeholders = new Map<string, Draft>()
  #knownTips = new Set<string>()
  #revisions: Revisions = new Map()
  /** Paths that are no valid names; their packages are not served. */
  readonly unusable: Set<string> = new Set<string>()

  constructor(git: GitRepository, scope: IndexScope) {
    this.#git = git
    this.#scope = scope
  }

  /**
   * Returns the revisions that refs hold. Unchanged revisions are the same values as before. `written` are the commits
   * that this process has made on top of the refs of the last update. @throws GitError
   */
  async update(refs: Refs, written: readonly RefCommit[], signal: AbortSignal): Promise<Revisions> {
    await this.#readMarks(refs, written, signal)
    this.unusable.clear()
    const drafts = new Map<string, Draft>()
    const contents = new Map<string, PackageContent | undefined>()
    const deletions = new Set<string>()
    const packages: { readonly ref: PackageRef; readonly commit: RefCommit }[] = []
    const published: Published[] = []
    for (const commit of refs.values()) {
      const known = this.#published.get(commit.ref)
      if (known?.revision.commit === commit.commit) {
        published.push(known)
        continue
      }
      const ref = packageRef(commit.ref)
      if (ref === undefined || this.#nameOf(ref.path) === undefined) continue
      if (ref.kind === 'DeletionProposed') deletions.add(`${ref.path}/${ref.version}`)
      else packages.push({ ref, commit })
    }
    for (const { revision, deletion } of published) {
      const lifecycle = deletions.has(deletion) ? 'DeletionProposed' : 'Published'
      const isSame = revision.lifecycle === lifecycle
      if (!isSame) this.#published.set(revision.ref, { revision: { ...revision, lifecycle }, deletion })
      this.#add(drafts, isSame ? revision : this.#published.get(revision.ref)!.revision)
    }
    for (let at = 0; at < packages.length; at += readAhead) {
      const batch = packages.slice(at, at + readAhead)
      const found = await Promise.all(
        batch.map(({ ref, commit }) => this.#contentOf(commit.commit, ref.path, contents)),
      )
      for (const [index, { ref, commit }] of batch.entries()) {
        const content = found[index]
        const revision = content && this.#revisionOf(ref, commit, content, deletions)
        this.#add(drafts, revision)
        // It is not computed again.
        if (this.#published.has(commit.ref)) contents.delete(contentKey(commit.commit, ref.path))
      }
    }
    const head = refs.get(branchRef(this.#scope.branch))
    const onBranch = head === undefined ? new Map<string, PackageContent>() : await this.#packagesOf(head.commit)
    for (const [path, content] of onBranch) this.#add(drafts, this.#placeholderOf(path, head!, content, deletions))
    for (const path of this.#placeholders.keys()) if (!onBranch.has(path)) this.#placeholders.delete(path)
    this.#contents = contents
    for (const ref of this.#published.keys()) if (!refs.has(ref)) this.#published.delete(ref)
    this.#revisions = this.#withLatest(drafts)
    return this.#revisions
  }

  /** Reads the marks of commits that are new since the last update. */
  async #readMarks(refs: Refs, written: readonly RefCommit[], signal: AbortSignal): Promise<void> {
    for (const commit of written) {
      this.#record(commit)
      this.#knownTips.add(commit.commit)
    }
    const tips = new Set([...refs.values()].map(({ commit }) => commit))
    const added = [...tips].filter((commit) => !this.#knownTips.has(commit))
    if (added.length > 0) {
      const range = { tips: added, known: this.#knownTips, matching: '^kpt:' }
      // The newest is the last to be recorded.
      for (const commit of (await this.#git.history(range, signal)).toReversed()) this.#record(commit)
    }
    this.#knownTips = tips
  }

  #record({ message, authoredAt }: RefCommit): void {
    for (const { package: path, workspaceName, revision, task } of commitMarks(message)) {
      const workspace = workspaceName ?? revision
      if (path === undefined || workspace === undefined) continue
      if (task === undefined || !originTasks.has(task.type)) continue
      this.#origins.set(originKey(path, workspace), { task, createdAt: authoredAt })
    }
  }

  #revisionOf(
    ref: PackageRef,
    commit: RefCommit,
    content: PackageContent,
    deletions: ReadonlySet<string>,
  ): Draft | undefined {
    if ('workspace' in ref)
      return this.#revision(ref.path, ref.workspace, commit, { ...content, revision: 0, lifecycle: ref.kind })
    const number = versionNumber(ref.version)
    // Another tag on the commit of a revision is a revision of its own.
    const marked = commitMarks(commit.message).find(
      (mark) => mark.package === ref.path && (mark.revision === undefined || versionNumber(mark.revision) === number),
    )?.workspaceName
    const workspace = marked ?? (number === placeholder ? ref.version : `v${number}`)
    const deletion = `${ref.path}/${ref.version}`
    const lifecycle = deletions.has(deletion) ? 'DeletionProposed' : 'Published'
    const revision = this.#revision(ref.path, workspace, commit, { ...content, revision: number, lifecycle })
    if (revision !== undefined) this.#published.set(commit.ref, { revision, deletion })
    return revision
  }

  #placeholderOf(
    path: string,
    head: RefCommit,
    content: PackageContent,
    deletions: ReadonlySet<string>,
  ): Draft | undefined {
    const { branch } = this.#scope
    const lifecycle = deletions.has(`${path}/${branch}`) ? 'DeletionProposed' : 'Published'
    const before = this.#placeholders.get(path)
    // A push of another package moves the branch and leaves this one as it is.
    if (before?.tree === content.tree && before.lifecycle === lifecycle) return before
    const state = { ...content, revision: placeholder, lifecycle } as const
    const made = this.#revision(path, branch.replaceAll('/', '-'), head, state)
    if (made !== undefined) this.#placeholders.set(path, made)
    return made
  }

  #revision(
    path: string,
    workspace: string,
    commit: RefCommit,
    state: PackageContent & Pick<Revision, 'revision' | 'lifecycle'>,
  ): Draft | undefined {
    const packageName = this.#nameOf(path)
    if (packageName === undefined) return undefined
    const key = { repository: this.#scope.repository, packageName, workspaceName: workspace }
    if (packageRevisionNameError(key) !== undefined) {
      this.unusable.add(`${path}/${workspace}`)
      return undefined
    }
    const origin = this.#origins.get(originKey(path, workspace))
    return {
      ...state,
      name: packageRevisionName(key),
      packageName,
      path,
      workspace,
      ref: commit.ref,
      commit: commit.commit,
      task: origin?.task,
      createdAt: origin?.createdAt ?? commit.authoredAt,
      updatedAt: commit.authoredAt,
      updatedBy: commit.authorEmail,
    }
  }

  /** Adds a revision. Of two with one name, the one that is further in the lifecycle counts. */
  #add(found: Map<string, Draft>, revision: Draft | undefined): void {
    if (revision === undefined) return
    const other = found.get(revision.name)
    if (other === undefined || rank(other) < rank(revision)) found.set(revision.name, revision)
  }

  /** Marks the latest revisions, and keeps the values of those that have not changed. */
  #withLatest(found: ReadonlyMap<string, Draft>): Revisions {
    const latest = new Map<string, Draft>()
    for (const revision of found.values()) {
      if (revision.revision <= 0) continue
      const other = latest.get(revision.path)
      if (other === undefined || other.revision < revision.revision) latest.set(revision.path, revision)
    }
    const revisions = new Map<string, Revision>()
    for (const draft of found.values()) {
      const isLatest = latest.get(draft.path)?.name === draft.name
      const before = this.#revisions.get(draft.name)
      const isSame = before?.isLatest === isLatest && sameRevision(before, draft)
      revisions.set(draft.name, isSame ? before : { ...draft, isLatest })
    }
    return revisions
  }

  /** Returns the path below the directory of the Repository; undefined for a path elsewhere. */
  #nameOf(path: string): string | undefined {
    const { directory } = this.#scope
    if (directory === '') return path
    return path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : undefined
  }

  async #contentOf(
    commit: string,
    path: string,
    contents: Map<string, PackageContent | undefined>,
  ): Promise<PackageContent | undefined> {
    const key = contentKey(commit, path)
    let content = this.#contents.get(key)
    if (content === undefined && !this.#contents.has(key)) {
      const tree = await this.#git.tree(key)
      content = tree && contentOf(tree.hash, treeEntries(tree.content))
    }
    contents.set(key, content)
    return content
  }

  /** Returns the packages of the branch: full paths with their contents. */
  async #packagesOf(commit: string): Promise<ReadonlyMap<string, PackageContent>> {
    if (this.#head?.commit !== commit) this.#head = { commit, packages: await this.#readPackages(commit) }
    return this.#head.packages
  }

  async #readPackages(commit: string): Promise<ReadonlyMap<string, PackageContent>> {
    const { directory } = this.#scope
    const root = await this.#git.tree(`${commit}:${directory}`)
    if (root === undefined) return new Map()
    if (this.#packages.size > knownFolders) this.#packages.clear()
    const below = await this.#below(root.hash)
    const prefix = directory === '' ? '' : `${directory}/`
    // A Kptfile in the directory itself makes no package: it would have no name.
    return new Map([...below].flatMap(([path, content]) => (path === '' ? [] : [[prefix + path, content]])))
  }

  async #below(tree: string): Promise<ReadonlyMap<string, PackageContent>> {
    let found = this.#packages.get(tree)
    if (found === undefined) {
      found = await this.#discover(tree)
      this.#packages.set(tree, found)
    }
    return found
  }

  async #discover(tree: string): Promise<ReadonlyMap<string, PackageContent>> {
    const entries = (await this.#git.entries(tree)) ?? []
    const content = contentOf(tree, entries)
    if (content !== undefined) return new Map([['', content]])
    const folders = entries.filter(({ kind }) => kind === 'folder')
    const below = await Promise.all(folders.map(({ hash }) => this.#below(hash)))
    const found = new Map<string, PackageContent>()
    for (const [index, { name }] of folders.entries())
      for (const [path, inner] of below[index]!) found.set(path === '' ? name : `${name}/${path}`, inner)
    return found
  }
}

/** Tasks that make a revision; `push` and `render` change one. */
const originTasks: ReadonlySet<string> = new Set(['init', 'clone', 'edit', 'upgrade'])

function contentKey(commit: string, path: string): string {
  return `${commit}:${path}`
}

function originKey(path: string, workspace: string): string {
  return `${path}\0${workspace}`
}

function rank({ revision, lifecycle }: Draft): number {
  return revision === 0 ? (lifecycle === 'Draft' ? 0 : 1) : revision < 0 ? 2 : 3
}

/** Returns the content of a package; undefined for a folder without a Kptfile. */
function contentOf(tree: string, entries: readonly TreeEntry[]): PackageContent | undefined {
  const kptfile = entries.find(({ name, kind }) => name === 'Kptfile' && kind === 'file')
  return kptfile && { tree, kptfile: kptfile.hash }
}
