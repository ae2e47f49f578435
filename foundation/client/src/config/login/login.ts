// Credentials that are fetched and run out: from plugins, identity providers, the API server itself.
import type { Clock } from '@fairlead/kube'

/** What a request shows. */
export interface LoginCredentials {
  /** Bearer token. */
  readonly token?: string
  /** Client certificate and key (PEM). */
  readonly certificate?: string
  readonly key?: string
}

/** Where credentials come from. */
export interface Login {
  /** Credentials that are good now. Throws ClientError `CredentialsFailed` when there are none to be had. */
  credentials(): Promise<LoginCredentials>
  /** The server did not accept these: the next ones must be others. */
  refused(credentials: LoginCredentials): void
}

/** Credentials and how long they may be used, in milliseconds from now; for ever when undefined. */
export interface FetchedCredentials {
  readonly credentials: LoginCredentials
  readonly usableFor: number | undefined
}

/** Fetches credentials when they are needed, once for all who ask meanwhile, and keeps them while they are good. */
export class FetchedLogin implements Login {
  readonly #fetch: () => Promise<FetchedCredentials>
  readonly #clock: Clock
  #kept: { readonly credentials: LoginCredentials; readonly until: number } | undefined
  #fetching: Promise<LoginCredentials> | undefined

  /** Credentials from `fetch`, kept until they run out or are refused. */
  constructor(fetch: () => Promise<FetchedCredentials>, clock: Clock) {
    this.#fetch = fetch
    this.#clock = clock
  }

  async credentials(): Promise<LoginCredentials> {
    if (this.#kept !== undefined && this.#clock.monotonic() < this.#kept.until) return this.#kept.credentials
    this.#fetching ??= this.#renew().finally(() => (this.#fetching = undefined))
    return this.#fetching
  }

  refused(credentials: LoginCredentials): void {
    if (this.#kept?.credentials === credentials) this.#kept = undefined
  }

  async #renew(): Promise<LoginCredentials> {
    const begun = this.#clock.monotonic()
    const { credentials, usableFor = Infinity } = await this.#fetch()
    this.#kept = { credentials, until: begun + usableFor }
    return credentials
  }
}
