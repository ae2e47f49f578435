// TLS and credentials of a webhook, from its own fields or from the endpointConfigs entry of its host. They are read
// again periodically, so that a rotated certificate or token takes effect without a change of the MapController.
import type { Client } from '@fairlead/client'
import { ConfigMap, Secret } from '@fairlead/client'
import type { HookAuthorization, HookEndpoint, HookTls } from '@fairlead/controller'
import { RemoteError } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import type { EndpointConfig, Webhook } from '../api.ts'

type Source = Pick<EndpointConfig, 'caBundle' | 'authorization' | 'basicAuth' | 'clientTLS'>
interface Ref {
  readonly namespace: string
  readonly name: string
}

/** Milliseconds after which Secrets and ConfigMaps are read again. */
const maxAge = 60_000

/** The credentials that a webhook is called with, and the certificates that are trusted. */
export type Credentials = Pick<HookEndpoint, 'tls' | 'authorization'>

/**
 * The credentials of one webhook. A webhook with any such field of its own ignores `endpointConfigs`, as in
 * Metacontroller.
 */
export class WebhookCredentials {
  readonly #client: Client
  readonly #clock: Clock
  readonly #source: Source | undefined
  #until = -Infinity
  #known: Promise<Credentials> = Promise.resolve({})

  constructor(client: Client, clock: Clock, webhook: Webhook, url: URL, configs: readonly EndpointConfig[]) {
    this.#client = client
    this.#clock = clock
    this.#source = hasCredentials(webhook) ? webhook : configs.find(({ host }) => isHostOf(host, url))
  }

  /**
   * Returns the current credentials. Throws RemoteError `CredentialsMissing` when a Secret, ConfigMap or entry does not
   * exist.
   */
  async get(): Promise<Credentials> {
    if (this.#source === undefined) return {}
    if (this.#clock.now() >= this.#until) {
      this.#until = this.#clock.now() + maxAge
      this.#known = this.#read(this.#source)
      // The next call reads again.
      this.#known.catch(() => (this.#until = -Infinity))
    }
    return this.#known
  }

  async #read(source: Source): Promise<Credentials> {
    const tls = await this.#tls(source)
    const authorization = await this.#authorization(source)
    return { ...(tls === undefined ? {} : { tls }), ...(authorization === undefined ? {} : { authorization }) }
  }

  async #tls({ caBundle, clientTLS }: Source): Promise<HookTls | undefined> {
    if (caBundle === undefined && clientTLS === undefined) return undefined
    const ca = caBundle === undefined ? undefined : await this.#bundle(caBundle)
    const certificate =
      clientTLS === undefined ? undefined : await this.#secret(clientTLS.secretRef, clientTLS.certKey ?? 'tls.crt')
    const key =
      clientTLS === undefined
        ? undefined
        : await this.#secret(clientTLS.secretRef, clientTLS.privateKeyKey ?? 'tls.key')
    return { ca, certificate, key }
  }

  async #bundle({ inline, secretRef, configMapRef }: NonNullable<Source['caBundle']>): Promise<string | undefined> {
    if (inline !== undefined) return inline
    if (secretRef !== undefined) return this.#secret(secretRef, secretRef.key ?? 'ca.crt')
    return configMapRef === undefined ? undefined : this.#configMap(configMapRef, configMapRef.key ?? 'ca.crt')
  }

  async #authorization({ authorization, basicAuth }: Source): Promise<HookAuthorization | undefined> {
    if (authorization !== undefined) {
      return {
        type: authorization.type ?? 'Bearer',
        credentials: (await this.#secret(authorization.secretRef, authorization.secretRef.key)).trim(),
      }
    }
    if (basicAuth === undefined) return undefined
    return {
      username: await this.#secret(basicAuth.secretRef, basicAuth.usernameKey ?? 'username'),
      password: await this.#secret(basicAuth.secretRef, basicAuth.passwordKey ?? 'password'),
    }
  }

  async #secret({ namespace, name }: Ref, entry: string): Promise<string> {
    const value = (await this.#client.find(Secret, { namespace, name }))?.data?.[entry]
    if (value === undefined) throw missing('Secret', { namespace, name }, entry)
    return Buffer.from(value, 'base64').toString('utf8')
  }

  async #configMap({ namespace, name }: Ref, entry: string): Promise<string> {
    const found = await this.#client.find(ConfigMap, { namespace, name })
    const binary = found?.binaryData?.[entry]
    const value =
      found?.data?.[entry] ?? (binary === undefined ? undefined : Buffer.from(binary, 'base64').toString('utf8'))
    if (value === undefined) throw missing('ConfigMap', { namespace, name }, entry)
    return value
  }
}

function missing(kind: string, { namespace, name }: Ref, entry: string): RemoteError {
  return new RemoteError(
    'CredentialsMissing',
    `The hook needs the entry ${entry} of ${kind} ${namespace}/${name}, which does not exist; create it`,
  )
}

/** Reports whether a webhook has TLS or credentials of its own; then it ignores `endpointConfigs`. */
export function hasCredentials({ caBundle, authorization, basicAuth, clientTLS }: Webhook): boolean {
  return [caBundle, authorization, basicAuth, clientTLS].some((field) => field !== undefined)
}

/**
 * Returns whether an `endpointConfigs` host is that of a URL: names compare without case, and a host without a port
 * means the default port of the protocol, as in Metacontroller.
 */
export function isHostOf(host: string, url: URL): boolean {
  const address = `${url.protocol}//${host}`
  return URL.canParse(address) && new URL(address).host === url.host
}
