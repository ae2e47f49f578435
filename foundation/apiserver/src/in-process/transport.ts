// The client's Transport for the same process: calls the handler directly. Calls are always asynchronous, request
// bodies are copied, responses are the frozen, shared views.
import type { ApiRequest, ApiResponse, Impersonation, Transport, WatchEvent } from '@fairlead/client'
import { parseJson } from '@fairlead/kube'
import type { JsonValue, UserInfo } from '@fairlead/kube'
import { withAuthenticatedGroup } from '../auth/authenticators.ts'
import type { Handler } from '../handler.ts'
import type { ServerBody, ServerRequest, ServerResponse } from '../http/message.ts'
import { jsonType } from '../http/media-type.ts'
import { laterTurn } from './later-turn.ts'

/** Number of events after which a watch yields to the event loop. */
const eventsPerIteration = 250

type Headers = Readonly<Record<string, string | readonly string[]>>

/** A transport that acts as one user. Disposing it closes its watches, not the server. */
export class InProcessTransport implements Transport {
  readonly address: string = 'in-process'
  readonly #handler: Handler
  readonly #user: UserInfo
  readonly #closed = new AbortController()
  readonly #userAgent: string
  readonly #impersonation: Headers

  constructor(handler: Handler, user: UserInfo, userAgent: string, impersonation: Headers = {}) {
    this.#handler = handler
    this.#user = withAuthenticatedGroup(user)
    this.#userAgent = userAgent
    this.#impersonation = impersonation
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const signal =
      request.signal === undefined ? this.#closed.signal : AbortSignal.any([request.signal, this.#closed.signal])
    return responseOf(await this.#send(request, signal))
  }

  async watch(request: ApiRequest): ReturnType<Transport['watch']> {
    const stop = new AbortController()
    const signals = [stop.signal, this.#closed.signal, ...(request.signal === undefined ? [] : [request.signal])]
    const response = await this.#send(request, AbortSignal.any(signals))
    if (response.body.kind !== 'watch') return { refused: await responseOf(response) }
    return { events: eventsUntilLeft(response.body, stop) }
  }

  /** Returns a transport that impersonates a user; like over HTTP, the user of this transport needs the permission. */
  as(impersonation: Impersonation): Transport {
    return new InProcessTransport(this.#handler, this.#user, this.#userAgent, impersonationHeaders(impersonation))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new Error('the transport was closed'))
  }

  async #send(request: ApiRequest, signal: AbortSignal): Promise<ServerResponse> {
    signal.throwIfAborted()
    // A listener of the store never writes within its own notification, and a caller without pauses yields to others.
    await laterTurn()
    signal.throwIfAborted()
    const headers: Record<string, string | readonly string[]> = {
      ...this.#impersonation,
      'user-agent': this.#userAgent,
      accept: request.accept ?? jsonType,
    }
    for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
    if (request.body !== undefined) headers['content-type'] = request.contentType ?? jsonType
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(request.query ?? {}))
      if (value !== undefined) query.set(name, String(value))
    const message: ServerRequest = {
      method: request.method,
      path: request.path,
      query,
      headers,
      body: request.body === undefined ? undefined : { json: request.body as JsonValue },
      credentials: { authorization: undefined, certificate: undefined, headers },
      user: this.#user,
      takesValue: true,
      signal,
    }
    return this.#handler.handle(message)
  }
}

/** Returns the `Impersonate-*` headers. */
function impersonationHeaders({ user, uid, groups, extra }: Impersonation): Headers {
  return {
    'impersonate-user': user,
    ...(uid === undefined ? {} : { 'impersonate-uid': uid }),
    ...(groups === undefined ? {} : { 'impersonate-group': groups }),
    ...Object.fromEntries(
      Object.entries(extra ?? {}).map(([key, values]) => [`impersonate-extra-${encodeURIComponent(key)}`, values]),
    ),
  }
}

async function responseOf(response: ServerResponse): Promise<ApiResponse> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(response.headers))
    headers[name] = typeof value === 'string' ? value : value.join(', ')
  return { status: response.status, headers, body: await valueOf(response), warnings: warningsOf(response) }
}

async function valueOf({ body, headers }: ServerResponse): Promise<JsonValue> {
  if (body.kind === 'json') return body.value as JsonValue
  const bytes = body.kind === 'bytes' ? body.bytes : await collected(body)
  const text = new TextDecoder().decode(bytes)
  const type = headers['content-type']
  return typeof type === 'string' && type.startsWith(jsonType) && text !== '' ? parseJson(text) : text
}

async function collected(body: Extract<ServerBody, { kind: 'watch' | 'stream' }>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  if (body.kind === 'watch') for await (const events of body.events) chunks.push(...events.map(body.encode))
  else for await (const chunk of body.chunks) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function warningsOf({ headers }: ServerResponse): readonly string[] {
  const { warning = [] } = headers
  return (typeof warning === 'string' ? [warning] : warning).map((text) => {
    const quoted = /^299 \S+ (".*")$/.exec(text)?.[1]
    return quoted === undefined ? text : (JSON.parse(quoted) as string)
  })
}

async function* eventsUntilLeft(
  body: Extract<ServerBody, { kind: 'watch' }>,
  stop: AbortController,
): AsyncGenerator<WatchEvent> {
  try {
    let taken = 0
    for await (const events of body.events) {
      for (const { type, object } of events) {
        if (++taken % eventsPerIteration === 0) await laterTurn()
        yield { type, object }
      }
    }
  } finally {
    stop.abort(new Error('the watch was left'))
  }
}
