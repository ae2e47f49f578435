// The controller's way to the server: writes of output kinds are recorded, lists that the case forbids are refused.
import type { ApiRequest, ApiResponse, Impersonation, Transport, WatchEvent } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { CaseResource } from '@fairlead/metacontroller'
import { refOf } from '@fairlead/metacontroller'

/** A write that had an effect. */
export interface RecordedWrite {
  readonly op: 'create' | 'update' | 'delete'
  readonly ref: string
  /** The object after the write; for a delete the one before it. */
  readonly object: KubeObject
  readonly preconditionUid: string | undefined
  readonly propagationPolicy: string | undefined
}

/** Options of a {@link RecordingTransport}. */
export interface RecordingOptions {
  readonly outputs: readonly CaseResource[]
  readonly unlistable: ReadonlySet<string>
  /** Namespaces that the server made for itself; a case knows only its own. */
  readonly hiddenNamespaces: ReadonlySet<string>
}

/** Wraps a transport. */
export class RecordingTransport implements Transport {
  readonly writes: RecordedWrite[] = []
  readonly #inner: Transport
  readonly #options: RecordingOptions

  constructor(inner: Transport, options: RecordingOptions) {
    this.#inner = inner
    this.#options = options
  }

  get address(): string {
    return this.#inner.address
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const refused = this.#refusal(request)
    if (refused !== undefined) return refused
    const resource =
      request.method === 'GET' ? undefined : this.#options.outputs.find((one) => isObjectOf(request.path, one))
    if (resource === undefined) return this.#withoutHidden(request, await this.#inner.request(request))
    const before = await this.#inner.request({ method: 'GET', path: request.path })
    const response = await this.#inner.request(request)
    if (response.status < 300) this.#record(request, before, response)
    return response
  }

  async watch(request: ApiRequest): ReturnType<Transport['watch']> {
    const refused = this.#refusal(request)
    if (refused !== undefined) return { refused }
    const watching = await this.#inner.watch(request)
    if (!isNamespaces(request.path) || 'refused' in watching) return watching
    return { events: this.#visible(watching.events) }
  }

  as(who: Impersonation): Transport {
    return new RecordingTransport(this.#inner.as(who), this.#options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inner[Symbol.asyncDispose]()
  }

  #record(request: ApiRequest, before: ApiResponse, response: ApiResponse): void {
    const old = before.status === 200 ? (before.body as unknown as KubeObject) : undefined
    const answered = response.body as unknown as KubeObject
    const body = (request.body ?? {}) as { preconditions?: { uid?: string }; propagationPolicy?: string }
    const details = { preconditionUid: body.preconditions?.uid, propagationPolicy: body.propagationPolicy }
    if (request.method === 'DELETE') {
      if (old !== undefined) this.writes.push({ op: 'delete', ref: refOf(old), object: old, ...details })
    } else if (old === undefined) {
      this.writes.push({ op: 'create', ref: refOf(answered), object: answered, ...details })
    } else if (old.metadata.resourceVersion !== answered.metadata.resourceVersion) {
      this.writes.push({ op: 'update', ref: refOf(answered), object: answered, ...details })
    }
  }

  #refusal({ method, path }: ApiRequest): ApiResponse | undefined {
    const plural = method === 'GET' ? collectionOf(path) : undefined
    if (plural === undefined || !this.#options.unlistable.has(plural)) return undefined
    const message = `${plural} is forbidden: User "case" cannot list resource "${plural}" at the cluster scope`
    const body = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason: 'Forbidden',
      details: { kind: plural },
      code: 403,
    }
    return { status: 403, headers: {}, body, warnings: [] }
  }

  #withoutHidden(request: ApiRequest, response: ApiResponse): ApiResponse {
    if (request.method !== 'GET' || !isNamespaces(request.path) || response.status !== 200) return response
    const list = response.body as { readonly items: readonly unknown[] }
    const items = (list.items as readonly KubeObject[]).filter((object) => this.#isVisible(object))
    return { ...response, body: { ...list, items } as unknown as ApiResponse['body'] }
  }

  async *#visible(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchEvent> {
    for await (const event of events)
      if (event.type === 'BOOKMARK' || event.type === 'ERROR' || this.#isVisible(event.object)) yield event
  }

  #isVisible(object: KubeObject): boolean {
    return !this.#options.hiddenNamespaces.has(object.metadata.name ?? '')
  }
}

function isNamespaces(path: string): boolean {
  return path === '/api/v1/namespaces'
}

function rootOf(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
}

function isObjectOf(path: string, { apiVersion, plural, namespaced }: CaseResource): boolean {
  const root = rootOf(apiVersion)
  if (!path.startsWith(`${root}/`)) return false
  const parts = path.slice(root.length + 1).split('/')
  return namespaced
    ? parts.length === 4 && parts[0] === 'namespaces' && parts[2] === plural
    : parts.length === 2 && parts[0] === plural
}

/** The plural of a collection's path, `/api/v1/pods` or `/apis/g/v/namespaces/n/pods`; undefined for other paths. */
function collectionOf(path: string): string | undefined {
  const parts = path.split('/').slice(path.startsWith('/apis/') ? 4 : 3)
  if (parts.length === 1) return parts[0]
  return parts.length === 3 && parts[0] === 'namespaces' ? parts[2] : undefined
}
