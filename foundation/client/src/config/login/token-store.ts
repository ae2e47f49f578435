// Stores the tokens of an identity provider: in the kubeconfig that they were read from, shared with kubectl.
import { open, readFile, realpath, rename, rm, stat, unlink } from 'node:fs/promises'
import { asJson, parseYaml, setYamlStrings } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue } from '@fairlead/kube'

/** Stored tokens. */
export interface OidcTokens {
  readonly idToken?: string
  readonly refreshToken?: string
}

/** Stores the tokens of one user. */
export interface TokenStore {
  /** Returns the stored tokens; undefined when the user has no entry. */
  read(): Promise<OidcTokens | undefined>
  /** Stores tokens; returns false when that is not possible. */
  write(tokens: Required<OidcTokens>, clock: Clock): Promise<boolean>
}

/** Time limit for kubectl's lock on the file. Milliseconds. */
const patience = 2000
const pause = 50

/**
 * Stores tokens in the kubeconfig file that contains the user. Only that user's two fields are changed, and only while
 * the provider is the same.
 */
export class KubeconfigTokens implements TokenStore {
  readonly #file: string
  readonly #user: string
  readonly #issuer: string
  readonly #clientId: string

  constructor(file: string, user: string, provider: { readonly issuer: string; readonly clientId: string }) {
    this.#file = file
    this.#user = user
    this.#issuer = provider.issuer
    this.#clientId = provider.clientId
  }

  async read(): Promise<OidcTokens | undefined> {
    try {
      return this.#find(await readFile(this.#file, 'utf8'))?.tokens
    } catch {
      return undefined
    }
  }

  async write(tokens: Required<OidcTokens>, clock: Clock): Promise<boolean> {
    try {
      // A symbolic link is preserved.
      const file = await realpath(this.#file)
      await using lock = await lockFile(`${this.#file}.lock`, clock)
      return lock !== undefined && (await this.#replace(file, tokens))
    } catch {
      // The file is read-only (a mounted Secret): this process keeps the tokens in memory.
      return false
    }
  }

  async #replace(file: string, { idToken, refreshToken }: Required<OidcTokens>): Promise<boolean> {
    const source = await readFile(file, 'utf8')
    const found = this.#find(source)
    if (found === undefined) return false
    const edited = setYamlStrings(source, [
      { path: [...found.path, 'id-token'], value: idToken },
      { path: [...found.path, 'refresh-token'], value: refreshToken },
    ])
    if (edited === undefined) return false
    const { mode } = await stat(file)
    const next = `${file}.${process.pid}.tmp`
    try {
      const handle = await open(next, 'wx', mode & 0o777)
      try {
        await handle.chmod(mode & 0o777)
        await handle.writeFile(edited)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(next, file)
    } catch (error) {
      await rm(next, { force: true })
      throw error
    }
    return true
  }

  #find(source: string): { path: readonly (string | number)[]; tokens: OidcTokens } | undefined {
    const { users } = asJson(parseYaml(source) as object) as { users?: readonly JsonValue[] }
    const index = users?.findIndex((entry) => isObject(entry) && entry.name === this.#user) ?? -1
    const user = isObject(users?.[index]) ? users[index].user : undefined
    const provider = isObject(user) ? user['auth-provider'] : undefined
    const config = isObject(provider) && provider.name === 'oidc' ? provider.config : undefined
    if (!isObject(config) || config['idp-issuer-url'] !== this.#issuer || config['client-id'] !== this.#clientId)
      return undefined
    const tokens = { idToken: textOf(config['id-token']), refreshToken: textOf(config['refresh-token']) }
    return { path: ['users', index, 'user', 'auth-provider', 'config'], tokens }
  }
}

/** Acquires kubectl's lock file; undefined when another process holds it for too long. */
async function lockFile(path: string, clock: Clock): Promise<AsyncDisposable | undefined> {
  for (const end = clock.monotonic() + patience; ;) {
    try {
      await (await open(path, 'wx', 0o600)).close()
      return { [Symbol.asyncDispose]: () => unlink(path) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      if (clock.monotonic() >= end) return undefined
    }
    await clock.sleep(pause)
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
