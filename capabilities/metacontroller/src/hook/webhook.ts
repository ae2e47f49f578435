// A hook behind HTTP: address, credentials, ETags, and the parsing of its responses (originals/metacontroller.md §2.2).
import { hash } from 'node:crypto'
import type { Client } from '@fairlead/client'
import type { HookClient } from '@fairlead/controller'
import { HookError, RemoteError, ResponseReservation } from '@fairlead/controller'
import type { Clock, JsonObject } from '@fairlead/kube'
import { JsonSyntaxError, parseGoDuration } from '@fairlead/kube'
import type { EndpointConfig, HookVersion, Webhook } from '../api.ts'
import { HookBusyError } from '../engine/hook.ts'
import type { ResponseBody } from '../engine/response.ts'
import type { CallMetrics, CallOrigin } from './call-metrics.ts'
import { WebhookCredentials } from './credentials.ts'
import { EtagCache } from './etag-cache.ts'
import { parseResponse } from './response-parser.ts'

/** Options of a {@link WebhookCaller}. */
export interface WebhookOptions {
  readonly origin: CallOrigin
  readonly webhook: Webhook
  readonly version: HookVersion
  readonly endpointConfigs: readonly EndpointConfig[]
  readonly http: HookClient
  readonly client: Client
  readonly clock: Clock
  readonly metrics: CallMetrics
}

/** Bytes of the responses with ETags that one hook caches. */
const maxCachedBytes = 32 * 1024 * 1024

/** Returns the address of a webhook. Throws TypeError for an invalid one, which the schema refuses. */
export function webhookUrl({ url, service, path }: Webhook): URL {
  if (url !== undefined) return new URL(url)
  const { name, namespace, port = 80, protocol = 'http' } = service ?? { name: '', namespace: '' }
  return new URL(`${protocol}://${name}.${namespace}:${port}/${(path ?? '').replace(/^\//, '')}`)
}

/** A call of a webhook. */
export interface WebhookCall {
  readonly request: JsonObject
  /** Names the caller uniquely among all controllers; the key of cached responses (Q33). */
  readonly group: string
  readonly signal: AbortSignal
  /** Holds the memory of a large response until it is disposed; until the response is parsed when left out. */
  readonly reservation?: ResponseReservation
}

/** Calls one webhook. */
export class WebhookCaller {
  /** Unknown and duplicate fields of responses are errors. */
  readonly strict: boolean
  readonly #options: WebhookOptions
  readonly #url: URL
  readonly #timeout: number
  readonly #credentials: WebhookCredentials
  readonly #cache: EtagCache | undefined

  constructor(options: WebhookOptions) {
    const { webhook, version, endpointConfigs, client, clock } = options
    this.#options = options
    this.#url = webhookUrl(webhook)
    this.#timeout = parseGoDuration(webhook.timeout ?? '10s')
    this.strict = (webhook.responseUnMarshallMode ?? (version === 'v2' ? 'strict' : 'loose')) === 'strict'
    const { enabled = false, cacheTimeoutSeconds = 300, cacheCleanupSeconds = 900 } = webhook.etag ?? {}
    this.#cache = enabled
      ? new EtagCache({
          clock,
          maxAge: cacheTimeoutSeconds * 1000,
          cleanupInterval: cacheCleanupSeconds * 1000,
          maxBytes: maxCachedBytes,
        })
      : undefined
    this.#credentials = new WebhookCredentials(client, clock, webhook, this.#url, endpointConfigs)
  }

  /** Throws RemoteError for a failure of the server, HookBusyError when the server asks to retry later. */
  async call({ request, group, signal, reservation }: WebhookCall): Promise<ResponseBody> {
    const { http, origin, metrics, clock } = this.#options
    using parsing = new ResponseReservation()
    const cached = this.#cache?.get(group)
    const endpoint = { url: this.#url.href, timeout: this.#timeout, ...(await this.#credentials.get()) }
    const ended = metrics.begin(origin, this.#url.origin + this.#url.pathname)
    const started = clock.monotonic()
    const duration = (): number => (clock.monotonic() - started) / 1000
    try {
      const response = await http.call(endpoint, {
        body: request,
        headers: cached === undefined ? {} : { 'if-none-match': cached.etag },
        alsoAccepted: cached === undefined ? [] : [304, 412],
        signal,
        reservation: reservation ?? parsing,
      })
      ended(response.status, duration())
      if (response.status !== 200 && cached !== undefined) return cached.body
      const body = await this.#parse(response.text)
      const { etag } = response.headers
      if (etag !== undefined) this.#cache?.set(group, { etag, body }, response.bytesReceived)
      return body
    } catch (error) {
      const isSuspended = error instanceof HookError && error.code === 'HookSuspended'
      ended(isSuspended ? undefined : error instanceof HookError ? (error.status ?? 0) : 0, duration())
      if (error instanceof RemoteError && !isSuspended) metrics.failed(origin, error.code)
      throw asHookFailure(error)
    }
  }

  async #parse(text: string): Promise<ResponseBody> {
    try {
      return { ...(await parseResponse(text)), digest: hash('sha256', text, 'base64') }
    } catch (error) {
      if (error instanceof JsonSyntaxError)
        throw new RemoteError(
          'InvalidResponse',
          `The ${this.#options.origin.hook} hook responded with invalid JSON: ${error.message}`,
          {
            cause: error,
          },
        )
      throw error
    }
  }
}

/**
 * Gateways respond with these when the server is down: the failure concerns every group, not only the one that called.
 */
const unavailable = new Set([502, 503, 504])

/**
 * Returns the error to throw. A server that responded is up: an error for one group is not an outage, so it becomes a
 * RemoteError of that group alone, and the successes of other groups do not retry it.
 */
function asHookFailure(error: unknown): unknown {
  if (!(error instanceof HookError)) return error
  if (error.code === 'HookThrottled' && error.retryAfter !== undefined) return new HookBusyError(error.retryAfter)
  if (error.status === undefined || unavailable.has(error.status)) return error
  return new RemoteError(error.code, error.message, { retryAfter: error.retryAfter, cause: error })
}
