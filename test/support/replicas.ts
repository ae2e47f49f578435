// Replicas that share work by shards: several managers on one server and one clock that only the test moves, each with
// its requests written down.
import { Client } from '@fairlead/client'
import type { Transport } from '@fairlead/client'
import { Manager, shardOf } from '@fairlead/controller'
import type { FakeClock } from '@fairlead/kube'
import { RecordingTransport } from './recorded-client.ts'
import { turns } from './until.ts'

/** The number of shards. */
export const shardCount = 4

interface Replica {
  readonly manager: Manager
  readonly transport: RecordingTransport
  readonly stop: () => Promise<unknown>
}

/** The replicas `a` and `b`, each with half of the shards when {@link Replicas.start} resolves. */
export class Replicas implements AsyncDisposable {
  readonly #clock: FakeClock
  readonly #live = new Map<string, Replica>()

  private constructor(clock: FakeClock) {
    this.#clock = clock
  }

  /** `setup` sets controllers up, and may give back what stops them before their manager stops. */
  static async start(
    clock: FakeClock,
    transport: () => Transport,
    setup: (manager: Manager) => Promise<unknown> | (() => Promise<unknown>) | void,
  ): Promise<Replicas> {
    const replicas = new Replicas(clock)
    for (const identity of ['a', 'b']) {
      const recording = new RecordingTransport(transport())
      let stop: unknown
      const manager = await Manager.start({
        client: new Client({ transport: recording, clock, random: () => 0.5 }),
        clock,
        shards: { namespace: 'default', name: 'replicas', count: shardCount, identity },
        setup: async (made) => {
          stop = await setup(made)
        },
      })
      const stopControllers =
        typeof stop === 'function' ? (stop as () => Promise<unknown>) : async (): Promise<void> => {}
      replicas.#live.set(identity, { manager, transport: recording, stop: stopControllers })
    }
    await replicas.pass(8)
    return replicas
  }

  /** Lets seconds pass, one by one. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.#clock.advance(1000)
      await turns()
    }
  }

  /**
   * The replica that works on a namespace, or on cluster-scoped objects for ''; the names of all when there are
   * several.
   */
  ownerOf(namespace: string): string {
    const shard = shardOf(namespace, shardCount)
    return [...this.#live].flatMap(([identity, { manager }]) => (manager.shards!.owns(shard) ? [identity] : [])).join()
  }

  /** The writes of each replica since the last call, as `METHOD path`, to paths that contain `part`. */
  written(part: string): Record<string, string[]> {
    const writes = (requests: readonly string[]): string[] =>
      requests.filter((request) => !request.startsWith('GET') && request.includes(part)).toSorted()
    return Object.fromEntries([...this.#live].map(([identity, { transport }]) => [identity, writes(transport.take())]))
  }

  /** One replica is cut off from the server, for good. */
  cut(identity: string): void {
    this.#live.get(identity)!.transport.instead = () => ({ status: 503, headers: {}, body: 'cut off', warnings: [] })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { manager, transport, stop } of this.#live.values()) {
      transport.instead = () => undefined
      await Promise.all([stop(), manager.stop(0)])
    }
  }
}
