// One APIService that leads to a Service: asks its server whether it is there and what it serves, again and again, and says so in its status.
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
import { AddressUnknown } from './service-target.ts'
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

/** What it lives on. */
export interface RemoteApiHost {
  readonly client: Client
  readonly certificate: KeyPair
  readonly addressOf: AddressOf
  /** Called with what is served, whenever that is known anew. */
  readonly onDiscovered: (definitions: readonly ResourceDefinition[]) => void
  readonly onError: (error: unknown) => void
}

/** Between looks at a server that was there. Milliseconds. */
const lookEvery = 15_000
/** After the first look that failed, and at most. Milliseconds. */
const firstWait = 200
const longestWait = 5_000
/** A look may take this long. Milliseconds. */
const lookTime = 5_000
/** OpenAPI's index is kept for so long. Milliseconds. */
const indexLifetime = 5_000

/** Whom the looks are on behalf of. */
const aggregator: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] }

/** The outcome of a look. */
interface Verdict {
  readonly status: boolean
  readonly reason: string
  readonly message: string
}

/** An APIService and its server. */
export class RemoteApi implements Upstream, Disposable {
  readonly api: RemoteApiService
  readonly #host: RemoteApiHost
  readonly #server: RemoteServer
  #verdict: Verdict | undefined
  #wait = firstWait
  #timer: Disposable | undefined
  #looking = false
  #disposed = false
  #index: { readonly at: number; readonly entry: JsonValue | undefined } | undefined

  constructor(api: RemoteApiService, host: RemoteApiHost) {
    this.api = api
    this.#host = host
    this.#server = new RemoteServer(api, host.certificate, host.addressOf, () => this.look())
  }

  async answer(request: ServerRequest, user: UserInfo): Promise<ServerResponse> {
    refuseAmbiguous(request.path)
    return this.#verdict?.status === true
      ? this.#server.answer(request, user)
      : textResponse(503, 'service unavailable\n')
  }

  async upgrade(request: ServerRequest, user: UserInfo): Promise<UpgradeHandler | ServerResponse> {
    refuseAmbiguous(request.path)
    return this.#verdict?.status === true
      ? this.#server.upgrade(request, user)
      : textResponse(503, 'service unavailable\n')
  }

  /** Its entry in OpenAPI's index, as its server gives it; undefined when there is none. */
  async openApiEntry(): Promise<JsonValue | undefined> {
    if (this.#verdict?.status !== true) return this.#index?.entry
    const { clock } = this.#host.client
    if (this.#index !== undefined && clock.monotonic() - this.#index.at < indexLifetime) return this.#index.entry
    try {
      const { paths } = (await this.#document('/openapi/v3')) as {
        paths?: Record<string, JsonValue>
      }
      this.#index = { at: clock.monotonic(), entry: paths?.[`apis/${this.api.group}/${this.api.version}`] }
    } catch {
      // What it said last is better than nothing.
    }
    return this.#index?.entry
  }

  /** Looks now. */
  look(): void {
    if (this.#disposed || this.#looking) return
    this.#timer?.[Symbol.dispose]()
    this.#looking = true
    void this.#look()
      .catch(this.#host.onError)
      .finally(() => {
        this.#looking = false
        this.#arm()
      })
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    this.#timer?.[Symbol.dispose]()
    this.#server[Symbol.dispose]()
  }

  #arm(): void {
    if (this.#disposed) return
    const { clock } = this.#host.client
    const isThere = this.#verdict?.status === true
    this.#timer = clock.timer(isThere ? lookEvery : this.#wait, () => this.look())
    this.#wait = isThere ? firstWait : Math.min(longestWait, this.#wait * 2)
  }

  async #look(): Promise<void> {
    const verdict = await this.#judge()
    if (this.#disposed) return
    this.#verdict = verdict
    await this.#tell(verdict)
  }

  async #judge(): Promise<Verdict> {
    const { group, version, service } = this.api
    const path = `/apis/${group}/${version}`
    try {
      const list = await this.#document(path)
      const definitions = remoteDefinitions(this.api, list)
      if (!this.#disposed) this.#host.onDiscovered(definitions)
      return { status: true, reason: 'Passed', message: 'all checks passed' }
    } catch (error) {
      const { message } = error as Error
      if (error instanceof AddressUnknown) return { status: false, reason: error.reason, message }
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
    const patience = (): void => stop.abort(new Error(`no answer within ${lookTime / 1000} s`))
    using _limit = this.#host.client.clock.timer(lookTime, patience)
    return await this.#server.document(path, aggregator, stop.signal)
  }

  async #tell({ status, reason, message }: Verdict): Promise<void> {
    const { client } = this.#host
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
 * What was allowed is what the path means to us. A server that decodes it before it looks for slashes would read something else.
 * @throws StatusError 400
 */
function refuseAmbiguous(path: string): void {
  for (const segment of path.split('/').map((encoded) => decodeURIComponent(encoded))) {
    if (segment === '.' || segment === '..' || segment.includes('/'))
      throw badRequest(`the path has a part that servers may read in different ways: ${JSON.stringify(segment)}`)
  }
}
