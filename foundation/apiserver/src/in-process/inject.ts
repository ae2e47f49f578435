// Requests without a socket: `server.inject()` for tests, with the same bytes as over the wire.
import { parseJson, stringifyJson } from '@fairlead/kube'
import type { JsonValue, KubeObject, UserInfo } from '@fairlead/kube'
import type { Handler } from '../handler.ts'
import type { ServerBody, ServerRequest } from '../http/message.ts'
import { laterTurn } from './later-turn.ts'

/** A request. `path` includes the query. A body that is neither a string nor bytes is sent as JSON. */
export interface InjectedRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | JsonValue | KubeObject
  /**
   * The user of the request; when left out, `headers` are authenticated, and a request without credentials is
   * anonymous.
   */
  readonly user?: UserInfo
  readonly signal?: AbortSignal
}

/** The response. A watch is read to its end, so set `timeoutSeconds` or a signal. */
export interface InjectedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** The body as a string. */
  readonly body: string
  readonly bytes: Uint8Array
  /** Parses the body as JSON. Throws JsonSyntaxError. */
  json(): JsonValue
}

/** Passes one request to the handler. */
export async function injectRequest(handler: Handler, request: InjectedRequest): Promise<InjectedResponse> {
  const question = request.path.indexOf('?')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
  const message: ServerRequest = {
    method: request.method,
    path: question < 0 ? request.path : request.path.slice(0, question),
    query: new URLSearchParams(question < 0 ? '' : request.path.slice(question + 1)),
    headers,
    body: bodyOf(request.body),
    credentials: { authorization: headers['authorization'], certificate: undefined, headers },
    ...(request.user === undefined ? {} : { user: request.user }),
    signal: request.signal ?? new AbortController().signal,
  }
  await laterTurn()
  const { status, headers: answered, body } = await handler.handle(message)
  const bytes = await readBody(body)
  const text = new TextDecoder().decode(bytes)
  return { status, headers: answered, body: text, bytes, json: () => parseJson(text) }
}

function bodyOf(body: InjectedRequest['body']): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body
  return new TextEncoder().encode(typeof body === 'string' ? body : stringifyJson(body as JsonValue))
}

async function readBody(body: ServerBody): Promise<Uint8Array> {
  switch (body.kind) {
    case 'json':
      return body.bytes ?? new TextEncoder().encode(stringifyJson(body.value as JsonValue))
    case 'bytes':
      return body.bytes
    default: {
      const chunks: Uint8Array[] = []
      if (body.kind === 'watch') for await (const events of body.events) chunks.push(...events.map(body.encode))
      else for await (const chunk of body.chunks) chunks.push(chunk)
      return Buffer.concat(chunks)
    }
  }
}
