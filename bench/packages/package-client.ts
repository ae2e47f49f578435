// The steps of the benchmarks of packages, through the API alone: with ours, and with that of Porch.
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { RepositoryKind } from '@fairlead/packages'
import type { PackageRevision, Repository } from '@fairlead/packages'

const namespace = 'default'

/** Clients of the server of revisions, and of the one that has the Repositories. */
export class PackageClient {
  readonly client: Client
  readonly #repositories: Client

  constructor(client: Client, repositories: Client = client) {
    this.client = client
    this.#repositories = repositories
  }

  /** Registers a repository, a managed one without an address, and resolves when it is ready. */
  async register(name: string, repo?: string): Promise<Repository> {
    await this.#repositories.create<Repository>({
      apiVersion: 'config.porch.kpt.dev/v1alpha1',
      kind: 'Repository',
      metadata: { name, namespace },
      spec: { type: 'git', git: repo === undefined ? {} : { repo } },
    })
    const ready = await this.#repositories.waitFor(
      RepositoryKind,
      `${namespace}/${name}`,
      (object) =>
        object?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
      { timeout: 300_000 },
    )
    return ready as Repository
  }

  /** Creates a draft by a task. */
  create(
    repository: string,
    packageName: string,
    workspaceName: string,
    tasks?: readonly object[],
  ): Promise<PackageRevision> {
    return this.client.create({
      apiVersion: 'porch.kpt.dev/v1alpha1',
      kind: 'PackageRevision',
      metadata: { namespace },
      spec: { repository, packageName, workspaceName, ...(tasks !== undefined && { tasks }) },
    } as KubeObject) as Promise<PackageRevision>
  }

  /** Moves a revision through its lifecycle. */
  setLifecycle(revision: PackageRevision, lifecycle: string, subresource?: string): Promise<PackageRevision> {
    const wanted = { ...revision, spec: { ...revision.spec, lifecycle } } as PackageRevision
    return this.client.update(wanted, subresource === undefined ? {} : { subresource })
  }
}
