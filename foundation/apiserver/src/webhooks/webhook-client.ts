// The client of webhooks: POSTs a review as JSON and reads the response within the timeout and a size limit. Errors
// have the words of Go's HTTP client, which users of the real server know.
import { HookClient, HookError } from '@fairlead/controller'
import type { HookResponse, HookResolver } from '@fairlead/controller'
import { isJsonObject, JsonSyntaxError, parseJson, stringifyJson } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue } from '@fairlead/kube'
import { shownUrl, webhookUrl } from './client-config.ts'
import type { WebhookClientConfig } from './client-config.ts'

/**
 * A webhook call failed or its response is unreadable.
 * @internal reported as a StatusError
 */
export class WebhookError extends Error {
  readonly code = 'WebhookFailed'
}

/** One call. */
export interface WebhookCall {
  readonly config: WebhookClientConfig
  readonly body: JsonObject
  /** Timeout of the whole call in seconds. */
  readonly timeoutSeconds: number
  /** Adds the timeout to the query, as admission does. */
  readonly announcesTimeout: boolean
}

/** The maximum size of a response in bytes. */
const maxResponseBytes = 32 * 1024 * 1024
/** Every status; the caller judges it. */
const everyStatus: readonly number[] = Array.from({ length: 400 }, (_unused, index) => 200 + index)

/** Calls webhooks over kept-alive connections. */
export class WebhookClient implements AsyncDisposable {
  readonly #hooks: HookClient

  constructor(options: { readonly clock: Clock; readonly resolve: HookResolver }) {
    this.#hooks = new HookClient({ ...options, userAgent: 'kube-apiserver-admission' })
  }

  /** Posts a review and returns the webhook's. @throws WebhookError */
  async post({ config, body, timeoutSeconds, announcesTimeout }: WebhookCall): Promise<JsonObject> {
    const url = webhookUrl(config)
    if (announcesTimeout) url.searchParams.set('timeout', `${timeoutSeconds}s`)
    const answer = await this.#call(url, shownUrl(config, url), { config, body, timeoutSeconds })
    if (answer.status < 200 || answer.status > 206) throw new WebhookError(statusText(answer))
    if (answer.text === '') {
      const type = String(answer.headers['content-type'] ?? '')
      throw new WebhookError(`0-length response with status code: ${answer.status} and content type: ${type}`)
    }
    return readReview(answer.text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hooks[Symbol.asyncDispose]()
  }

  async #call(
    url: URL,
    shown: string,
    { config, body, timeoutSeconds }: Pick<WebhookCall, 'config' | 'body' | 'timeoutSeconds'>,
  ): Promise<HookResponse> {
    const { caBundle = '' } = config
    try {
      return await this.#hooks.call(
        {
          url: url.toString(),
          timeout: timeoutSeconds * 1000,
          maxResponseBytes,
          ...(caBundle === '' ? {} : { tls: { ca: Buffer.from(caBundle, 'base64').toString('utf8') } }),
        },
        { body, alsoAccepted: everyStatus },
      )
    } catch (error) {
      if (error instanceof HookError)
        throw new WebhookError(`Post ${JSON.stringify(shown)}: ${reasonOf(error, url)}`, { cause: error })
      throw error
    }
  }
}

function reasonOf(error: HookError, url: URL): string {
  const cause = error.cause as (Error & { code?: string; address?: string; port?: number }) | undefined
  switch (error.code) {
    case 'HookTimeout':
      return 'context deadline exceeded'
    case 'HookAddressUnknown':
      return cause?.message ?? error.message
    case 'HookResponseTooLarge':
      return `the response has more than ${maxResponseBytes} bytes`
    default:
      return connectionText(cause, url) ?? error.message
  }
}

const tlsFailures: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate signed by unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate signed by unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate signed by unknown authority',
  CERT_SIGNATURE_FAILURE: 'certificate signed by unknown authority',
  CERT_HAS_EXPIRED: 'certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'certificate has expired or is not yet valid',
}

function connectionText(
  cause: (Error & { code?: string; address?: string; port?: number; cert?: { subjectaltname?: string } }) | undefined,
  url: URL,
): string | undefined {
  const code = cause?.code ?? ''
  const tls = tlsFailures[code]
  if (tls !== undefined) return `tls: failed to verify certificate: x509: ${tls}`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = (cause?.cert?.subjectaltname ?? '').replaceAll(/(?:DNS|IP Address):/g, '')
    return `tls: failed to verify certificate: x509: certificate is valid for ${names}, not ${url.hostname}`
  }
  if (code === 'ECONNREFUSED') return `dial tcp ${cause?.address}:${cause?.port}: connect: connection refused`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${url.hostname}: no such host`
  return code === 'ECONNRESET' ? 'EOF' : cause?.message
}

/** Returns the message of Go's REST client for an error response without a Status object. */
function statusText({ status, text }: HookResponse): string {
  const message = statusMessage(text)
  if (message !== undefined) return message
  switch (status) {
    case 400:
      return 'the server rejected our request for an unknown reason'
    case 401:
      return 'the server has asked for the client to provide credentials'
    case 403:
      return text.trim() === '' ? 'unknown' : text.trim()
    case 404:
      return 'the server could not find the requested resource'
    case 405:
      return 'the server does not allow this method on the requested resource'
    case 415:
      return 'the server was unable to process the content'
    case 429:
      return 'the server has received too many requests and has asked us to try again later'
    case 503:
      return 'the server is currently unable to handle the request'
    case 504:
      return 'the server was unable to return a response in the time allotted, but may still be processing the request'
    default:
      return status >= 500
        ? `an error on the server (${JSON.stringify(text.trim() || 'unknown')}) has prevented the request from succeeding`
        : `the server responded with the status code ${status} but did not return more information`
  }
}

function statusMessage(text: string): string | undefined {
  try {
    const value = parseJson(text)
    return isJsonObject(value) && value['kind'] === 'Status' && typeof value['message'] === 'string'
      ? value['message']
      : undefined
  } catch {
    return undefined
  }
}

function readReview(text: string): JsonObject {
  let value: JsonValue
  try {
    value = parseJson(text)
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw new WebhookError(`couldn't get version/kind; json parse error: ${error.message}`, { cause: error })
    throw error
  }
  if (isJsonObject(value)) return value
  throw new WebhookError(
    `couldn't get version/kind; json parse error: an object is wanted, not ${stringifyJson(value)}`,
  )
}
