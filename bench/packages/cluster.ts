// The measured cluster: server and capability in this process, the server's data and the repositories on disk.
import { subscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, sqlite } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { installDefinitions, Manager } from '@fairlead/controller'
import type { CapabilityInstance } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { packages, RepositoryKind } from '@fairlead/packages'
import type { PackageRevision, Repository } from '@fairlead/packages'

const namespace = 'default'

/** Number of processes of git that this process has started. */
let started = 0
subscribe('child_process', (message) => {
  const { process } = message as {
    readonly process: { readonly spawnfile?: string; once(name: string, run: () => void): void }
  }
  process.once('spawn', () => {
    if (process.spawnfile === 'git') started++
  })
})

/** The cluster. */
export class PackageCluster implements AsyncDisposable {
  readonly client: Client
  readonly folder: string
  readonly #server: ApiServer
  readonly #manager: Manager
  readonly #instance: CapabilityInstance

  private constructor(server: ApiServer, manager: Manager, instance: CapabilityInstance, folder: string) {
    this.#server = server
    this.client = server.client({ manager: 'bench' })
    this.#manager = manager
    this.#instance = instance
    this.folder = folder
  }

  static async start(): Promise<PackageCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
    const server = await ApiServer.start({
      storage: sqlite(join(folder, 'store.db')),
      validators: packages.admission ?? [],
    })
    await installDefinitions(server.client(), [...packages.crds])
    const manager = await Manager.start({ client: server.client({ manager: 'fairlead-packages' }) })
    const instance = await packages.setup(manager, {
      resolve: new Map(),
      signal: manager.signal,
      dataFolder: join(folder, 'packages'),
    })
    for (const storage of instance.storages ?? []) await server.addStorage(storage)
    return new PackageCluster(server, manager, instance, folder)
  }

  /** Number of processes of git that were started so far. */
  get processes(): number {
    return started
  }

  /** Registers a repository, a managed one without an address, and resolves when it is ready. */
  async register(name: string, repo?: string): Promise<Repository> {
    await this.client.create<Repository>({
      apiVersion: 'config.porch.kpt.dev/v1alpha1',
      kind: 'Repository',
      metadata: { name, namespace },
      spec: { type: 'git', git: repo === undefined ? {} : { repo } },
    })
    const ready = await this.client.waitFor(
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#instance.stop()
    await this.#manager.stop(1000)
    await this.#server[Symbol.asyncDispose]()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
