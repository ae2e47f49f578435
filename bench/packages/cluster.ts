// The measured cluster: server and capability in this process, the server's data and the repositories on disk.
import { subscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, sqlite } from '@fairlead/apiserver'
import { installDefinitions, Manager } from '@fairlead/controller'
import type { CapabilityInstance } from '@fairlead/controller'
import { packages } from '@fairlead/packages'
import { PackageClient } from './package-client.ts'

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
export class PackageCluster extends PackageClient implements AsyncDisposable {
  readonly folder: string
  readonly #server: ApiServer
  readonly #manager: Manager
  readonly #instance: CapabilityInstance

  private constructor(server: ApiServer, manager: Manager, instance: CapabilityInstance, folder: string) {
    super(server.client({ manager: 'bench' }))
    this.#server = server
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#instance.stop()
    await this.#manager.stop(1000)
    await this.#server[Symbol.asyncDispose]()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
