// The connection to AWS: an endpoint or credentials of the environment, or else, on an embedded server, a fake AWS in
// this process. Decided with the first call.
import { systemClock } from '@fairlead/client'
import type { Logger } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import type { ResourceKind } from '../engine/resource-kind.ts'
import type { ResourceManager } from '../engine/resource-manager.ts'
import type { ServiceName } from '../engine/service-model.ts'
import type { SdkApi, SdkOptions } from '../services/sdk-api.ts'
import type { ServiceApi } from '../services/service-api.ts'

/** Variables of the environment that give credentials, or say where they are. */
const credentialVariables = [
  'AWS_ACCESS_KEY_ID',
  'AWS_PROFILE',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
]

/** Times of the fake in a process that people use, in milliseconds: long enough to see them. */
const visibleTimes = { endpointCreating: 5_000, endpointUpdating: 5_000, endpointDeleting: 2_000 }

const fakeCredentials = { accessKeyId: 'fake', secretAccessKey: 'fake' }

/** Options of {@link AwsConnection}. */
export interface ConnectionOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Set where a fake AWS takes the place of one that is not given. */
  readonly fakeAllowed: boolean
  readonly log: Logger
  readonly clock: Clock
}

/** Returns the region that the environment names. */
export function regionOf(environment: ConnectionOptions['environment']): string {
  return environment['AWS_REGION'] ?? environment['AWS_DEFAULT_REGION'] ?? 'us-east-1'
}

/** Calls to AWS, by kind and region. */
export class AwsConnection implements AsyncDisposable {
  readonly #options: ConnectionOptions
  readonly #apis = new Map<string, SdkApi>()
  readonly #managers = new Map<string, Promise<ResourceManager>>()
  #place: Promise<Omit<SdkOptions, 'region' | 'clock'>> | undefined
  #stopFake: (() => Promise<void>) | undefined

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Returns the calls for a kind in a region. Loads them and the shapes of the services when first used. */
  manager(kind: ResourceKind, region: string, endpoint?: string): Promise<ResourceManager> {
    const key = `${kind.group}/${kind.kind}/${region}/${endpoint ?? ''}`
    let manager = this.#managers.get(key)
    if (manager === undefined) this.#managers.set(key, (manager = this.#load(kind, region, endpoint)))
    return manager
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const api of this.#apis.values()) api[Symbol.dispose]()
    await this.#place?.catch(() => undefined)
    await this.#stopFake?.()
  }

  async #load(kind: ResourceKind, region: string, endpoint: string | undefined): Promise<ResourceManager> {
    const { managerFor } = await import('../services/managers.ts')
    return managerFor(kind, (service) => this.#api(service, region, endpoint))
  }

  #api(service: ServiceName, region: string, endpoint: string | undefined): ServiceApi {
    return {
      call: async (operation, input) => {
        const finding = endpoint === undefined ? (this.#place ??= this.#find(region)) : this.#at(endpoint)
        const [place, { SdkApi }] = await Promise.all([finding, import('../services/sdk-api.ts')])
        const { clock } = this.#options
        const key = `${service}/${region}/${endpoint ?? ''}`
        let api = this.#apis.get(key)
        if (api === undefined) this.#apis.set(key, (api = new SdkApi(service, { ...place, region, clock })))
        return api.call(operation, input)
      },
    }
  }

  /** Returns the variable that gives credentials. */
  #credentials(): string | undefined {
    const { environment } = this.#options
    return credentialVariables.find((name) => environment[name] !== undefined && environment[name] !== '')
  }

  /** An emulator needs a signature, but no identity. */
  #at(endpoint: string): Omit<SdkOptions, 'region' | 'clock'> {
    return { endpoint, ...(this.#credentials() === undefined ? { credentials: fakeCredentials } : {}) }
  }

  async #find(region: string): Promise<Omit<SdkOptions, 'region' | 'clock'>> {
    const { environment, fakeAllowed, log } = this.#options
    const endpoint = environment['AWS_ENDPOINT_URL']
    const given = this.#credentials()
    if (endpoint !== undefined && endpoint !== '') {
      log.info('Calling AWS at the given endpoint', { endpoint, region })
      return this.#at(endpoint)
    }
    if (given !== undefined || !fakeAllowed) {
      log.info('Calling AWS with the credentials of the environment', { variable: given ?? 'default chain', region })
      return {}
    }
    const { FakeAws, FakeAwsServer } = await import('../fake/index.ts')
    const server = await FakeAwsServer.start(new FakeAws({ clock: systemClock, script: visibleTimes }))
    this.#stopFake = () => server[Symbol.asyncDispose]()
    log.info('Calling a fake AWS in this process: no endpoint and no credentials were given', {
      endpoint: server.url,
      region,
      instead: 'set AWS_ENDPOINT_URL, or AWS_PROFILE or AWS_ACCESS_KEY_ID',
    })
    return { endpoint: server.url, credentials: fakeCredentials }
  }
}
