// Package revisions as objects: what the storages of the API share. It makes revisions by their tasks and saves them;
// RevisionChanges notifies of them, TaskSources bounds what a task reads.
import { Deadline } from '@fairlead/controller'
import type { AccessReviews, Informer, StorageWrite } from '@fairlead/controller'
import type { Client } from '@fairlead/client'
import { badRequest, failure, isTerminating, jsonEqual, serviceUnavailable } from '@fairlead/kube'
import type { JsonObject, ObjectKey } from '@fairlead/kube'
import { RepositoryKind } from '../api.ts'
import type { PackageRevision, PackageRevisionPreview, RenderReport, Task } from '../api.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { upstreamNames } from './upstream-names.ts'
import { GitError } from '../git/git-error.ts'
import { failureMessage } from '../engine/render/failure-message.ts'
import { withBookkeepingOf, withPackageMetadata, withPipeline } from './kptfile-edits.ts'
import type { PackageEngine, RenderedPackage } from './package-engine.ts'
import type { PackageRepository } from './package-repository.ts'
import { firstReadTimeout, notReadInTime } from './repositories.ts'
import type { Repositories, Located } from './repositories.ts'
import type { Revision } from './revision.ts'
import { RevisionChanges } from './revision-changes.ts'
import type { Revisions } from './revision-index.ts'
import type { KeptMetadata, RevisionState, RevisionStates } from './revision-states.ts'
import { taskFiles } from './task-files.ts'
import type { TaskContext } from './task-files.ts'
import { TaskSources } from './task-sources.ts'

/** A revision with this annotation keeps what is pushed even when its render fails. */
export const pushOnRenderFailure = 'porch.kpt.dev/push-on-render-failure'

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
  readonly changes: RevisionChanges
  readonly #engine: PackageEngine
  readonly #client: Client
  readonly #access: AccessReviews
  readonly #namespaces: Informer

  constructor({ repositories, states, engine, client, access, namespaces }: PackageServiceOptions) {
    this.#namespaces = namespaces
    this.repositories = repositories
    this.states = states
    this.#engine = engine
    this.#client = client
    this.#access = access
    this.changes = new RevisionChanges(repositories, states)
  }

  [Symbol.dispose](): void {
    this.changes[Symbol.dispose]()
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
    using limit = new Deadline(this.#client.clock, firstReadTimeout, signal, notReadInTime)
    const limited = limit.signal
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

  /**
   * Creates a revision: its task, the render and the commit are one save. `check` throws when it may not be created
   * beside the revisions that there are. @throws StatusError, GitError, PackageError
   */
  async createRevision(
    repository: PackageRepository,
    { metadata, spec }: PackageRevision,
    state: RevisionState,
    write: StorageWrite,
    check: (revisions: Revisions) => void,
  ): Promise<Revision> {
    check(repository.revisions)
    const { namespace } = repository.settings
    const task: Task = spec.tasks?.[0] ?? { type: 'init', init: {} }
    const made = await taskFiles(task, this.#taskContext(repository, spec.packageName, write))
    const files = spec.resources === undefined ? made.files : withResources(made.files, spec.resources)
    const rendered = await this.#rendered(files, metadata.annotations, write.signal)
    const name = metadata.name!
    using _kept = this.states.keep(namespace, name)
    const stored = this.states.set(namespace, name, {
      ...state,
      renderStatus: rendered.report,
      ...(made.merge !== undefined && { merge: made.merge }),
    })
    try {
      const draft = {
        packageName: spec.packageName,
        workspace: spec.workspaceName,
        files: rendered.files,
        executables: made.executables,
        task,
        user: write.user.name,
      }
      const [revision] = await Promise.all([repository.createDraft(draft, check, stored), stored])
      return revision
    } catch (error) {
      // A push whose answer was lost may have arrived: the revision then appears with its labels and owners.
      if (!isUncertain(error)) await this.states.delete(namespace, name)
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
    resourcesMetadata: KeptMetadata,
    write: StorageWrite,
  ): Promise<{ readonly revision: Revision; readonly failure: string | undefined }> {
    const { namespace } = repository.settings
    const files = withResources(await repository.files(revision), resources)
    const state = this.states.get(namespace, revision.name)
    const rendered = await this.#rendered(files, state.metadata.annotations, write.signal)
    const draft = {
      packageName: revision.packageName,
      workspace: revision.workspace,
      files: rendered.files,
      task: { type: 'push' },
      user: write.user.name,
    }
    const fields = { renderStatus: rendered.report, resourcesMetadata }
    const saved = await this.changes.save({ repository, revision }, fields, () => repository.saveDraft(revision, draft))
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
    const { repositories } = this
    const options = { repositories, client: this.#client, access: this.#access }
    const sources = new TaskSources(options, repository.settings.namespace, write)
    return { repository, packageName, engine: this.#engine, signal: write.signal, sources }
  }
}

/** Reports whether a failed push may have arrived. */
function isUncertain(error: unknown): boolean {
  return error instanceof GitError && ['Unreachable', 'Timeout', 'Failed'].includes(error.code)
}

/** Returns the files with other content; files that are no UTF-8 stay. @throws StatusError 400 without a Kptfile */
function withResources(before: PackageFiles, resources: Readonly<Record<string, string>>): PackageFiles {
  const files = new Map<string, string | Uint8Array>(Object.entries(resources))
  for (const [path, content] of before) if (typeof content !== 'string') files.set(path, content)
  if (!files.has('Kptfile')) throw badRequest('a package needs a Kptfile; the resources have none')
  return files
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
