// The extension API server of capabilities that serve resources of their own storage. Only the leader serves: revisions
// are counted by one process. Start with ResourceHost.start.
import { ExtensionServer } from '@fairlead/apiserver'
import type { ExtensionServing } from '@fairlead/apiserver'
import { Backoff } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Logger } from '@fairlead/controller'
import type { RunningCapability } from './running-capability.ts'

/** Dependencies of a resource host. */
export interface ResourceHostOptions {
  readonly client: Client
  readonly logger: Logger
  readonly serving: ExtensionServing
  /** Resolves when this process leads. */
  readonly leading: Promise<void>
}

/** Between attempts to start the server. Milliseconds. */
const retry = { base: 1_000, cap: 60_000, jitter: 0.5 }

/** Milliseconds for which requests are still served after a process began to stop. */
const shutdownDelay = 2_000

/** Serves the resources of capabilities while this process leads. */
export class ResourceHost implements AsyncDisposable {
  readonly #options: ResourceHostOptions
  readonly #stop = new AbortController()
  readonly #serving: Promise<void>
  #server: ExtensionServer | undefined
  #problem: string | undefined

  private constructor(capabilities: readonly RunningCapability[], options: ResourceHostOptions) {
    this.#options = options
    this.#serving = this.#serve(capabilities)
  }

  /** Waits in the background until this process leads and the capabilities are set up. */
  static start(capabilities: readonly RunningCapability[], options: ResourceHostOptions): ResourceHost {
    return new ResourceHost(capabilities, options)
  }

  /** The reason why resources are not served although this process leads; undefined when they are. */
  get problem(): string | undefined {
    return this.#server?.problem ?? this.#problem
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new DOMException('The process stops', 'AbortError'))
    await this.#serving
    await this.#server?.[Symbol.asyncDispose]()
  }

  async #serve(capabilities: readonly RunningCapability[]): Promise<void> {
    const { client, logger, serving, leading } = this.#options
    const { signal } = this.#stop
    const stopped = new Promise<'stopped'>((resolve) =>
      signal.addEventListener('abort', () => resolve('stopped'), { once: true }),
    )
    const ready = leading.then(() => Promise.all(capabilities.map((capability) => capability.ready)))
    const instances = await Promise.race([ready, stopped])
    const waits = new Backoff({ ...retry, random: client.random })
    while (instances !== 'stopped' && !signal.aborted) {
      try {
        const resources = instances.flatMap(({ storages = [] }) => storages)
        this.#server = await ExtensionServer.start({ client, log: logger, resources, serving, shutdownDelay })
        logger.info('Serving resources', { service: serving.service, port: this.#server.port })
        return
      } catch (error) {
        this.#problem = (error as Error).message
        logger.error('Could not serve resources, trying again', { error })
        await client.clock.sleep(waits.next(), signal).catch(() => {})
      }
    }
  }
}
