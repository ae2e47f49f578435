// Clients of the server in its own process, one per user, with one shared discovery cache.
import { Client } from '@fairlead/client'
import type { Discovery } from '@fairlead/client'
import type { Clock, UserInfo } from '@fairlead/kube'
import type { Handler } from '../handler.ts'
import { InProcessTransport } from './transport.ts'

/** Creates clients that act as a user. */
export class UserClients {
  readonly #handler: Handler
  readonly #clock: Clock
  readonly #userAgent: string
  readonly #discovery: Discovery

  /** `discoveryUser` reads discovery for all clients. */
  constructor(handler: Handler, clock: Clock, userAgent: string, discoveryUser: UserInfo) {
    this.#handler = handler
    this.#clock = clock
    this.#userAgent = userAgent
    this.#discovery = this.#client(discoveryUser).discovery
  }

  /** Returns a client that acts as `user`. */
  of(user: UserInfo): Client {
    return this.#client(user, this.#discovery)
  }

  #client(user: UserInfo, discovery?: Discovery): Client {
    const transport = new InProcessTransport(this.#handler, user, this.#userAgent)
    return new Client({ transport, clock: this.#clock }, discovery, {})
  }
}
