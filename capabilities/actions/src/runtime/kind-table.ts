// Kinds by the names that kubectl accepts: `pods`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`.
import { kindNamed, servedKinds } from '@fairlead/client'
import type { Client, ServedKind } from '@fairlead/client'
import type { ResourceKind } from '../engine/cluster.ts'

/**
 * Minimum milliseconds between two discovery requests when names are unknown: clients may repeat a name that does not
 * exist.
 */
const rediscoveryInterval = 5000

/** Kinds from discovery, read once, and again when a name is unknown. */
export class KindTable {
  readonly #client: Client
  #kinds: Promise<readonly ServedKind[]> | undefined
  #discoveredAt = 0

  constructor(client: Client) {
    this.#client = client
  }

  /** Forgets the kinds: the server serves others now. */
  reset(): void {
    this.#kinds = undefined
  }

  /**
   * Returns the kind of a name, as kubectl does: from the core group if it is there, else from the first group in the
   * order of discovery, in its preferred version.
   */
  async kindOf(type: string): Promise<ResourceKind | undefined> {
    const found = kindNamed(await this.#load(), type)
    if (found !== undefined || this.#client.clock.monotonic() - this.#discoveredAt < rediscoveryInterval) return found
    this.#kinds = undefined
    return kindNamed(await this.#load(), type)
  }

  #load(): Promise<readonly ServedKind[]> {
    if (this.#kinds === undefined) {
      this.#discoveredAt = this.#client.clock.monotonic()
      const loading = servedKinds(this.#client)
      this.#kinds = loading
      loading.catch(() => {
        if (this.#kinds === loading) this.#kinds = undefined
      })
    }
    return this.#kinds
  }
}
