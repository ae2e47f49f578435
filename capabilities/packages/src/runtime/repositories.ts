// All repositories that Repository objects register, by namespace and name. The controller opens and closes them;
// storages read them.
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Deadline } from '@fairlead/controller'
import type { InformerUse, Manager, ObjectCache } from '@fairlead/controller'
import { formatKey, isTerminating, serviceUnavailable } from '@fairlead/kube'
import type { ObjectKey } from '@fairlead/kube'
import type { Repository } from '../api.ts'
import { GitError } from '../git/git-error.ts'
import { transportOf } from '../git/remote.ts'
import type { GitRemote } from '../git/remote.ts'
import { readCredentials } from './credentials.ts'
import { PackageRepository } from './package-repository.ts'
import { settingsOf } from './repository-settings.ts'
import type { RepositorySettings } from './repository-settings.ts'
import type { Revision, RevisionChange } from './revision.ts'

/** Milliseconds that requests wait for the first read of a repository. */
export const firstReadTimeout = 10_000
/** Why they wait no longer. */
export const notReadInTime: string = `not read within ${firstReadTimeout / 1000} s`

/** Options of {@link Repositories}. */
export interface RepositoriesOptions {
  /** Holds managed repositories and copies of remote ones. */
  readonly folder: string
  /** False when the folder may vanish before the Repositories do. */
  readonly keepsRepositories: boolean
  /** Milliseconds until a process of git that speaks to a remote is killed. */
  readonly gitTimeout: number
}

/** A revision with its repository. */
export interface Located {
  readonly repository: PackageRepository
  readonly revision: Revision
}

/** Handles changes of revisions. */
export type RevisionListener = (
  repository: PackageRepository,
  changes: readonly RevisionChange[],
) => void | Promise<void>

interface Entry {
  readonly settings: string
  readonly repository: PackageRepository
}

/** The open repositories. */
export class Repositories implements AsyncDisposable {
  /** Milliseconds until a process of git that speaks to a remote is killed. */
  readonly gitTimeout: number
  readonly #manager: Manager
  readonly #folder: string
  readonly #keepsRepositories: boolean
  readonly #objects: InformerUse<Repository>
  readonly #entries = new Map<string, Entry>()
  /** Resolved when a repository was opened for the first time, or could not be. */
  readonly #attempts = new Map<string, PromiseWithResolvers<void>>()
  readonly #listeners = new Set<RevisionListener>()
  /** The last notification of each repository. */
  readonly #notified = new WeakMap<PackageRepository, Promise<void>>()
  /** Repositories that are being opened. */
  readonly #opening = new Set<Promise<unknown>>()
  readonly #stop = new AbortController()

  constructor(manager: Manager, options: RepositoriesOptions, objects: InformerUse<Repository>) {
    this.gitTimeout = options.gitTimeout
    this.#manager = manager
    this.#folder = options.folder
    this.#keepsRepositories = options.keepsRepositories
    this.#objects = objects
  }

  /** Closes all repositories, also those that are being opened; none can be opened afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stopReading()
    await Promise.allSettled(this.#opening)
    await Promise.all([...this.#entries.values()].map(({ repository }) => repository[Symbol.asyncDispose]()))
    this.#entries.clear()
  }

  /** Aborts what is being read or opened: a remote that hangs delays no stop. None can be opened afterwards. */
  stopReading(): void {
    this.#stop.abort(new GitError('Closed', 'the server is stopping'))
  }

  /** Aborts with {@link stopReading}. */
  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  /** Returns why this process must not keep a managed repository; undefined when it may. */
  unsupported({ spec }: Repository): string | undefined {
    if (this.#keepsRepositories || spec?.git?.repo !== undefined) return undefined
    return 'spec.git.repo is missing, and this process has no folder that outlives it: name a git repository, or start fairlead run with --data on a volume that stays'
  }

  /** Returns an open repository. */
  get(key: ObjectKey): PackageRepository | undefined {
    return this.#entries.get(formatKey(key))?.repository
  }

  /** Returns the Repository object; undefined when there is none. @throws StatusError 503 while they are not known */
  object(key: ObjectKey): Repository | undefined {
    return this.#known().get(key)
  }

  /** Returns the open repositories of a namespace, or all. */
  list(namespace?: string): readonly PackageRepository[] {
    const all = [...this.#entries.values()].map(({ repository }) => repository)
    return namespace === undefined ? all : all.filter(({ settings }) => settings.namespace === namespace)
  }

  /** Returns the revision of an object name, whose first part names the repository. */
  revision({ namespace, name }: ObjectKey): Located | undefined {
    const repository = this.get({ namespace, name: name.split('.')[0]! })
    const revision = repository?.revisions.get(name)
    return repository === undefined || revision === undefined ? undefined : { repository, revision }
  }

  /**
   * Resolves when the revisions of every Repository are known that was read before, in this process or an earlier one:
   * a list without them would say that they are deleted. @throws StatusError 503 while one cannot be read, or is not
   * read in time
   */
  async ready(namespace: string | undefined, signal: AbortSignal): Promise<void> {
    using limit = new Deadline(this.#manager.clock, firstReadTimeout, signal, notReadInTime)
    const limited = limit.signal
    await unlessLate(this.#objects.informer.waitForState(limited), signal, limited)
    const readBefore = this.#known()
      .list(namespace === undefined ? {} : { namespace })
      .filter((object) => object.status?.lastFullSyncTime !== undefined && !isTerminating(object))
      .map(({ metadata }) => ({ namespace: metadata.namespace!, name: metadata.name! }))
    await unlessLate(Promise.all(readBefore.map((key) => this.#attempt(key).promise)), signal, limited)
    for (const key of readBefore) {
      // A Repository that was deleted meanwhile has no revisions.
      const object = this.object(key)
      if (object !== undefined && !isTerminating(object) && this.get(key)?.isSynced !== true)
        throw serviceUnavailable(
          `the repository ${formatKey(key)} cannot be read, so that its package revisions are not known; its condition Ready says why`,
        )
    }
  }

  /**
   * Resolves when a Repository that was registered a moment ago has been read, or could not be, for the first time.
   * @throws the signal's reason
   */
  async firstAttempt(key: ObjectKey, signal: AbortSignal): Promise<void> {
    await abortable(this.#attempt(key).promise, signal)
  }

  /** Notifies of changes of revisions in all repositories. */
  subscribe(listener: RevisionListener): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /**
   * Opens the repository of an object, again when its settings have changed. The revisions of a copy on disk are known
   * at once; {@link PackageRepository.sync} reads the remote. @throws GitError
   */
  async open(object: Repository, signal: AbortSignal): Promise<PackageRepository> {
    this.#stop.signal.throwIfAborted()
    const opening = this.#open(object, AbortSignal.any([signal, this.#stop.signal]))
    this.#opening.add(opening)
    return opening.finally(() => this.#opening.delete(opening))
  }

  async #open(object: Repository, signal: AbortSignal): Promise<PackageRepository> {
    const settings = settingsOf(object)
    const key = { namespace: settings.namespace, name: settings.repository }
    const text = JSON.stringify(settings)
    const existing = this.#entries.get(formatKey(key))
    if (existing?.settings === text) return existing.repository
    if (existing !== undefined) await this.close(key)
    if (settings.url !== undefined) transportOf(settings.url)
    const folder = this.#path(settings)
    const repository = await PackageRepository.open(
      folder,
      settings,
      {
        clock: this.#manager.clock,
        remote: (during) => this.#remote(settings, during),
        changed: (changed, changes) => this.#notify(changed, changes),
      },
      signal,
    )
    this.#entries.set(formatKey(key), { settings: text, repository })
    await repository.load(signal)
    if (repository.isSynced) this.attempted(key)
    return repository
  }

  /** Records that the first sync of a repository has ended, with or without success. */
  attempted(key: ObjectKey): void {
    this.#attempt(key).resolve()
  }

  /** Closes a repository; its revisions disappear. */
  async close(key: ObjectKey): Promise<void> {
    const entry = this.#entries.get(formatKey(key))
    if (entry === undefined) return
    this.#entries.delete(formatKey(key))
    const { repository } = entry
    const changes = [...repository.revisions.values()].map((before) => ({ before, after: undefined }))
    if (changes.length > 0) await this.#notify(repository, changes)
    await repository[Symbol.asyncDispose]()
  }

  /**
   * Removes what a deleted Repository leaves on disk. The content of a managed one is moved aside, where an
   * administrator finds it and no later Repository of that name does.
   */
  async discard(object: Repository): Promise<void> {
    const settings = settingsOf(object)
    await this.close({ namespace: settings.namespace, name: settings.repository })
    const key = formatKey({ namespace: settings.namespace, name: settings.repository })
    // A reader that waits for its first sync waits no longer.
    this.#attempts.get(key)?.resolve()
    this.#attempts.delete(key)
    const folder = this.#path(settings)
    if (!existsSync(folder)) return
    if (settings.url !== undefined) return rm(folder, { recursive: true, force: true })
    const aside = join(this.#folder, 'deleted')
    await mkdir(aside, { recursive: true, mode: 0o700 })
    await rename(folder, join(aside, `${settings.namespace}.${settings.repository}.${object.metadata.uid}.git`))
  }

  #attempt(key: ObjectKey): PromiseWithResolvers<void> {
    const text = formatKey(key)
    let attempt = this.#attempts.get(text)
    if (attempt === undefined) this.#attempts.set(text, (attempt = Promise.withResolvers<void>()))
    return attempt
  }

  #path({ namespace, repository, url }: RepositorySettings): string {
    const kind = url === undefined ? 'managed' : 'copies'
    const suffix = url === undefined ? '' : `-${createHash('sha256').update(url).digest('hex').slice(0, 12)}`
    return join(this.#folder, kind, namespace, `${repository}${suffix}.git`)
  }

  #known(): ObjectCache<Repository> {
    const known = this.#objects.informer.read()
    if (!known.known) throw serviceUnavailable(`the Repositories are not known: ${known.reason.message}`)
    return known.objects
  }

  /** Returns the remote with the credentials that the Repository names now. */
  async #remote({ namespace, repository, url = '' }: RepositorySettings, signal: AbortSignal): Promise<GitRemote> {
    const key = { namespace, name: repository }
    const git = this.#objects.informer.lastKnown.get(key)?.spec?.git
    // The credentials of a Repository that was created anew are for its own address only.
    if (git?.repo !== url) throw new GitError('Unreachable', `the Repository ${formatKey(key)} was deleted or replaced`)
    const secret = git.secretRef?.name
    const timeout = this.gitTimeout
    if (secret === undefined || secret === '') return { url, timeout }
    const access = await readCredentials(this.#manager.client, { namespace: key.namespace, name: secret }, signal)
    return { url, timeout, ...access }
  }

  /** Notifies the listeners of one repository's changes in their order. */
  #notify(repository: PackageRepository, changes: readonly RevisionChange[]): Promise<void> {
    const before = this.#notified.get(repository) ?? Promise.resolve()
    const done = before.then(async () => {
      for (const listener of this.#listeners) await listener(repository, changes)
    })
    const reported = done.catch((error: unknown) =>
      this.#manager.log.error('Could not notify of changed package revisions', { error }),
    )
    this.#notified.set(repository, reported)
    return reported
  }
}

/** Waits for a promise until `limited` aborts. @throws the reason of `signal` */
async function unlessLate(promise: Promise<unknown>, signal: AbortSignal, limited: AbortSignal): Promise<void> {
  await abortable(promise, limited).catch((error: unknown) => {
    signal.throwIfAborted()
    if (!limited.aborted) throw error
  })
}

/** Waits for a promise until a signal aborts. @throws the reason of the signal */
export function abortable(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    promise.then(() => resolve(), reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
