// Credentials that are fetched and expire: from plugins, identity providers, the API server.
import type { Clock } from '@fairlead/kube'

/** Credentials of a request. */
export interface LoginCredentials {
  /** Bearer token. */
  readonly token?: string
  /** Client certificate and key (PEM). */
  readonly certificate?: string
  readonly key?: string
}

/** A source of credentials. */
export interface Login {
  /** Returns valid credentials. Throws ClientError `CredentialsFailed` when there are none. */
  credentials(): Promise<LoginCredentials>
  /** Invalidates credentials that the server did not accept. */
  refused(credentials: LoginCredentials): void
}

/** Credentials and their lifetime, in milliseconds from now; unlimited when undefined. */
export interface FetchedCredentials {
  readonly credentials: LoginCredentials
  readonly usableFor: number | undefined
}

/** Fetches credentials on demand, once for all concurrent callers, and caches them while they are valid. */
export class FetchedLogin implements Login {
  readonly #fetch: () => Promise<FetchedCredentials>
  readonly #clock: Clock
  #kept: { readonly credentials: LoginCredentials; readonly until: number } | undefined
  #fetching: Promise<LoginCredentials> | undefined

  /** Creates a login that caches the credentials of `fetch` until they expire or are refused. */
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
