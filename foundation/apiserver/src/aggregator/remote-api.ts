// One APIService that refers to a Service: polls the discovery of its server and writes the condition Available.
import { kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { badRequest, condition, findCondition, setCondition } from '@fairlead/kube'
import type { Condition, JsonValue, KubeObject, UserInfo } from '@fairlead/kube'
import type { KeyPair } from '@fairlead/controller'
import { timestamp } from '../objects/timestamp.ts'
import type { UpgradeHandler } from '../http/route.ts'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { textResponse } from '../response/response.ts'
import { ServiceUnresolved } from './service-target.ts'
import { remoteDefinitions } from './remote-definitions.ts'
import { RemoteServer } from './remote-server.ts'
import type { AddressOf } from './remote-server.ts'
import type { Upstream } from '../http/upstream.ts'
import type { RemoteApiService } from './remote-api-service.ts'

interface ApiService extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] }
}

const ApiService = kind<ApiService>('apiregistration.k8s.io/v1', 'APIService', {
  plural: 'apiservices',
  namespaced: false,
})

/** Dependencies of a {@link RemoteApi}. */
export interface RemoteApiDependencies {
  readonly client: Client
  readonly certificate: KeyPair
  readonly addressOf: AddressOf
  /** Called with the discovered resources after each successful check. */
  readonly onDiscovered: (definitions: readonly ResourceDefinition[]) => void
  readonly onError: (error: unknown) => void
}

/** Interval between checks of an available server. Milliseconds. */
const checkInterval = 15_000
/** Backoff after the first failed check, and its maximum. Milliseconds. */
const firstBackoff = 200
const maxBackoff = 5_000
/** Timeout of a check. Milliseconds. */
const checkTimeout = 5_000
/** Time for which the OpenAPI index is cached. Milliseconds. */
const indexLifetime = 5_000

/** The user of the checks. */
const aggregator: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] }

/** The result of a check, as the condition Available shows it. */
interface Availability {
  readonly status: boolean
  readonly reason: string
  readonly message: string
}

/** An APIService and its server. */
export class RemoteApi implements Upstream, Disposable {
  readonly api: RemoteApiService
  readonly #dependencies: RemoteApiDependencies
  readonly #server: RemoteServer
  #availability: Availability | undefined
  #backoff = firstBackoff
  #timer: Disposable | undefined
  #isChecking = false
  #disposed = false
  #index: { readonly at: number; readonly entry: JsonValue | undefined } | undefined

  constructor(api: RemoteApiService, dependencies: RemoteApiDependencies) {
    this.api = api
    this.#dependencies = dependencies
    this.#server = new RemoteServer(api, dependencies.certificate, dependencies.addressOf, () => this.check())
  }

  async forward(request: ServerRequest, user: UserInfo): Promise<ServerResponse> {
    checkUnambiguous(request.path)
    return this.#availability?.status === true
      ? this.#server.forward(request, user)
      : textResponse(503, 'service unavailable\n')
  }

  async upgrade(request: ServerRequest, user: UserInfo): Promise<UpgradeHandler | ServerResponse> {
    checkUnambiguous(request.path)
    return this.#availability?.status === true
      ? this.#server.upgrade(request, user)
      : textResponse(503, 'service unavailable\n')
  }

  /** Returns its entry in the OpenAPI index of its server; undefined when there is none. */
  async openApiEntry(): Promise<JsonValue | undefined> {
    if (this.#availability?.status !== true) return this.#index?.entry
    const { clock } = this.#dependencies.client
    if (this.#index !== undefined && clock.monotonic() - this.#index.at < indexLifetime) return this.#index.entry
    try {
      const { paths } = (await this.#document('/openapi/v3')) as {
        paths?: Record<string, JsonValue>
      }
      this.#index = { at: clock.monotonic(), entry: paths?.[`apis/${this.api.group}/${this.api.version}`] }
    } catch {
      // Fall back to the last known entry.
    }
    return this.#index?.entry
  }

  /** Checks the server now. */
  check(): void {
    if (this.#disposed || this.#isChecking) return
    this.#timer?.[Symbol.dispose]()
    this.#isChecking = true
    void this.#check()
      .catch(this.#dependencies.onError)
      .finally(() => {
        this.#isChecking = false
        this.#scheduleNext()
      })
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    this.#timer?.[Symbol.dispose]()
    this.#server[Symbol.dispose]()
  }

  #scheduleNext(): void {
    if (this.#disposed) return
    const { clock } = this.#dependencies.client
    const isAvailable = this.#availability?.status === true
    this.#timer = clock.timer(isAvailable ? checkInterval : this.#backoff, () => this.check())
    this.#backoff = isAvailable ? firstBackoff : Math.min(maxBackoff, this.#backoff * 2)
  }

  async #check(): Promise<void> {
    const availability = await this.#discover()
    if (this.#disposed) return
    this.#availability = availability
    await this.#writeCondition(availability)
  }

  async #discover(): Promise<Availability> {
    const { group, version, service } = this.api
    const path = `/apis/${group}/${version}`
    try {
      const list = await this.#document(path)
      const definitions = remoteDefinitions(this.api, list)
      if (!this.#disposed) this.#dependencies.onDiscovered(definitions)
      return { status: true, reason: 'Passed', message: 'all checks passed' }
    } catch (error) {
      const { message } = error as Error
      if (error instanceof ServiceUnresolved) return { status: false, reason: error.reason, message }
      const url = `https://${service.name}.${service.namespace}.svc:${service.port}${path}`
      return {
        status: false,
        reason: 'FailedDiscoveryCheck',
        message: `failing or missing response from ${url}: ${message}`,
      }
    }
  }

  async #document(path: string): Promise<JsonValue> {
    const stop = new AbortController()
    const abort = (): void => stop.abort(new Error(`no response within ${checkTimeout / 1000} s`))
    using _timeout = this.#dependencies.client.clock.timer(checkTimeout, abort)
    return await this.#server.document(path, aggregator, stop.signal)
  }

  async #writeCondition({ status, reason, message }: Availability): Promise<void> {
    const { client } = this.#dependencies
    const live = await client.find(ApiService, this.api.name)
    if (live === undefined) return
    const conditions = live.status?.conditions ?? []
    const known = findCondition(conditions, 'Available')
    if (known?.status === (status ? 'True' : 'False') && known.reason === reason && known.message === message) return
    const next = setCondition(
      conditions,
      condition('Available', status, { reason, message }),
      timestamp(client.clock.now()),
    )
    await client.patch(
      ApiService,
      this.api.name,
      { merge: { status: { conditions: next as unknown as JsonValue } } },
      { subresource: 'status' },
    )
  }
}

/**
 * Rejects ambiguous paths: this server authorizes the path as it parses it, and a server that decodes it before it
 * splits segments would read another one.
 * @throws StatusError 400
 */
function checkUnambiguous(path: string): void {
  for (const segment of path.split('/').map((encoded) => decodeURIComponent(encoded))) {
    if (segment === '.' || segment === '..' || segment.includes('/'))
      throw badRequest(`the path has a part that servers may read in different ways: ${JSON.stringify(segment)}`)
  }
}
