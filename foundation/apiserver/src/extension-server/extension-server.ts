// A server of its own for delegated resources, behind an APIService of a real cluster: the same storages and the same handler as in `ApiServer.addStorage`,
// with the cluster's users and the cluster's roles. Start with ExtensionServer.start.
import type { Client } from '@fairlead/client'
import type { ResourceStorage, Logger } from '@fairlead/controller'
import type { ObjectKey } from '@fairlead/kube'
import type { ExtensionServerParts } from './server-parts.ts'

/** Where a server listens, and how the cluster finds it. */
export interface ExtensionServing {
  /** The Service that leads here; `port` is the Service's, 443 when left out. */
  readonly service: ObjectKey & { readonly port?: number }
  /** Address to listen on; all of them when left out. */
  readonly host?: string
  /** 8443 when left out; 0 for any free one. */
  readonly port?: number
  /** Further names and addresses under which it is called. */
  readonly hosts?: readonly string[]
  /** Where certificates are kept between starts and shared by replicas. In memory when left out. */
  readonly certificateSecret?: ObjectKey
}

/** What an aggregated server is made of. */
export interface ExtensionServerOptions {
  /** Of the cluster. What it needs to be allowed: {@link extensionServerRules}. */
  readonly client: Client
  readonly resources: readonly ResourceStorage[]
  readonly serving: ExtensionServing
  /** `groupPriorityMinimum` of the APIServices; 1000 when left out. */
  readonly groupPriority?: number
  /** Says nothing when left out. */
  readonly log?: Logger
  /** Milliseconds that it goes on serving after it has begun to say that it is not ready, so that the cluster stops asking. 0 when left out. */
  readonly shutdownDelay?: number
}

/** A server that listens. Disposing it stops it gracefully; its APIServices stay, for the next one. */
export class ExtensionServer implements AsyncDisposable {
  readonly #parts: ExtensionServerParts
  #stopped: Promise<void> | undefined

  private constructor(parts: ExtensionServerParts) {
    this.#parts = parts
  }

  /**
   * Starts a server: it listens when this resolves, and is ready once {@link problem} is undefined. Throws ResourceStorageError for resources that cannot be
   * served, ListenError for a port that cannot be had, and StatusError when the certificates' Secret can be neither read nor written.
   */
  static async start(options: ExtensionServerOptions): Promise<ExtensionServer> {
    const { startParts } = await import('./server-parts.ts')
    return new ExtensionServer(await startParts(options))
  }

  get host(): string {
    return this.#parts.listener.host
  }

  get port(): number {
    return this.#parts.listener.port
  }

  /** PEM of the authorities behind its certificate; the same as in its APIServices. */
  get caBundle(): string {
    return this.#parts.certificates.current.bundle
  }

  /** Why it is not ready; undefined when it is. `/readyz` says the same, without reasons. */
  get problem(): string | undefined {
    for (const { check } of this.#parts.checks) {
      const problem = check()
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** Says that it is not ready, waits for as long as it was told to, lets running requests end for a few seconds, and closes. */
  [Symbol.asyncDispose](): Promise<void> {
    return (this.#stopped ??= this.#parts.stop())
  }
}
