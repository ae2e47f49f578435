// TLS and credentials of a webhook, from its own fields or from the endpointConfigs entry of its host. Read anew once in a while, so that a
// rotated certificate or token counts without a change of the MapController.
import type { Client } from '@fairlead/client'
import { kind } from '@fairlead/client'
import type { HookAuthorization, HookEndpoint, HookTls } from '@fairlead/controller'
import { RemoteError } from '@fairlead/controller'
import type { Clock, KubeObject } from '@fairlead/kube'
import type { EndpointConfig, Webhook } from '../api.ts'

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

interface ConfigMapObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
}

type Source = Pick<EndpointConfig, 'caBundle' | 'authorization' | 'basicAuth' | 'clientTLS'>
interface Ref {
  readonly namespace: string
  readonly name: string
}

const secrets = kind<SecretObject>('v1', 'Secret', { plural: 'secrets', namespaced: true })
const configMaps = kind<ConfigMapObject>('v1', 'ConfigMap', { plural: 'configmaps', namespaced: true })
/** Milliseconds after which Secrets and ConfigMaps are read again. */
const memory = 60_000

/** What a webhook shows and trusts. */
export type Credentials = Pick<HookEndpoint, 'tls' | 'authorization'>

/** The credentials of one webhook. A webhook with any such field of its own ignores `endpointConfigs` wholly, as in Metacontroller. */
export class WebhookCredentials {
  readonly #client: Client
  readonly #clock: Clock
  readonly #source: Source | undefined
  #until = -Infinity
  #known: Promise<Credentials> = Promise.resolve({})

  constructor(client: Client, clock: Clock, webhook: Webhook, url: URL, configs: readonly EndpointConfig[]) {
    this.#client = client
    this.#clock = clock
    const hasOwn = [webhook.caBundle, webhook.authorization, webhook.basicAuth, webhook.clientTLS].some(
      (field) => field !== undefined,
    )
    this.#source = hasOwn ? webhook : configs.find(({ host }) => host === url.host || host === url.hostname)
  }

  /** The credentials as of now. Throws RemoteError `CredentialsMissing` when what they refer to is not there. */
  async get(): Promise<Credentials> {
    if (this.#source === undefined) return {}
    if (this.#clock.now() >= this.#until) {
      this.#until = this.#clock.now() + memory
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
    const value = (await this.#client.find(secrets, { namespace, name }))?.data?.[entry]
    if (value === undefined) throw missing('Secret', { namespace, name }, entry)
    return Buffer.from(value, 'base64').toString('utf8')
  }

  async #configMap({ namespace, name }: Ref, entry: string): Promise<string> {
    const found = await this.#client.find(configMaps, { namespace, name })
    const binary = found?.binaryData?.[entry]
    const value =
      found?.data?.[entry] ?? (binary === undefined ? undefined : Buffer.from(binary, 'base64').toString('utf8'))
    if (value === undefined) throw missing('ConfigMap', { namespace, name }, entry)
    return value
  }
}

function missing(what: string, { namespace, name }: Ref, entry: string): RemoteError {
  return new RemoteError(
    'CredentialsMissing',
    `The hook needs the entry ${entry} of ${what} ${namespace}/${name}, which is not there; create it`,
  )
}
