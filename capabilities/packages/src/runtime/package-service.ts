// Package revisions as objects: what the storages of the API share. It makes revisions by their tasks, keeps what git
// does not hold, and notifies of changed objects.
import type { AccessReviews, Informer, ResourceAccess, StorageChange, StorageWrite } from '@fairlead/controller'
import type { Client } from '@fairlead/client'
import { badRequest, failure, forbidden, isTerminating, jsonEqual, notFound, serviceUnavailable } from '@fairlead/kube'
import type { JsonObject, KubeObject, ObjectKey } from '@fairlead/kube'
import { configGroup, porchGroup, RepositoryKind } from '../api.ts'
import type {
  GitPackage,
  Lock,
  PackageRevision,
  PackageRevisionPreview,
  RenderReport,
  RevisionReference,
  Task,
} from '../api.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { failureMessage } from '../engine/render/failure-message.ts'
import { fetchPackage } from '../git/repository.ts'
import type { FetchedPackage } from '../git/repository.ts'
import { transportOf } from '../git/remote.ts'
import { packageRevisionObject, resourcesObject, selfLock } from './revision-object.ts'
import { readCredentials } from './credentials.ts'
import { withBookkeepingOf, withPackageMetadata, withPipeline } from './kptfile-edits.ts'
import type { PackageEngine, RenderedPackage } from './package-engine.ts'
import type { PackageRepository } from './package-repository.ts'
import type { Repositories, Located } from './repositories.ts'
import type { Revision, RevisionChange } from './revision.ts'
import { noState } from './revision-states.ts'
import type { RevisionState, RevisionStates } from './revision-states.ts'
import { taskFiles } from './task-files.ts'
import type { TaskContext } from './task-files.ts'

const revisionsResource = { group: 'porch.kpt.dev', plural: 'packagerevisions' }

/** A revision with this annotation keeps what is pushed even when its render fails. */
export const pushOnRenderFailure = 'porch.kpt.dev/push-on-render-failure'

/** Changes of one repository at once above which watches list again: a repository that is read for the first time. */
export const maxNotified = 500

/** Milliseconds that the creation of a revision waits for the first read of its repository. */
const firstReadTimeout = 10_000

type Listener = (change: StorageChange) => void

/** Options of a {@link PackageService}. */
export interface PackageServiceOptions {
  readonly repositories: Repositories
  readonly states: RevisionStates
  readonly engine: PackageEngine
  readonly client: Client
  readonly access: AccessReviews
  readonly namespaces: Informer
}

/** The revisions of all repositories. */
export class PackageService implements Disposable {
  readonly repositories: Repositories
  readonly states: RevisionStates
  readonly #engine: PackageEngine
  readonly #client: Client
  readonly #access: AccessReviews
  readonly #namespaces: Informer
  readonly #revisionListeners = new Set<Listener>()
  readonly #resourceListeners = new Set<Listener>()
  readonly #subscription: Disposable

  constructor({ repositories, states, engine, client, access, namespaces }: PackageServiceOptions) {
    this.#namespaces = namespaces
    this.repositories = repositories
    this.states = states
    this.#engine = engine
    this.#client = client
    this.#access = access
    this.#subscription = repositories.subscribe((repository, changes) => this.#changed(repository, changes))
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]()
  }

  /**
   * Reports whether a revision leaves the API without being deleted from git: its namespace or its Repository is being
   * deleted. @throws StatusError 503 while it is not known
   */
  isReleased({ repository }: Located): boolean {
    const { namespace, repository: name } = repository.settings
    const registration = this.repositories.object({ namespace, name })
    if (registration === undefined || isTerminating(registration)) return true
    const namespaces = this.#namespaces.read()
    // A namespace that the cache lacks was created just now: the registration in it exists.
    const found = namespaces.known ? namespaces.objects.get(namespace) : undefined
    if (found !== undefined) return isTerminating(found)
    throw serviceUnavailable(
      `the namespace ${namespace} cannot be read now, so that it is not known whether it is being deleted`,
    )
  }

  /**
   * Waits for the first read of a Repository: manifests register it and create its revisions in one go. Resolves after
   * a while in any case, and at once for one that does not exist, also not outside of the cache.
   */
  async settled(key: ObjectKey, signal: AbortSignal): Promise<void> {
    if (this.repositories.get(key)?.isSynced === true) return
    const limited = AbortSignal.any([signal, AbortSignal.timeout(firstReadTimeout)])
    const { namespace, name } = key
    try {
      const registration =
        this.repositories.object(key) ?? (await this.#client.find(RepositoryKind, { namespace, name }))
      if (registration !== undefined && !isTerminating(registration)) await this.repositories.firstAttempt(key, limited)
    } catch (error) {
      signal.throwIfAborted()
      if (!limited.aborted) throw error
    }
  }

  /** Notifies of changed PackageRevisions. */
  onRevisionObjects(listener: Listener): Disposable {
    this.#revisionListeners.add(listener)
    return { [Symbol.dispose]: () => void this.#revisionListeners.delete(listener) }
  }

  /** Notifies of changed PackageRevisionResources. */
  onResources(listener: Listener): Disposable {
    this.#resourceListeners.add(listener)
    return { [Symbol.dispose]: () => void this.#resourceListeners.delete(listener) }
  }

  /**
   * Creates a revision: its task, the render and the commit are one save. @throws StatusError, GitError, PackageError
   */
  async createRevision(
    repository: PackageRepository,
    { metadata, spec }: PackageRevision,
    state: RevisionState,
    write: StorageWrite,
  ): Promise<Revision> {
    const { namespace } = repository.settings
    const task: Task = spec.tasks?.[0] ?? { type: 'init', init: {} }
    const made = await taskFiles(task, this.#taskContext(repository, spec.packageName, write))
    const files = spec.resources === undefined ? made.files : withResources(made.files, spec.resources)
    const rendered = await this.#rendered(files, metadata.annotations, write.signal)
    const name = metadata.name!
    await this.states.set(namespace, name, {
      ...state,
      renderStatus: rendered.report,
      ...(made.merge !== undefined && { merge: made.merge }),
    })
    try {
      return await repository.createDraft({
        packageName: spec.packageName,
        workspace: spec.workspaceName,
        files: rendered.files,
        task,
        user: write.user.name,
      })
    } catch (error) {
      await this.states.delete(namespace, name)
      throw error
    }
  }

  /**
   * Returns the files that a task would make, after functions that run once and the pipeline, where these are
   * wanted. Stores nothing. @throws StatusError, GitError, PackageError
   */
  async preview(
    repository: PackageRepository,
    { packageName, tasks, resources, functions, render }: PackageRevisionPreview['spec'],
    write: StorageWrite,
  ): Promise<NonNullable<PackageRevisionPreview['status']>> {
    const task: Task = tasks?.[0] ?? { type: 'init', init: {} }
    const made = await taskFiles(task, this.#taskContext(repository, packageName, write))
    let files = resources === undefined ? made.files : withResources(made.files, resources)
    const conflicts = made.merge?.conflicts ?? []
    let last: RenderedPackage | undefined
    if (functions !== undefined) {
      last = await this.#engine.render(withPipeline(files, functions), write.signal)
      files = withBookkeepingOf(last.files, files)
    }
    if (render === true && last?.failure === undefined) {
      last = await this.#engine.render(files, write.signal)
      files = last.files
    }
    return {
      resources: Object.fromEntries([...files].filter(([, content]) => typeof content === 'string')) as Readonly<
        Record<string, string>
      >,
      ...(conflicts.length > 0 && { conflicts }),
      ...(last !== undefined && { renderStatus: last.report }),
      ...(last?.failure !== undefined && { failure: failureMessage(last.failure, last.report.result?.items ?? []) }),
    }
  }

  /** Replaces the files of a draft; files that are no UTF-8 stay. @throws StatusError, GitError */
  async saveResources(
    { repository, revision }: Located,
    resources: Readonly<Record<string, string>>,
    write: StorageWrite,
  ): Promise<{ readonly revision: Revision; readonly failure: string | undefined }> {
    const { namespace } = repository.settings
    const files = withResources(await repository.files(revision), resources)
    const state = this.states.get(namespace, revision.name)
    const rendered = await this.#rendered(files, state.metadata.annotations, write.signal)
    const saved = await repository.saveDraft(revision, {
      packageName: revision.packageName,
      workspace: revision.workspace,
      files: rendered.files,
      task: { type: 'push' },
      user: write.user.name,
    })
    await this.setState({ repository, revision: saved }, { ...state, renderStatus: rendered.report })
    return { revision: saved, failure: rendered.failure }
  }

  /** Writes the labels, annotations and gates of a draft into its Kptfile. */
  async savePackageMetadata(
    { repository, revision }: Located,
    wanted: PackageRevision,
    old: PackageRevision,
    { user }: StorageWrite,
  ): Promise<Revision> {
    const { packageMetadata, readinessGates } = wanted.spec
    const isSame =
      (packageMetadata === undefined || same(packageMetadata, old.spec.packageMetadata ?? {})) &&
      (readinessGates === undefined || same(readinessGates, old.spec.readinessGates ?? []))
    if (isSame || revision.lifecycle !== 'Draft') return revision
    const files = new Map(await repository.files(revision))
    const kptfile = files.get('Kptfile')
    if (typeof kptfile !== 'string') throw badRequest(`${revision.name} has no Kptfile`)
    files.set('Kptfile', withPackageMetadata(kptfile, wanted.spec))
    return repository.saveDraft(revision, {
      packageName: revision.packageName,
      workspace: revision.workspace,
      files,
      task: { type: 'push' },
      user: user.name,
    })
  }

  /** Stores what git does not hold, and notifies of it. */
  async setState({ repository, revision }: Located, state: RevisionState): Promise<void> {
    const { namespace } = repository.settings
    const before = this.states.get(namespace, revision.name)
    if (same(before, state)) return
    await this.states.set(namespace, revision.name, state)
    const [previous, object] = await Promise.all([
      packageRevisionObject(repository, revision, before),
      packageRevisionObject(repository, revision, state),
    ])
    for (const listener of this.#revisionListeners) listener({ type: 'put', object, previous })
    if (same(before.resourcesMetadata, state.resourcesMetadata) && same(before.renderStatus, state.renderStatus)) return
    const files = await repository.files(revision)
    const resources = resourcesObject(repository, revision, files, state)
    for (const listener of this.#resourceListeners)
      listener({ type: 'put', object: resources, previous: resourcesObject(repository, revision, new Map(), before) })
  }

  /** Returns the names of the revisions from which a task made one. */
  upstreamOf(namespace: string, name: string): readonly string[] {
    const task = this.repositories.revision({ namespace, name })?.revision.task
    return upstreamNames(task).filter((upstream) => upstream !== undefined)
  }

  /** Returns the names of the revisions that were made from one by a task. */
  downstreamOf(namespace: string, name: string): readonly string[] {
    return this.repositories
      .list(namespace)
      .flatMap((repository) => [...repository.revisions.values()])
      .filter((revision) => revision.name !== name && upstreamNames(revision.task).includes(name))
      .map((revision) => revision.name)
  }

  /** @throws StatusError 400 when the render fails, and the user does not ask to keep the files */
  async #rendered(
    files: PackageFiles,
    annotations: Readonly<Record<string, string>> | undefined,
    signal: AbortSignal,
  ): Promise<RenderedPackage> {
    const rendered = await this.#engine.render(files, signal)
    if (rendered.failure !== undefined && annotations?.[pushOnRenderFailure] !== 'true')
      throw renderFailure(
        `Package NOT pushed to remote. Fix locally (until 'kpt fn render' succeeds) and retry. Details: ${rendered.failure}`,
        rendered.report,
      )
    return rendered
  }

  #taskContext(repository: PackageRepository, packageName: string, write: StorageWrite): TaskContext {
    const { namespace } = repository.settings
    return {
      repository,
      packageName,
      engine: this.#engine,
      signal: write.signal,
      revision: (reference, field) => this.#reference(namespace, reference, field, write),
      fetch: (source) => this.#fetch(namespace, source, write),
      filesAt: (lock) => this.#filesAt(namespace, lock),
    }
  }

  async #reference(
    namespace: string,
    reference: RevisionReference | undefined,
    field: string,
    write: StorageWrite,
  ): Promise<Located> {
    const name = reference?.name ?? ''
    if (name === '') throw badRequest(`spec.tasks[0].${field} names no package revision`)
    const resource = 'packagerevisionresources'
    await this.#require({ verb: 'get', group: porchGroup, resource, namespace, name }, write, `spec.tasks[0].${field}`)
    const located = this.repositories.revision({ namespace, name })
    if (located === undefined) throw notFound(revisionsResource, name)
    return located
  }

  /** Requires a right of the caller: a task reads on behalf of its writer. @throws StatusError 403 */
  async #require(access: ResourceAccess, { user }: StorageWrite, reason: string): Promise<void> {
    const { allowed } = await this.#access.check({ user: user.name, groups: user.groups }, access)
    if (allowed) return
    const { verb, group, resource, namespace, name = '' } = access
    const scope = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`
    throw forbidden(
      { group, plural: resource },
      name,
      `User ${JSON.stringify(user.name)} cannot ${verb} resource "${resource}" in API group "${group}" ${scope}: ${reason}`,
    )
  }

  /** Fetches a package that is not registered. The caller needs the right to read the Secret, or local paths. */
  async #fetch(
    namespace: string,
    { repo, ref, directory, secretRef }: GitPackage,
    write: StorageWrite,
  ): Promise<FetchedPackage> {
    const { signal } = write
    const secret = secretRef?.name ?? ''
    if (transportOf(repo) === 'local')
      await this.#require(
        { verb: 'use', group: configGroup, resource: 'localrepositories' },
        write,
        `${repo} is a path on the server`,
      )
    if (secret === '') return fetchPackage({ url: repo }, { ref, directory }, signal)
    const access = { verb: 'get', group: '', resource: 'secrets', namespace, name: secret }
    await this.#require(access, write, 'the task names it in secretRef')
    const credentials = await readCredentials(this.#client, { namespace, name: secret }, signal)
    return fetchPackage({ url: repo, ...credentials }, { ref, directory }, signal)
  }

  async #filesAt(namespace: string, { git }: Lock): Promise<PackageFiles | undefined> {
    if (git?.commit === undefined) return undefined
    for (const repository of this.repositories.list(namespace)) {
      const own = selfLock(repository, { path: '', ref: '', commit: '' } as Revision).git?.repo
      if (own !== git.repo) continue
      const files = await repository.git.files(git.commit, (git.directory ?? '').replace(/^\/+|\/+$/g, ''))
      if (files !== undefined) return files
    }
    return undefined
  }

  async #changed(repository: PackageRepository, changes: readonly RevisionChange[]): Promise<void> {
    if (changes.length > maxNotified) {
      for (const listener of [...this.#revisionListeners, ...this.#resourceListeners]) listener({ type: 'replaced' })
      return
    }
    const { namespace } = repository.settings
    for (const { before, after } of changes) {
      const state = this.states.get(namespace, (after ?? before)!.name) ?? noState
      const [previous, object] = await Promise.all([
        before && packageRevisionObject(repository, before, state),
        after && packageRevisionObject(repository, after, state),
      ])
      notify(this.#revisionListeners, previous, object)
      if (before !== undefined && after !== undefined && before.commit === after.commit && before.ref === after.ref)
        continue
      await this.#resourcesChanged(repository, before, after, state)
    }
  }

  async #resourcesChanged(
    repository: PackageRepository,
    before: Revision | undefined,
    after: Revision | undefined,
    state: RevisionState,
  ): Promise<void> {
    if (this.#resourceListeners.size === 0) return
    // Selectors read no files: the previous state goes without.
    const previous = before && resourcesObject(repository, before, new Map(), state)
    const files = after && (await repository.files(after).catch(() => undefined))
    // Content that cannot be read is not served either.
    const object = after && resourcesObject(repository, after, files ?? new Map(), state)
    notify(this.#resourceListeners, previous, object)
  }
}

function notify(listeners: Iterable<Listener>, previous: KubeObject | undefined, object: KubeObject | undefined): void {
  for (const listener of listeners) {
    if (object !== undefined) listener({ type: 'put', object, previous })
    else if (previous !== undefined) listener({ type: 'delete', object: previous, previous })
  }
}

/** Returns the files with other content; files that are no UTF-8 stay. @throws StatusError 400 without a Kptfile */
function withResources(before: PackageFiles, resources: Readonly<Record<string, string>>): PackageFiles {
  const files = new Map<string, string | Uint8Array>(Object.entries(resources))
  for (const [path, content] of before) if (typeof content !== 'string') files.set(path, content)
  if (!files.has('Kptfile')) throw badRequest('a package needs a Kptfile; the resources have none')
  return files
}

function upstreamNames(task: Task | undefined): readonly (string | undefined)[] {
  return [task?.clone?.upstreamRef?.upstreamRef?.name, task?.upgrade?.newUpstreamRef?.name]
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual((a ?? null) as JsonObject, (b ?? null) as JsonObject)
}

/** Returns the error of a failed render, in the words of Porch. */
export function renderFailure(message: string, { result }: RenderReport): Error {
  return failure(400, 'BadRequest', `error rendering package in kpt function pipeline. ${message}`, {
    causes: (result?.items ?? []).map((item) => ({ message: JSON.stringify(item) })),
  })
}
