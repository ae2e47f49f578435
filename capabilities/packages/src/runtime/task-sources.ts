// Reads for the task of a new revision, bounded by the rights of its writer: revisions, git repositories and Secrets.
import type { AccessReviews, ResourceAccess, StorageWrite } from '@fairlead/controller'
import type { Client } from '@fairlead/client'
import { badRequest, forbidden, notFound } from '@fairlead/kube'
import { configGroup, porchGroup } from '../api.ts'
import type { GitPackage, Lock, RevisionReference } from '../api.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { transportOf } from '../git/remote.ts'
import { fetchPackage } from '../git/repository.ts'
import type { FetchedPackage } from '../git/repository.ts'
import { readCredentials } from './credentials.ts'
import type { PackageRepository } from './package-repository.ts'
import type { Located, Repositories } from './repositories.ts'
import { repositoryAddress } from './revision-object.ts'

const revisionsResource = { group: porchGroup, plural: 'packagerevisions' }

/** The right to read the files of a revision, without its name and namespace. */
const readFiles = { verb: 'get', group: porchGroup, resource: 'packagerevisionresources' } as const

/** The parts that {@link TaskSources} read from. */
export interface TaskSourcesOptions {
  readonly repositories: Repositories
  readonly client: Client
  readonly access: AccessReviews
}

/** The sources of the tasks of one writer, in one namespace. */
export class TaskSources {
  readonly namespace: string
  readonly #repositories: Repositories
  readonly #client: Client
  readonly #access: AccessReviews
  readonly #write: StorageWrite

  constructor({ repositories, client, access }: TaskSourcesOptions, namespace: string, write: StorageWrite) {
    this.namespace = namespace
    this.#repositories = repositories
    this.#client = client
    this.#access = access
    this.#write = write
  }

  /** Returns a revision whose files the writer may read. @throws StatusError 400, 403, 404 */
  async revision(reference: RevisionReference | undefined, field: string): Promise<Located> {
    const name = reference?.name ?? ''
    if (name === '') throw badRequest(`spec.tasks[0].${field} names no package revision`)
    const { namespace } = this
    await this.#require({ ...readFiles, namespace, name }, `spec.tasks[0].${field}`)
    const located = this.#repositories.revision({ namespace, name })
    if (located === undefined) throw notFound(revisionsResource, name)
    return located
  }

  /** Fetches a package that is not registered. The writer needs the right to read the Secret, or local paths. */
  async fetch({ repo, ref, directory, secretRef }: GitPackage): Promise<FetchedPackage> {
    const { namespace } = this
    const { signal } = this.#write
    const secret = secretRef?.name ?? ''
    if (transportOf(repo) === 'local')
      await this.#require(
        { verb: 'use', group: configGroup, resource: 'localrepositories' },
        `${repo} is a path on the server`,
      )
    const remote = { url: repo, timeout: this.#repositories.gitTimeout }
    if (secret === '') return fetchPackage(remote, { ref, directory }, signal)
    const access = { verb: 'get', group: '', resource: 'secrets', namespace, name: secret }
    await this.#require(access, 'the task names it in secretRef')
    const credentials = await readCredentials(this.#client, { namespace, name: secret }, signal)
    return fetchPackage({ ...remote, ...credentials }, { ref, directory }, signal)
  }

  /**
   * Returns the files at a lock; undefined where it is in no repository of the namespace. A lock is part of a package,
   * so its author chose the commit: the writer needs the right to read a revision with these files, or all of the
   * namespace. @throws StatusError 403
   */
  async filesAt({ git }: Lock): Promise<PackageFiles | undefined> {
    if (git?.commit === undefined) return undefined
    const path = (git.directory ?? '').replace(/^\/+|\/+$/g, '')
    for (const repository of this.#repositories.list(this.namespace)) {
      if (repositoryAddress(repository.settings) !== git.repo) continue
      const tree = await repository.git.tree(`${git.commit}:${path}`)
      if (tree === undefined) continue
      await this.#requireContent(repository, path, tree.hash, git.commit)
      return repository.git.files(git.commit, path)
    }
    return undefined
  }

  async #requireContent(repository: PackageRepository, path: string, tree: string, commit: string): Promise<void> {
    const { namespace } = this
    for (const revision of repository.revisions.values())
      if (
        revision.path === path &&
        revision.tree === tree &&
        (await this.#may({ ...readFiles, namespace, name: revision.name }))
      )
        return
    const reason = `the upstreamLock names the commit ${commit} of ${repository.settings.repository}, whose folder ${path} is in no revision that the user may read`
    await this.#require({ ...readFiles, namespace }, reason)
  }

  /** Requires a right of the writer. @throws StatusError 403 */
  async #require(access: ResourceAccess, reason: string): Promise<void> {
    if (await this.#may(access)) return
    const { verb, group, resource, namespace, name = '' } = access
    const scope = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`
    throw forbidden(
      { group, plural: resource },
      name,
      `User ${JSON.stringify(this.#write.user.name)} cannot ${verb} resource "${resource}" in API group "${group}" ${scope}: ${reason}`,
    )
  }

  async #may(access: ResourceAccess): Promise<boolean> {
    const { name, groups } = this.#write.user
    return (await this.#access.check({ user: name, groups }, access)).allowed
  }
}
