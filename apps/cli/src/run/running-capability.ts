// One capability beside a cluster: a manager of its own, with its own field manager and logs, that works while the
// process leads. Start with RunningCapability.start.
import { Backoff, isClientError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type {
  Capability,
  CapabilityInstance,
  CapabilityOptions,
  Logger,
  Metrics,
  SignedRoute,
} from '@fairlead/controller'
import { StatusError } from '@fairlead/kube'
import { setup } from '../capability-settings.ts'
import { accountName } from '../up/identities.ts'

/** Dependencies of a running capability. */
export interface RunningCapabilityHost {
  readonly client: Client
  /** The manager whose election or shards it takes part in. */
  readonly leader: Manager
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Between attempts to set a capability up whose rights are missing. Milliseconds. */
const retry = { base: 1_000, cap: 60_000, jitter: 0.5 }

/** A capability that was set up, or waits for rights that its set-up needs. */
export class RunningCapability implements AsyncDisposable {
  readonly #capability: Capability
  readonly #host: RunningCapabilityHost
  readonly #options: Omit<CapabilityOptions, 'signal'>
  readonly #stop = new AbortController()
  #manager: Manager | undefined
  #instance: CapabilityInstance | undefined
  #problem: string | undefined
  #starting: Promise<void> | undefined
  readonly #ready = Promise.withResolvers<CapabilityInstance>()

  private constructor(capability: Capability, options: Omit<CapabilityOptions, 'signal'>, host: RunningCapabilityHost) {
    this.#capability = capability
    this.#options = options
    this.#host = host
  }

  /**
   * Sets a capability up. When the API server refuses that (a right is missing), logs it and tries again in the
   * background. Throws a usage error for a setting whose value is not valid.
   */
  static async start(
    capability: Capability,
    options: Omit<CapabilityOptions, 'signal'>,
    host: RunningCapabilityHost,
  ): Promise<RunningCapability> {
    const running = new RunningCapability(capability, options, host)
    if (!(await running.#attempt())) running.#starting = running.#retry()
    return running
  }

  get name(): string {
    return this.#capability.name
  }

  /** Resolves with what the capability serves, once it is set up. */
  get ready(): Promise<CapabilityInstance> {
    return this.#ready.promise
  }

  /** Its endpoints whose callers sign their requests; none until it is set up. */
  get signedRoutes(): readonly SignedRoute[] {
    return this.#instance?.signedRoutes ?? []
  }

  /** The reason why it is not set up; undefined when it is. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Lets runs in progress end, and stops the capability. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new DOMException('The process stops', 'AbortError'))
    await this.#starting
    await this.#instance?.stop()
    await this.#manager?.stop()
  }

  async #attempt(): Promise<boolean> {
    const { client, leader, logger, metrics } = this.#host
    const manager = await Manager.start({
      client: client.with({ manager: accountName(this.#capability) }),
      follows: leader,
      metrics,
      logger: logger.child({ capability: this.name }),
    })
    try {
      this.#instance = await setup(this.#capability, manager, { ...this.#options, signal: this.#stop.signal })
      this.#manager = manager
      this.#problem = undefined
      this.#ready.resolve(this.#instance)
      return true
    } catch (error) {
      await manager.stop()
      if (!(error instanceof StatusError) && !isClientError(error)) throw error
      this.#problem = error.message
      if (!this.#stop.signal.aborted)
        logger.error('Could not set a capability up, trying again', { capability: this.name, error })
      return false
    }
  }

  async #retry(): Promise<void> {
    const { clock, random } = this.#host.client
    const waits = new Backoff({ ...retry, random })
    for (;;) {
      try {
        await clock.sleep(waits.next(), this.#stop.signal)
        if (await this.#attempt()) return
      } catch (error) {
        if (this.#stop.signal.aborted) return
        this.#host.logger.error('Could not set a capability up', { capability: this.name, error })
        this.#problem = (error as Error).message
      }
    }
  }
}
