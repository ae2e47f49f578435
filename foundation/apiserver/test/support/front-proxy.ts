// A front proxy and its authority, as a cluster has them, and raw requests over TLS with any certificate.
import { createPrivateKey } from 'node:crypto'
import { request } from 'node:https'
import type { Agent } from 'node:https'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { once } from 'node:events'
import { systemClock } from '@fairlead/client'
import { CertificateMaker } from '@fairlead/controller'
import type { KeyPair } from '@fairlead/controller'
import type { JsonObject } from '@fairlead/kube'

const hour = 3_600_000

/** An authority that makes certificates of clients. */
export class TestAuthority {
  readonly pair: KeyPair
  readonly #maker: CertificateMaker

  private constructor(maker: CertificateMaker, name: string) {
    this.#maker = maker
    this.pair = maker.authority([['CN', name]])
  }

  static async make(name: string): Promise<TestAuthority> {
    const now = systemClock.now()
    return new TestAuthority(await CertificateMaker.start({ from: now - hour, until: now + 24 * hour }), name)
  }

  client(name: string, ...groups: readonly string[]): KeyPair {
    const organizations = groups.map((group) => ['O', group] as const)
    const { cert, key } = this.pair
    return this.#maker.issue({ cert, key: createPrivateKey(key) }, [...organizations, ['CN', name]], 'client')
  }
}

/** A response over TLS. */
export interface TlsResponse {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly body: JsonObject
}

/** The address and the credentials of a request over TLS. */
export interface TlsRequest {
  readonly port: number
  readonly ca: string
  readonly certificate?: KeyPair | undefined
  readonly headers?: OutgoingHttpHeaders
  readonly body?: unknown
  readonly agent?: Agent
}

/** Sends one request over TLS, on a connection of its own unless an agent is given. */
export async function sendRequest(method: string, path: string, options: TlsRequest): Promise<TlsResponse> {
  const { port, ca, certificate, headers = {}, body, agent } = options
  const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const sent = request({
    host: '127.0.0.1',
    port,
    ca,
    ...certificate,
    method,
    path,
    agent: agent ?? false,
    headers: {
      ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }),
      ...headers,
    },
  })
  // A server that has answered need not read the rest.
  sent.on('error', () => undefined)
  sent.end(bytes)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  const isJson = answer.headers['content-type']?.startsWith('application/json') === true
  const one = isJson && text !== '' && !text.includes('}\n{')
  return {
    status: answer.statusCode!,
    headers: answer.headers,
    text,
    body: (one ? JSON.parse(text) : {}) as JsonObject,
  }
}
