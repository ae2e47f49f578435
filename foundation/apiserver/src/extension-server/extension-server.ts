// An extension API server behind APIServices of a real cluster: the same resource storages and the same handler as in
// `ApiServer.addStorage`, with the users and roles of the cluster. Start reading at ExtensionServer.start.
import type { Client } from '@fairlead/client'
import type { ResourceStorage, Logger } from '@fairlead/controller'
import type { ObjectKey } from '@fairlead/kube'
import type { ExtensionServerParts } from './server-parts.ts'

/** The address of an extension API server, and its Service. */
export interface ExtensionServing {
  /** The Service of this server; `port` is the Service's, 443 when left out. */
  readonly service: ObjectKey & { readonly port?: number }
  /** Address to listen on; all of them when left out. */
  readonly host?: string
  /** 8443 when left out; 0 for any free port. */
  readonly port?: number
  /** Further host names and addresses for its certificate. */
  readonly hosts?: readonly string[]
  /** The Secret that stores its certificates across restarts and replicas. In memory when left out. */
  readonly certificateSecret?: ObjectKey
}

/** Options of an extension API server. */
export interface ExtensionServerOptions {
  /** A client of the cluster with the permissions of {@link extensionServerRules}. */
  readonly client: Client
  readonly resources: readonly ResourceStorage[]
  readonly serving: ExtensionServing
  /** `groupPriorityMinimum` of the APIServices; 1000 when left out. */
  readonly groupPriority?: number
  /** Silent when left out. */
  readonly log?: Logger
  /**
   * Milliseconds for which it serves after it reports not ready, so that the cluster stops sending requests. 0 when
   * left out.
   */
  readonly shutdownDelay?: number
}

/** A running extension API server. Disposing it stops it gracefully; its APIServices stay, for the next one. */
export class ExtensionServer implements AsyncDisposable {
  readonly #parts: ExtensionServerParts
  #stopped: Promise<void> | undefined

  private constructor(parts: ExtensionServerParts) {
    this.#parts = parts
  }

  /**
   * Starts a server: it listens when this resolves, and is ready once {@link problem} is undefined. Throws
   * ResourceStorageError for invalid resource storages, ListenError for an unavailable port, and StatusError when the
   * certificates' Secret can be neither read nor written.
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

  /** PEM of the authorities of its certificate; the same as in its APIServices. */
  get caBundle(): string {
    return this.#parts.certificates.current.bundle
  }

  /** The reason why it is not ready; undefined when it is. `/readyz` reports the same without reasons. */
  get problem(): string | undefined {
    for (const { check } of this.#parts.checks) {
      const problem = check()
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** Reports not ready, waits for `shutdownDelay`, gives running requests a few seconds to end, and closes. */
  [Symbol.asyncDispose](): Promise<void> {
    return (this.#stopped ??= this.#parts.stop())
  }
}
