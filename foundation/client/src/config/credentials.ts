// The credentials of requests: tokens, token files that rotate, logins.
import { readFile } from 'node:fs/promises'
import type { Clock } from '@fairlead/kube'
import { ClientError } from '../client-error.ts'
import type { Connection } from './connection.ts'
import type { Login, LoginCredentials } from '../login.ts'

/** The credentials of one request. */
export interface Presented {
  readonly headers: Readonly<Record<string, string>>
  /** From a login; {@link Credentials.refused} invalidates it. */
  readonly login?: LoginCredentials
}

/** Lifetime of a token that was read from a file. Milliseconds; as client-go. */
const tokenAge = 60_000

/** Provides the credentials of each request. */
export class Credentials {
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #login: Login | undefined
  #token: string | undefined
  #readAt = -Infinity

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection
    this.#clock = clock
    this.#login = connection.login?.(clock)
    this.#token = connection.token
  }

  /**
   * Returns the current credentials. Throws ClientError `InvalidKubeconfig` when a token file cannot be read and no
   * token is known, `CredentialsFailed` when a login fails.
   */
  async present(): Promise<Presented> {
    if (this.#login === undefined) return { headers: await this.#headers() }
    const login = await this.#login.credentials()
    return { headers: login.token === undefined ? {} : { authorization: `Bearer ${login.token}` }, login }
  }

  /** Handles a 401 response. Returns true when new credentials may be accepted. */
  refused({ login }: Presented): boolean {
    if (login === undefined) return false
    this.#login?.refused(login)
    return true
  }

  async #headers(): Promise<Readonly<Record<string, string>>> {
    const { tokenFile, username, password } = this.#connection
    if (tokenFile !== undefined && this.#clock.monotonic() - this.#readAt >= tokenAge) await this.#readToken(tokenFile)
    if (this.#token !== undefined) return { authorization: `Bearer ${this.#token}` }
    if (username === undefined) return {}
    return { authorization: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` }
  }

  async #readToken(file: string): Promise<void> {
    try {
      this.#token = (await readFile(file, 'utf8')).trim()
      this.#readAt = this.#clock.monotonic()
    } catch (cause) {
      // A rotating file may be missing for a moment; the old token usually still works.
      if (this.#token === undefined)
        throw new ClientError(
          'InvalidKubeconfig',
          `The token file ${file} cannot be read: ${(cause as Error).message}`,
          { cause },
        )
    }
  }
}
