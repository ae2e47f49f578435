// A bare repository on disk. Start with GitRepository.open, or fetchPackage for one package of a remote.
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PackageFiles } from '../engine/package-files.ts'
import { GitError, withoutCredentials } from './git-error.ts'
import { runGit, timeouts } from './git-process.ts'
import { writeCommit } from './new-commit.ts'
import type { NewCommit } from './new-commit.ts'
import { ObjectPacks } from './object-packs.ts'
import { ObjectReader } from './object-reader.ts'
import type { GitObject } from './object-reader.ts'
import { ObjectWriter } from './object-writer.ts'
import { RecentObjects } from './recent-objects.ts'
import { removeAbandonedLocks } from './ref-locks.ts'
import { RefUpdates } from './ref-updates.ts'
import type { RefChange } from './ref-updates.ts'
import { remoteEnvironment, transportOf } from './remote.ts'
import type { GitRemote, RemoteEnvironment } from './remote.ts'
import { executablesOf, filesOf, treeEntries } from './tree.ts'
import type { TreeEntry } from './tree.ts'

/** A commit as refs name it. */
export interface RefCommit {
  readonly ref: string
  /** The hash that the ref has: of the commit, or of the tag object of an annotated tag. */
  readonly hash: string
  /** The hash of the commit, also for annotated tags. */
  readonly commit: string
  readonly message: string
  readonly authorName: string
  readonly authorEmail: string
  /** Seconds since the epoch. */
  readonly authoredAt: number
}

const fields = ['%(refname)', '%(objectname)', '%(*objectname)', '%(authorname)', '%(*authorname)'].concat(
  ['%(authoremail:trim)', '%(*authoremail:trim)', '%(authordate:unix)', '%(*authordate:unix)'],
  ['%(contents)', '%(*contents)'],
)

/** A bare repository. */
export class GitRepository implements Disposable {
  readonly folder: string
  readonly #recent = new RecentObjects()
  readonly #reader: ObjectReader
  readonly #packs: ObjectPacks
  readonly #refs: RefUpdates

  private constructor(folder: string) {
    this.folder = folder
    this.#reader = new ObjectReader(folder, this.#recent)
    this.#packs = new ObjectPacks(folder)
    this.#refs = new RefUpdates(folder)
  }

  /** Opens the repository of a folder; creates it when the folder is missing. @throws GitError */
  static async open(folder: string, signal: AbortSignal): Promise<GitRepository> {
    if (!existsSync(join(folder, 'HEAD'))) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await runGit(folder, ['init', '--bare', '--quiet', '--template=', '.'], { signal })
    } else await removeAbandonedLocks(folder, signal)
    return new GitRepository(folder)
  }

  [Symbol.dispose](): void {
    this.#packs[Symbol.dispose]()
    this.#reader[Symbol.dispose]()
    this.#refs[Symbol.dispose]()
  }

  /** Returns branches and tags with their commits. @throws GitError */
  async refs(signal: AbortSignal): Promise<ReadonlyMap<string, RefCommit>> {
    const format = `${fields.join('%00')}%00%01`
    const output = await runGit(this.folder, ['for-each-ref', `--format=${format}`, 'refs/heads', 'refs/tags'], {
      signal,
    })
    const refs = new Map<string, RefCommit>()
    for (const record of output.toString().split('\0\x01\n')) {
      const [ref, hash, tagged, name, taggedName, email, taggedEmail, time, taggedTime, text, taggedText] =
        record.split('\0')
      if (ref === undefined || ref === '' || hash === undefined) continue
      const isAnnotated = tagged !== undefined && tagged !== ''
      refs.set(ref, {
        ref,
        hash,
        commit: isAnnotated ? tagged : hash,
        message: (isAnnotated ? taggedText : text) ?? '',
        authorName: (isAnnotated ? taggedName : name) ?? '',
        authorEmail: (isAnnotated ? taggedEmail : email) ?? '',
        authoredAt: Number((isAnnotated ? taggedTime : time) ?? 0),
      })
    }
    return refs
  }

  /**
   * Returns the commits that `tips` reach and `known` do not, the newest first; only those whose message matches.
   * @throws GitError
   */
  async history(
    range: { readonly tips: Iterable<string>; readonly known?: Iterable<string>; readonly matching: string },
    signal: AbortSignal,
  ): Promise<readonly RefCommit[]> {
    const input = [...range.tips, ...[...(range.known ?? [])].map((hash) => `^${hash}`), ''].join('\n')
    const output = await runGit(
      this.folder,
      [
        'log',
        `--grep=${range.matching}`,
        '--ignore-missing',
        '--format=%H%x00%an%x00%ae%x00%at%x00%B%x00%x01',
        '--stdin',
      ],
      { signal, input },
    )
    return output
      .toString()
      .split('\0\x01\n')
      .flatMap((record) => {
        const [commit, authorName, authorEmail, time, message] = record.split('\0')
        if (commit === undefined || authorName === undefined || authorEmail === undefined || message === undefined)
          return []
        return [{ ref: '', hash: commit, commit, authorName, authorEmail, authoredAt: Number(time), message }]
      })
  }

  /** Reports whether a commit is part of the history of another. @throws GitError */
  async isAncestor(commit: string, descendant: string, signal: AbortSignal): Promise<boolean> {
    const output = await runGit(this.folder, ['rev-list', '--count', `${descendant}..${commit}`], { signal })
    return output.toString().trim() === '0'
  }

  /** Returns the hash of a commit, branch, tag or `<commit>:<path>`; undefined when it is missing. @throws GitError */
  async resolve(specification: string): Promise<string | undefined> {
    return (await this.#reader.read(specification))?.hash
  }

  /** Returns a tree by its hash or as `<commit>:<path>`; undefined when it is missing or no folder. @throws GitError */
  async tree(specification: string): Promise<GitObject | undefined> {
    const object = await this.#reader.read(specification)
    return object?.type === 'tree' ? object : undefined
  }

  /** Returns the entries of a tree or of `<commit>:<path>`; undefined when it is no folder. @throws GitError */
  async entries(specification: string): Promise<readonly TreeEntry[] | undefined> {
    const object = await this.#reader.read(specification)
    return object?.type === 'tree' ? treeEntries(object.content) : undefined
  }

  /** Returns the content of one file; undefined when it is missing. @throws GitError */
  async file(specification: string): Promise<string | undefined> {
    const object = await this.#reader.read(specification)
    return object?.type === 'blob' ? object.content.toString() : undefined
  }

  /**
   * Returns the files of a folder; undefined when the commit does not have it.
   * @throws GitError `InvalidContent`, `TooLarge`, `Corrupt`
   */
  async files(revision: string, path: string): Promise<PackageFiles | undefined> {
    const tree = await this.#reader.read(`${revision}:${path}`)
    return tree?.type === 'tree' ? filesOf(this.#reader, tree.hash) : undefined
  }

  /** Returns the paths of the files of a folder that can be executed. @throws GitError `Corrupt` */
  async executables(revision: string, path: string): Promise<ReadonlySet<string>> {
    const tree = await this.#reader.read(`${revision}:${path}`)
    return tree?.type === 'tree' ? executablesOf(this.#reader, tree.hash) : new Set()
  }

  /** Writes a commit, which no ref names yet, and returns its hash. @throws GitError */
  async commit(commit: NewCommit, signal: AbortSignal): Promise<string> {
    const writer = new ObjectWriter(this.folder, this.#recent)
    const hash = await writeCommit(this.#reader, writer, commit)
    this.#packs.written(await writer.flush(signal))
    return hash
  }

  /** Changes refs in one transaction. @throws GitError `RefChanged` when one has another value than expected */
  async update(changes: readonly RefChange[], signal: AbortSignal): Promise<void> {
    await this.#refs.update(changes, signal)
  }

  /** Makes branches and tags equal to those of the remote. @throws GitError */
  async fetch(remote: GitRemote, signal: AbortSignal): Promise<void> {
    await using environment = await remoteEnvironment(remote)
    // Awaited: the files of the environment are needed until the clone ends.
    if (await this.#isNew()) return await this.#clone(remote, environment, signal)
    const args = ['fetch', '--quiet', '--prune', '--no-write-fetch-head', '--atomic', '--end-of-options', remote.url]
    const options = { signal, environment: environment.variables, timeout: remote.timeout ?? timeouts.remote }
    try {
      await runGit(this.folder, [...args, '+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'], options)
    } catch (error) {
      // No transaction deletes a ref and creates one below it: the copy is made anew, not brought up to date in steps.
      if (!(error instanceof GitError) || !/exists; cannot create/.test(error.message)) throw error
      await this.#clone(remote, environment, signal)
    }
  }

  /**
   * Checks that a remote without a branch or tag is a git repository. Over HTTP, git takes any page for the list of
   * refs of a repository that a file server serves, and a page without them for an empty one; only git's own servers
   * send packets. @throws GitError `RepositoryNotFound`
   */
  async checkEmpty(remote: GitRemote, signal: AbortSignal): Promise<void> {
    if (transportOf(remote.url) !== 'http') return
    await using environment = await remoteEnvironment(remote)
    const trace: Buffer[] = []
    await runGit(this.folder, ['ls-remote', '--quiet', '--end-of-options', remote.url], {
      signal,
      environment: { ...environment.variables, GIT_TRACE_PACKET: '1' },
      timeout: remote.timeout ?? timeouts.remote,
      onError: (chunk) => void trace.push(chunk),
    })
    if (!Buffer.concat(trace).includes(' packet: '))
      throw new GitError(
        'RepositoryNotFound',
        `${withoutCredentials(remote.url)} answers, but not as a git server does: is this a git repository?`,
      )
  }

  /** Reports whether nothing was ever written. */
  async #isNew(): Promise<boolean> {
    const entries = await Promise.all(
      ['objects', 'refs'].map((name) => readdir(join(this.folder, name), { recursive: true })),
    )
    return entries.flat().every((path) => /^(info|pack|heads|tags)$/.test(path))
  }

  /** Fetches into a folder of its own, which replaces this one: a clone writes all refs as one file. */
  async #clone(remote: GitRemote, environment: RemoteEnvironment, signal: AbortSignal): Promise<void> {
    const [folder, former] = [`${this.folder}-clone`, `${this.folder}-former`]
    const remove = (): Promise<unknown> =>
      Promise.all([folder, former].map((path) => rm(path, { recursive: true, force: true })))
    try {
      await remove()
      const args = ['clone', '--quiet', '--bare', '--no-local', '--template=', '--end-of-options', remote.url, folder]
      const { variables } = environment
      await runGit(this.folder, args, { signal, environment: variables, timeout: remote.timeout ?? timeouts.remote })
      const refs = await runGit(folder, ['for-each-ref', '--count=1'], { signal })
      if (refs.length === 0 && !(await this.#isNew()))
        throw new GitError('Unreachable', `${withoutCredentials(remote.url)} answered without a branch or tag`)
      // A process that is killed between the two leaves no folder: the next one knows that it has read nothing.
      await rename(this.folder, former)
      await rename(folder, this.folder)
      const replaced = new GitError('Closed', 'the folder of the repository was replaced')
      this.#reader.restart(replaced)
      this.#refs.restart(replaced)
    } finally {
      await remove()
    }
  }

  /** Fetches one branch, tag or commit and returns its hash. @throws GitError `RefNotFound` */
  async fetchRef(remote: GitRemote, ref: string, signal: AbortSignal): Promise<string> {
    await using environment = await remoteEnvironment(remote)
    const target = `refs/fairlead/fetched/${randomUUID()}`
    const fetch = (name: string): Promise<Buffer> =>
      runGit(
        this.folder,
        [
          'fetch',
          '--quiet',
          '--no-tags',
          '--no-write-fetch-head',
          '--end-of-options',
          remote.url,
          `+${name}:${target}`,
        ],
        { signal, environment: environment.variables, timeout: remote.timeout ?? timeouts.remote },
      )
    const candidates = /^[0-9a-f]{40}$/.test(ref)
      ? [ref]
      : ref.startsWith('refs/')
        ? [ref]
        : [`refs/tags/${ref}`, `refs/heads/${ref}`]
    for (const candidate of candidates) {
      try {
        await fetch(candidate)
        const commit = await this.resolve(`${target}^{commit}`)
        if (commit !== undefined) return commit
      } catch (error) {
        if (!(error instanceof GitError) || error.code !== 'RefNotFound') throw error
      }
    }
    throw new GitError('RefNotFound', `the repository ${remote.url} has no branch, tag or commit ${ref}`)
  }

  /**
   * Changes refs of the remote, all or none, and then those of this repository.
   * @throws GitError `RefChanged` when a ref of the remote has another value than expected, `Refused`
   */
  async push(remote: GitRemote, changes: readonly RefChange[], signal: AbortSignal): Promise<void> {
    await using environment = await remoteEnvironment(remote)
    const leases = changes.map(({ ref, expected }) => `--force-with-lease=${ref}:${expected ?? ''}`)
    const targets = changes.map(({ ref, to }) => `${to ?? ''}:${ref}`)
    // A repository of this machine must not run its hooks with our rights.
    const receivePack = `--receive-pack=${transportOf(remote.url) === 'local' ? 'git -c core.hooksPath=/dev/null ' : 'git-'}receive-pack`
    const atomic = changes.length > 1 ? ['--atomic'] : []
    await runGit(
      this.folder,
      [
        'push',
        '--porcelain',
        '--no-verify',
        receivePack,
        ...atomic,
        ...leases,
        '--end-of-options',
        remote.url,
        ...targets,
      ],
      { signal, environment: environment.variables, timeout: remote.timeout ?? timeouts.remote },
    )
    await this.update(changes, signal).catch(() => this.fetch(remote, signal))
  }

  /** Checks the connectivity and content of all objects. @throws GitError `Corrupt` */
  async verify(signal: AbortSignal): Promise<void> {
    await runGit(this.folder, ['fsck', '--full', '--no-dangling', '--no-progress'], {
      signal,
      timeout: timeouts.remote,
    })
  }
}

/** A package of a remote repository, at one commit. */
export interface FetchedPackage {
  readonly commit: string
  readonly files: PackageFiles
  /** Paths of the files that can be executed. */
  readonly executables: ReadonlySet<string>
}

/**
 * Fetches the package in a folder of a remote repository at a branch, tag or commit.
 * @throws GitError `RefNotFound` also for a missing folder
 */
export async function fetchPackage(
  remote: GitRemote,
  { ref, directory }: { readonly ref: string; readonly directory: string },
  signal: AbortSignal,
): Promise<FetchedPackage> {
  transportOf(remote.url)
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-fetch-'))
  try {
    using repository = await GitRepository.open(folder, signal)
    const commit = await repository.fetchRef(remote, ref, signal)
    const path = directory.replace(/^\/+|\/+$/g, '')
    const folderPath = path === '.' ? '' : path
    const files = await repository.files(commit, folderPath)
    if (files === undefined)
      throw new GitError('RefNotFound', `the repository ${remote.url} has no folder ${directory} at ${ref}`)
    return { commit, files, executables: await repository.executables(commit, folderPath) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
