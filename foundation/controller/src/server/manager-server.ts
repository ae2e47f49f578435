// The HTTPS server of a manager: health for the kubelet, metrics for Prometheus, admission and conversion webhooks for
// the API server.
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Client } from '@fairlead/client'
import { StatusError, failure, parseJson, stringifyJson } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue, ObjectKey } from '@fairlead/kube'
import type { ResourceAccess } from '../access/access-reviews.ts'
import type { SignedRoute } from '../routes.ts'
import type { Validator } from '../validator.ts'
import type { Logger } from '../logger.ts'
import type { Metrics } from '../metrics.ts'
import { reviewAdmission } from './admission-review.ts'
import type { ReviewedUser } from './admission-review.ts'
import type { CaBundleTarget } from './ca-bundles.ts'
import type { CertificateKeeper } from './certificate-keeper.ts'
import { reviewConversion } from './conversion-review.ts'
import type { Converter } from './conversion-review.ts'
import { PathReviews } from './path-reviews.ts'
import { requestReview } from './review-request.ts'
import { servedPlural } from './served-plural.ts'
import { answerSigned } from './signed-routes.ts'

/** Options of a manager's server. */
export interface ManagerServerOptions {
  /** 9443 when left out; 0 for any free one. */
  readonly port?: number
  /** Address to listen on; all of them when left out. */
  readonly host?: string
  /** The Service in front of it: its DNS names are in the certificate. */
  readonly service?: ObjectKey
  /** Further DNS names and IP addresses of the server. */
  readonly hosts?: readonly string[]
  /** The Secret that keeps the certificates and shares them with replicas. In memory when left out. */
  readonly certificateSecret?: ObjectKey
  /** Objects into which the CA bundle is injected. */
  readonly caBundles?: readonly CaBundleTarget[]
  /**
   * Handle `POST /validate`. The manager's account needs `create` on `subjectaccessreviews` when one of them requires
   * rights of users.
   */
  readonly validators?: readonly Validator[]
  /** Handle `POST /convert`. */
  readonly converters?: readonly Converter[]
  /**
   * Access to `/metrics`: `authorized` (when left out) requires a bearer token whose user may `get` that non-resource
   * URL; the manager's account needs `create` on `tokenreviews` and `subjectaccessreviews`. `open` requires nothing,
   * and is for loopback addresses only.
   */
  readonly metrics?: 'authorized' | 'open'
  /** Returns the endpoints whose callers sign their requests; called for each request, as they may come later. */
  readonly signedRoutes?: () => readonly SignedRoute[]
  /** Further checks of `/readyz`. */
  readonly checks?: readonly ReadinessCheck[]
}

/** One readiness check; returns undefined when it passes, else the reason. */
export interface ReadinessCheck {
  readonly name: string
  check(): string | undefined
}

/** Dependencies of the server. */
export interface ManagerServerHost {
  /** For token reviews and access reviews of callers. */
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly certificates: CertificateKeeper
}

/** Size limit of a body: two objects of 3 MiB and the review around them. */
const bodyLimit = 7 * 1024 * 1024
/** Grace period for requests in progress at shutdown. Milliseconds. */
const closingTime = 5_000

interface Answer {
  readonly code: number
  readonly type: string
  readonly text: string
}

/** A listening server. */
export class ManagerServer implements AsyncDisposable {
  readonly #options: ManagerServerOptions
  readonly #host: ManagerServerHost
  readonly #server: Server
  readonly #reviews: PathReviews

  private constructor(options: ManagerServerOptions, host: ManagerServerHost) {
    this.#options = options
    this.#host = host
    this.#reviews = new PathReviews(host.client, host.clock)
    if (options.metrics === 'open' && !isLoopback(options.host))
      throw new RangeError('Metrics may be open on a loopback address only; name one as host')
    const { serving } = host.certificates.current
    this.#server = createServer(
      { key: serving.key, cert: serving.cert, minVersion: 'TLSv1.2', headersTimeout: 10_000, requestTimeout: 30_000 },
      (request, response) => void this.#serve(request, response),
    )
    // Open connections keep the certificate that they started with.
    host.certificates.onRenewed((renewed) =>
      this.#server.setSecureContext({ key: renewed.serving.key, cert: renewed.serving.cert, minVersion: 'TLSv1.2' }),
    )
  }

  /** Listens on the port. Rejects with the error of the system when the port is not available. */
  static async start(options: ManagerServerOptions, host: ManagerServerHost): Promise<ManagerServer> {
    const server = new ManagerServer(options, host)
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject)
      server.#server.listen(options.port ?? 9443, options.host, () => {
        server.#server.off('error', reject)
        resolve()
      })
    })
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** PEM certificates that callers must trust. */
  get caBundle(): string {
    return this.#host.certificates.current.bundle
  }

  /** Closes the server; requests in progress may end within a few seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeIdleConnections()
    using _deadline = this.#host.clock.timer(closingTime, () => this.#server.closeAllConnections())
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy())
    const { code, type, text } = await this.#answer(request).catch((error: unknown) => this.#failed(error))
    if (response.destroyed) return
    if (code === 401) response.setHeader('www-authenticate', 'Bearer')
    if (!request.complete) response.setHeader('connection', 'close')
    response.writeHead(code, { 'content-type': type, 'content-length': Buffer.byteLength(text) })
    response.end(request.method === 'HEAD' ? undefined : text)
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://manager')
    const { validators = [], converters = [] } = this.#options
    switch (`${request.method === 'HEAD' ? 'GET' : request.method} ${pathname}`) {
      case 'GET /healthz':
      case 'GET /livez':
        return plain(200, 'ok')
      case 'GET /readyz':
        return this.#readiness(searchParams.has('verbose'))
      case 'GET /metrics': {
        const { authorization } = request.headers
        const refusal =
          this.#options.metrics === 'open' ? undefined : await this.#reviews.refusal(authorization, pathname)
        if (refusal !== undefined) throw refusal
        const { registry } = this.#host.metrics
        return { code: 200, type: registry.contentType, text: await registry.metrics() }
      }
      case 'POST /validate':
        return json(
          200,
          await reviewAdmission(await readBody(request), validators, {
            check: (user, access) => this.#mayUser(user, access),
            pluralOf: (kind) => servedPlural(this.#host.client, kind),
          }),
        )
      case 'POST /convert':
        return json(200, reviewConversion(await readBody(request), converters))
      default: {
        const signed = await answerSigned(this.#options.signedRoutes?.() ?? [], request, pathname, readBytes)
        if (signed !== undefined) return json(signed.status, signed.body)
        throw failure(404, 'NotFound', `there is nothing at ${request.method} ${pathname}`)
      }
    }
  }

  async #mayUser({ username = '', uid, groups, extra }: ReviewedUser, access: ResourceAccess): Promise<boolean> {
    const { verb, group, version, resource, namespace, name } = access
    const spec: JsonObject = {
      user: username,
      ...(uid !== undefined && { uid }),
      ...(groups !== undefined && { groups }),
      ...(extra !== undefined && { extra }),
      resourceAttributes: {
        verb,
        group,
        resource,
        ...(version !== undefined && { version }),
        ...(namespace !== undefined && { namespace }),
        ...(name !== undefined && { name }),
      },
    }
    return (await requestReview(this.#host.client, 'SubjectAccessReview', spec))['allowed'] === true
  }

  #readiness(verbose: boolean): Answer {
    const outcomes = (this.#options.checks ?? []).map((check) => ({ name: check.name, problem: check.check() }))
    const failed = outcomes.some(({ problem }) => problem !== undefined)
    if (!failed && !verbose) return plain(200, 'ok')
    const lines = outcomes.map(({ name, problem }) =>
      problem === undefined ? `[+]${name} ok` : `[-]${name}: ${problem}`,
    )
    return plain(failed ? 503 : 200, [...lines, `readyz check ${failed ? 'failed' : 'passed'}`, ''].join('\n'))
  }

  #failed(error: unknown): Answer {
    if (error instanceof StatusError) return json(error.code, error.status as unknown as JsonValue)
    this.#host.log.error('Could not handle a request', { error })
    const { status, code } = failure(500, 'InternalError', 'the request failed; the log says why')
    return json(code, status as unknown as JsonValue)
  }
}

/** Returns the DNS names and IP addresses of a server: those of its Service first. */
export function servedHosts({ service, hosts = [], host }: ManagerServerOptions): readonly string[] {
  const names =
    service === undefined
      ? []
      : ['.svc', '.svc.cluster.local', ''].map((suffix) => `${service.name}.${service.namespace}${suffix}`)
  const own = host !== undefined && isIP(host) !== 0 && host !== '0.0.0.0' && host !== '::' ? [host] : []
  return [...new Set([...names, ...hosts, ...own, 'localhost', '127.0.0.1', '::1'])]
}

function isLoopback(host: string | undefined): boolean {
  return host === 'localhost' || host === '::1' || (host !== undefined && isIP(host) === 4 && host.startsWith('127.'))
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > bodyLimit) throw failure(413, 'RequestEntityTooLarge', `the body is over ${bodyLimit} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function readBody(request: IncomingMessage): Promise<JsonValue> {
  const bytes = await readBytes(request)
  try {
    return parseJson(bytes)
  } catch (error) {
    throw failure(400, 'BadRequest', `the body is not JSON: ${(error as Error).message}`)
  }
}

function plain(code: number, text: string): Answer {
  return { code, type: 'text/plain; charset=utf-8', text }
}

function json(code: number, value: JsonValue): Answer {
  return { code, type: 'application/json', text: stringifyJson(value) }
}
