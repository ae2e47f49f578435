// Proxies requests to one extension API server: resolves its Service, adds the front-proxy certificate and the user's
// identity, streams both ways.
import { Agent, request as httpsRequest } from 'node:https'
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Duplex } from 'node:stream'
import { deepFreeze, parseJson, stringifyJson } from '@fairlead/kube'
import type { JsonValue, KubeObject, UserInfo } from '@fairlead/kube'
import type { KeyPair, UpgradedConnection } from '@fairlead/controller'
import { encodeJsonEvent } from '../handlers/watch-event.ts'
import type { UpgradeHandler } from '../http/route.ts'
import type { ServedEvent, ServerRequest, ServerResponse } from '../http/message.ts'
import { textResponse } from '../response/response.ts'
import { identityHeaders } from './front-proxy.ts'
import type { RemoteApiService } from './remote-api-service.ts'

/** Returns the address of a server. Throws an Error with the reason when it cannot be resolved. */
export type AddressOf = (api: RemoteApiService) => Promise<{ readonly host: string; readonly port: number }>

/** Hop-by-hop headers, and headers that identify the caller to this server. */
const hopHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Size limit of the response that refuses an upgrade. Bytes. */
const refusalLimit = 1024 * 1024
/** Timeout for connecting, and for idle kept-alive connections. Milliseconds. */
const connectTimeout = 30_000

/** One extension API server. */
export class RemoteServer implements Disposable {
  readonly api: RemoteApiService
  readonly #address: AddressOf
  readonly #agent: Agent
  readonly #onFailure: () => void

  /** `onFailure` is called when the server cannot be reached. */
  constructor(api: RemoteApiService, certificate: KeyPair, address: AddressOf, onFailure: () => void) {
    this.api = api
    this.#address = address
    this.#onFailure = onFailure
    this.#agent = new Agent({
      keepAlive: true,
      keepAliveMsecs: 30_000,
      maxFreeSockets: 64,
      timeout: connectTimeout,
      ...certificate,
      ...(api.ca === undefined ? {} : { ca: api.ca }),
      // Go trusts every certificate of a bundle, self-signed or not.
      allowPartialTrustChain: true,
      rejectUnauthorized: !api.insecure,
      servername: `${api.service.name}.${api.service.namespace}.svc`,
    })
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  /** Forwards a request and returns the response; 503 when the server cannot be reached. */
  async forward(request: ServerRequest, user: UserInfo): Promise<ServerResponse> {
    try {
      const response = await this.#send(request, user, {})
      if (request.method === 'HEAD') response.resume()
      return request.takesValue === true ? await valueOf(response, request) : streamOf(response)
    } catch (error) {
      request.signal.throwIfAborted()
      this.#onFailure()
      return textResponse(503, `${messageOf(error)}\n`)
    }
  }

  /** Upgrades the connection to the server, then the client's. */
  async upgrade(request: ServerRequest, user: UserInfo): Promise<UpgradeHandler | ServerResponse> {
    try {
      const upgraded = await new Promise<UpgradeHandler | IncomingMessage>((resolve, reject) => {
        const headers = { connection: 'Upgrade', upgrade: String(request.headers['upgrade'] ?? '') }
        const listen = (sent: ClientRequest): void =>
          void sent.once('upgrade', (response, socket, head) =>
            resolve(joining(response, socket, head, request.signal)),
          )
        this.#send({ ...request, body: undefined }, user, headers, listen).then(resolve, reject)
      })
      return typeof upgraded === 'function' ? upgraded : await refusalOf(upgraded)
    } catch (error) {
      request.signal.throwIfAborted()
      this.#onFailure()
      return textResponse(503, `${messageOf(error)}\n`)
    }
  }

  /** Reads a JSON document. Throws an Error for another status. */
  async document(path: string, user: UserInfo, signal: AbortSignal): Promise<JsonValue> {
    const headers = { accept: 'application/json' }
    const request = { method: 'GET', path, query: new URLSearchParams(), headers, signal }
    const response = await this.#send(request, user, {})
    const text = await wholeText(response, documentLimit, path)
    if (response.statusCode !== 200) throw new Error(`bad status from ${path}: ${response.statusCode}`)
    return parseJson(text)
  }

  /** Sends a request; retries a GET or HEAD when a kept-alive connection turns out to be closed. */
  async #send(
    request: Sent,
    user: UserInfo,
    headers: OutgoingHttpHeaders,
    listen: (sent: ClientRequest) => void = () => undefined,
  ): Promise<IncomingMessage> {
    const { host, port } = await this.#address(this.api)
    const { method, path, query, signal } = request
    const search = query.toString()
    const target = { host, port, method, path: search === '' ? path : `${path}?${search}`, agent: this.#agent, signal }
    const bytes = bytesOf(request.body)
    const stream = hasBody(request.headers) ? request.stream : undefined
    const sentHeaders = {
      ...forwardedHeaders(request),
      host: `${this.api.service.name}.${this.api.service.namespace}.svc`,
      ...(bytes === undefined ? {} : { 'content-length': bytes.length }),
      ...(request.headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }),
      ...identityHeaders(user),
      ...headers,
    }
    for (;;) {
      signal.throwIfAborted()
      const sent = httpsRequest({ ...target, headers: sentHeaders })
      listen(sent)
      try {
        return await responseTo(sent, bytes, stream)
      } catch (error) {
        const isStale = sent.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
        if (!isStale || stream !== undefined || !['GET', 'HEAD'].includes(method)) throw error
      }
    }
  }
}

/** The parts of a request that are sent. */
type Sent = Pick<ServerRequest, 'method' | 'path' | 'query' | 'headers' | 'signal'> &
  Partial<Pick<ServerRequest, 'body' | 'stream' | 'takesValue'>>

/** Resolves with the response; rejects without one. Later errors are those of the response stream. */
function responseTo(
  sent: ClientRequest,
  bytes: Uint8Array | undefined,
  stream: AsyncIterable<Uint8Array> | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on('timeout', () => {
      if (sent.socket?.connecting === true) sent.destroy(new Error('connection timed out'))
    })
    sent.once('response', (response) => {
      // A watch may be idle for any time.
      sent.socket?.setTimeout(0)
      resolve(response)
    })
    sent.on('error', reject)
    if (stream === undefined) return void sent.end(bytes)
    const source = Readable.from(stream)
    source.on('error', (error) => sent.destroy(error))
    sent.once('close', () => source.destroy())
    source.pipe(sent)
  })
}

function hasBody(headers: ServerRequest['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function forwardedHeaders({
  headers,
  takesValue,
}: Pick<ServerRequest, 'headers'> & { takesValue?: boolean | undefined }): OutgoingHttpHeaders {
  const kept: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || hopHeaders.has(name) || name.startsWith('impersonate-') || name.startsWith('x-remote-'))
      continue
    // In-process callers read the value, uncompressed.
    if (takesValue === true && name === 'accept-encoding') continue
    kept[name] = typeof value === 'string' ? value : [...value]
  }
  return kept
}

function bytesOf(body: ServerRequest['body']): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body
  return Buffer.from(stringifyJson(body.json))
}

function headersOf(answer: IncomingMessage): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {}
  for (const [name, values] of Object.entries(answer.headersDistinct)) {
    if (values === undefined || hopHeaders.has(name)) continue
    headers[name] = values.length === 1 ? values[0]! : values
  }
  return headers
}

function streamOf(answer: IncomingMessage): ServerResponse {
  return {
    status: answer.statusCode ?? 502,
    headers: headersOf(answer),
    body: { kind: 'stream', chunks: answer as AsyncIterable<Uint8Array> },
  }
}

/** Returns the response with objects and events in place of bytes, for in-process callers. */
async function valueOf(answer: IncomingMessage, { path, query }: ServerRequest): Promise<ServerResponse> {
  const plain = streamOf(answer)
  const isJson = answer.headers['content-type']?.includes('json') === true
  if (!isJson) return plain
  const { 'content-length': _length, ...headers } = plain.headers
  if (plain.status === 200 && ['1', 'true'].includes(query.get('watch') ?? ''))
    return { ...plain, headers, body: { kind: 'watch', events: eventsOf(answer), encode: encodeJsonEvent } }
  const value = deepFreeze(parseJson(await wholeText(answer, valueLimit, path)))
  return { ...plain, headers, body: { kind: 'json', value } }
}

async function* eventsOf(answer: IncomingMessage): AsyncGenerator<readonly ServedEvent[]> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield lines.filter((line) => line !== '').map(eventOf)
    }
  } finally {
    answer.destroy()
  }
}

function eventOf(line: string): ServedEvent {
  const { type, object } = deepFreeze(parseJson(line)) as unknown as ServedEvent
  return { type, object: object as KubeObject }
}

/** Bytes of a discovery or OpenAPI document; as of the responses of hooks. */
const documentLimit = 32 * 1024 * 1024
/** Bytes of an object or a list that a client in this process reads. */
const valueLimit = 256 * 1024 * 1024

/** Returns the text of a response. Throws an Error beyond the limit and reads no more. */
async function wholeText(answer: IncomingMessage, limit: number, path: string): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limit) throw new Error(`the answer to ${path} has more than ${limit} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Returns the first bytes of a response as text. */
async function textOf(answer: IncomingMessage, limit: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limit) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Pipes two upgraded connections into each other; the end of one ends the other. */
function joining(answer: IncomingMessage, remote: Duplex, head: Buffer, signal: AbortSignal): UpgradeHandler {
  return ({ socket, head: sentAlready }: UpgradedConnection) => {
    const end = (): void => {
      socket.destroy()
      remote.destroy()
    }
    for (const side of [socket, remote]) side.on('error', end).on('close', end)
    signal.addEventListener('abort', end, { once: true })
    const headers = answer.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [`${name}: ${all[index + 1]}`] : [],
    )
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\n\r\n`)
    if (head.length > 0) socket.write(head)
    if (sentAlready.length > 0) remote.write(sentAlready)
    socket.pipe(remote)
    remote.pipe(socket)
  }
}

async function refusalOf(answer: IncomingMessage): Promise<ServerResponse> {
  const { 'content-length': _length, ...headers } = headersOf(answer)
  const bytes = Buffer.from(await textOf(answer, refusalLimit))
  return { status: answer.statusCode ?? 502, headers, body: { kind: 'bytes', bytes } }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
