// The commits that make, save, publish and remove revisions: messages, marks and signatures, as Porch writes them.
import type { Clock } from '@fairlead/kube'
import type { Task } from '../api.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { markedMessage } from '../git/commit-mark.ts'
import type { CommitMark } from '../git/commit-mark.ts'
import type { FolderChange, Signature } from '../git/new-commit.ts'
import type { GitRepository, RefCommit } from '../git/repository.ts'
import type { RepositorySettings } from './repository-settings.ts'
import type { Revision } from './revision.ts'

/** A new revision, or new content of a draft. */
export interface DraftContent {
  readonly packageName: string
  readonly workspace: string
  readonly files: PackageFiles
  /** Paths of files that can be executed, beside those of the package that could before. */
  readonly executables?: ReadonlySet<string> | undefined
  readonly task: Task
  /** Name of the user. */
  readonly user: string
}

const messages: Readonly<Record<string, string>> = {
  init: 'Creating new empty revision',
  clone: 'Creating new revision by cloning',
  edit: 'Creating new revision by copying previous revision',
  upgrade: 'Upgrading revision',
  render: 'Rendering package',
}

const committer = { name: 'Package Orchestration Service', email: 'porch@kpt.dev' }

/** Writes the commits of one repository. No ref names them yet. */
export class RevisionCommits {
  readonly #git: GitRepository
  readonly #author: RepositorySettings['author']
  readonly #clock: Clock
  readonly #signal: AbortSignal

  /** Writing ends with the signal. */
  constructor(git: GitRepository, { author }: RepositorySettings, clock: Clock, signal: AbortSignal) {
    this.#git = git
    this.#author = author
    this.#clock = clock
    this.#signal = signal
  }

  /** Commits the files of a draft to the folder `path`. @throws GitError */
  draft(draft: DraftContent, path: string, parents: readonly string[]): Promise<RefCommit> {
    const { task, workspace, user, files, executables } = draft
    const text = messages[task.type] ?? `Intermediate commit: ${task.type}`
    const mark = { package: path, workspaceName: workspace, task }
    return this.#commit(text, mark, user, parents, { path, content: files, executables })
  }

  /** Commits the content of a revision as that of its package, under a number. @throws GitError */
  approval(
    { path, workspace, commit, tree }: Revision,
    number: number,
    user: string,
    head: string | undefined,
  ): Promise<RefCommit> {
    return this.#commit(
      `Approving package revision ${path}/${number}`,
      { package: path, workspaceName: workspace, revision: String(number) },
      user,
      head === undefined ? [commit] : [head, commit],
      { path, content: { tree } },
    )
  }

  /** Commits the removal of a package's folder. @throws GitError */
  removal(path: string, user: string, head: string): Promise<RefCommit> {
    return this.#commit(`Delete ${path}`, undefined, user, [head], { path, content: undefined })
  }

  async #commit(
    text: string,
    mark: CommitMark | undefined,
    user: string,
    parents: readonly string[],
    change: FolderChange,
  ): Promise<RefCommit> {
    const seconds = Math.floor(this.#clock.now() / 1000)
    const author: Signature = { ...(this.#author ?? { name: user, email: user }), seconds }
    const message = mark === undefined ? `${text}\n` : markedMessage(text, mark)
    const commit = await this.#git.commit(
      { message, author, committer: { ...committer, seconds }, parents, changes: [change] },
      this.#signal,
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
}
