// A hook that is a server: address, credentials, ETags, and the rules for its answers (originals/metacontroller.md §2.2).
import type { Client } from '@fairlead/client'
import type { HookClient } from '@fairlead/controller'
import { HookError, RemoteError } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import { JsonSyntaxError, parseGoDuration, parseJson } from '@fairlead/kube'
import type { EndpointConfig, HookVersion, Webhook } from '../api.ts'
import type { AnswerBody } from '../engine/response.ts'
import type { Trim } from '../engine/request.ts'
import { hookRequest } from '../engine/request.ts'
import type { HookName, MapMetrics } from '../runtime/metrics.ts'
import type { Hook, HookCall } from '../engine/hook.ts'
import { HookBusyError } from '../engine/hook.ts'
import { WebhookCredentials } from './credentials.ts'

/** What a webhook is made of. */
export interface WebhookOptions {
  readonly name: HookName
  readonly controllerName: string
  readonly webhook: Webhook
  readonly version: HookVersion
  readonly trim: Trim
  readonly endpointConfigs: readonly EndpointConfig[]
  readonly http: HookClient
  readonly client: Client
  readonly clock: Clock
  readonly metrics: MapMetrics
}

interface Remembered {
  readonly etag: string
  readonly body: AnswerBody
  readonly until: number
}

/** The address of a webhook. Throws TypeError for one that is none; the schema lets none such pass. */
export function webhookUrl({ url, service, path }: Webhook): URL {
  if (url !== undefined) return new URL(url)
  const { name, namespace, port = 80, protocol = 'http' } = service ?? { name: '', namespace: '' }
  return new URL(`${protocol}://${name}.${namespace}:${port}/${(path ?? '').replace(/^\//, '')}`)
}

/** A {@link Hook} behind HTTP. */
export class WebhookHook implements Hook {
  readonly strict: boolean
  readonly #options: WebhookOptions
  readonly #url: URL
  readonly #timeout: number
  readonly #credentials: WebhookCredentials
  readonly #remembered = new Map<string, Remembered>()
  #nextCleanup = 0

  constructor(options: WebhookOptions) {
    const { webhook, version, endpointConfigs, client, clock } = options
    this.#options = options
    this.#url = webhookUrl(webhook)
    this.#timeout = parseGoDuration(webhook.timeout ?? '10s')
    this.strict = (webhook.responseUnMarshallMode ?? (version === 'v2' ? 'strict' : 'loose')) === 'strict'
    this.#credentials = new WebhookCredentials(client, clock, webhook, this.#url, endpointConfigs)
  }

  async call({ facts, group, signal }: HookCall): Promise<AnswerBody> {
    const { http, webhook, version, trim, name, controllerName, metrics, clock } = this.#options
    const remembered = webhook.etag?.enabled === true ? this.#recall(group) : undefined
    const endpoint = { url: this.#url.href, timeout: this.#timeout, ...(await this.#credentials.get()) }
    const ended = metrics.calling(controllerName, name, this.#url.origin + this.#url.pathname)
    const begun = clock.monotonic()
    const took = (): number => (clock.monotonic() - begun) / 1000
    try {
      const answer = await http.call(endpoint, {
        body: hookRequest({ ...facts, version, trim }),
        headers: remembered === undefined ? {} : { 'if-none-match': remembered.etag },
        alsoAccepted: remembered === undefined ? [] : [304, 412],
        signal,
      })
      ended(answer.status, took())
      if (answer.status !== 200 && remembered !== undefined) return remembered.body
      const body = this.#parse(answer.text)
      if (webhook.etag?.enabled === true && answer.headers.etag !== undefined)
        this.#remember(group, answer.headers.etag, body)
      return body
    } catch (error) {
      ended(error instanceof HookError ? (error.status ?? 0) : 0, took())
      if (error instanceof RemoteError) metrics.failed(controllerName, name, error.code)
      throw asHookFailure(error)
    }
  }

  #parse(text: string): AnswerBody {
    const duplicates: string[] = []
    try {
      return { value: parseJson(text, { onDuplicate: (path) => void duplicates.push(path) }), duplicates }
    } catch (error) {
      if (error instanceof JsonSyntaxError)
        throw new RemoteError('InvalidAnswer', `The ${this.#options.name} hook answered no JSON: ${error.message}`, {
          cause: error,
        })
      throw error
    }
  }

  #recall(group: string): Remembered | undefined {
    const now = this.#options.clock.now()
    if (now >= this.#nextCleanup) {
      this.#nextCleanup = now + (this.#options.webhook.etag?.cacheCleanupSeconds ?? 900) * 1000
      for (const [key, { until }] of this.#remembered) if (until <= now) this.#remembered.delete(key)
    }
    const found = this.#remembered.get(group)
    return found !== undefined && found.until > now ? found : undefined
  }

  #remember(group: string, etag: string, body: AnswerBody): void {
    const until = this.#options.clock.now() + (this.#options.webhook.etag?.cacheTimeoutSeconds ?? 300) * 1000
    this.#remembered.set(group, { etag, body, until })
  }
}

/** Gateways answer these when nobody is behind them: what ends that concerns every group, not the one that was asked. */
const unavailable = new Set([502, 503, 504])

/** A server that answered is up: what it said against one group says nothing about others, and their successes end nothing for it. */
function asHookFailure(error: unknown): unknown {
  if (!(error instanceof HookError)) return error
  if (error.code === 'HookThrottled' && error.retryAfter !== undefined) return new HookBusyError(error.retryAfter)
  if (error.status === undefined || unavailable.has(error.status)) return error
  return new RemoteError(error.code, error.message, { retryAfter: error.retryAfter, cause: error })
}
