// The measured cluster: server and controllers in this process, with a count of the controllers' requests.
import { ApiServer, memory } from '@fairlead/apiserver'
import { Client } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { crds, startControllers } from '@fairlead/supply'
import type { SupplyControllers } from '@fairlead/supply'
import { crd } from '../../test/support/crd.ts'
import { CountingTransport } from '../counting-transport.ts'
import type { Requests } from '../counting-transport.ts'

export const thing = { apiVersion: 'bench.run/v1', kind: 'Thing' }
const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

const definition: KubeObject = crd({
  group: 'bench.run',
  kind: 'Thing',
  schema: { type: 'object', properties: { spec: free, status: free } },
  status: true,
})

/** The cluster. */
export class MeasuredCluster implements AsyncDisposable {
  readonly client: Client
  readonly manager: Manager
  readonly controllers: SupplyControllers
  readonly requests: Requests
  readonly #server: ApiServer

  private constructor(server: ApiServer, manager: Manager, controllers: SupplyControllers, requests: Requests) {
    this.#server = server
    this.client = server.client({ manager: 'bench' })
    this.manager = manager
    this.controllers = controllers
    this.requests = requests
  }

  static async start(): Promise<MeasuredCluster> {
    const server = await ApiServer.start({ storage: memory() })
    await installDefinitions(server.client(), [...crds, definition])
    const requests: Requests = { reads: 0, writes: 0 }
    const client = new Client({ transport: new CountingTransport(server.client().transport, requests) })
    let controllers: SupplyControllers | undefined
    const manager = await Manager.start({ client, setup: (started) => (controllers = startControllers(started)) })
    return new MeasuredCluster(server, manager, controllers!, requests)
  }

  /** Creates objects, 32 at a time. */
  async apply(objects: readonly KubeObject[]): Promise<void> {
    const left = objects.values()
    const worker = async (): Promise<void> => {
      for (const object of left) await this.client.create(object)
    }
    await Promise.all(Array.from({ length: 32 }, worker))
  }

  /** Number of keys in work queues or in progress. */
  get busy(): number {
    const { workloads, runnables } = this.controllers
    return [workloads, runnables].reduce(
      (sum, { controller }) => sum + controller.loop.queue.length + controller.loop.queue.working,
      0,
    )
  }

  /** Resolves when the controllers are idle. */
  async quiet(): Promise<void> {
    for (let quiet = 0, revision = -1; quiet < 5; revision = this.#server.store.revision) {
      await this.client.clock.sleep(10)
      quiet = this.busy === 0 && this.#server.store.revision === revision ? quiet + 1 : 0
    }
  }

  /** Returns the number of reconciles of one controller so far. */
  async reconciles(controller: string): Promise<number> {
    const text = await this.manager.metrics.text()
    const lines = text
      .split('\n')
      .filter(
        (line) => line.startsWith('controller_runtime_reconcile_total{') && line.includes(`controller="${controller}"`),
      )
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager.stop(1000)
    await this.#server[Symbol.asyncDispose]()
  }
}
