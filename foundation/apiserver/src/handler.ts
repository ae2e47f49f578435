// The handler behind every transport (HTTPS, inject, in-process): it resolves the path, authenticates, authorizes and
// dispatches. Every error becomes a Status here.
import { beginWork } from '@fairlead/client'
import {
  badRequest,
  methodNotAllowed,
  parseGoDurationNanoseconds,
  resourceNotFound,
  StatusError,
  unauthorized,
} from '@fairlead/kube'
import type { UserInfo } from '@fairlead/kube'
import type { AuditLog, AuditRecord } from './audit/audit-log.ts'
import { authenticate } from './auth/authenticators.ts'
import { forbiddenRequest } from './auth/forbidden.ts'
import { impersonate, readImpersonation } from './auth/impersonation.ts'
import { requestScope } from './handlers/request-scope.ts'
import { handleResource } from './handlers/resource-handler.ts'
import type { ServerDependencies } from './handlers/server-dependencies.ts'
import type { RequestTarget, ServerRequest, ServerResponse } from './http/message.ts'
import { RequestLimits } from './http/request-limits.ts'
import type { AdmittedRequest, RequestLimitOptions } from './http/request-limits.ts'
import type { Route, UpgradeHandler } from './http/route.ts'
import type { UpgradeRequest } from './http/upgrade.ts'
import { isWebSocketRequest, webSocketWatch } from './http/websocket.ts'
import type { Upstream, UpstreamResolver } from './http/upstream.ts'
import type { Attributes, RequestAuthorizer } from './identity/authorizer.ts'
import type { Authenticator } from './identity/credentials.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'
import type { ServedResource } from './registry/registry.ts'
import { authorizationAttributes } from './request/authorization-attributes.ts'
import { MalformedPath, nonResourceInfo, pathSegments, requestInfo } from './request/request-info.ts'
import type { RequestInfo, ResourceRequestInfo } from './request/request-info.ts'
import { OutputNegotiation } from './response/output-negotiation.ts'
import { errorResponse, pathNotFound, textResponse, withWarnings } from './response/response.ts'
import { originRules } from './objects/origin-rules.ts'

/** The parts of a handler. */
export interface HandlerOptions {
  readonly server: ServerDependencies
  readonly authenticators: readonly Authenticator[]
  readonly authorizer: RequestAuthorizer
  /** Accepts requests without credentials; true when left out. */
  readonly anonymous?: boolean
  readonly routes: readonly Route[]
  /** Resolves paths to the servers behind APIServices. */
  readonly upstreams?: Pick<UpstreamResolver, 'resolve'>
  readonly metrics: RequestMetrics
  /** Receives an event for each request; none without it. */
  readonly audit?: AuditLog
  /** Limits of the requests in flight that come from outside this process. */
  readonly limits?: RequestLimitOptions
  /** Called with errors that no client caused. */
  readonly onError: (error: unknown, request: ServerRequest) => void
}

/** A resolved method, path and query. */
class Target implements RequestTarget {
  /** Undefined for a malformed path. */
  readonly info: RequestInfo | undefined
  readonly problem: string
  readonly upstream: Upstream | undefined
  readonly bodyLimit: number | 'stream' | undefined
  /** The resource of the path, served here or by another server. */
  readonly resource: ServedResource | undefined
  /** The registry's epoch when the resource was found: a body may take long to arrive. */
  readonly epoch: number

  constructor(
    info: RequestInfo | undefined,
    problem: string,
    upstream: Upstream | undefined,
    bodyLimit: number | 'stream' | undefined,
    resource: ServedResource | undefined,
    epoch: number,
  ) {
    this.info = info
    this.problem = problem
    this.upstream = upstream
    this.bodyLimit = bodyLimit
    this.resource = resource
    this.epoch = epoch
  }
}

/** A request whose user is known. */
interface AuthenticatedCall {
  readonly request: ServerRequest
  readonly target: Target
  readonly info: RequestInfo
  readonly user: UserInfo
  readonly output: OutputNegotiation
  readonly warnings: string[]
  readonly record: AuditRecord | undefined
}

/** Handles requests; never throws. */
export class Handler {
  readonly #options: HandlerOptions
  readonly #limits: RequestLimits

  constructor(options: HandlerOptions) {
    this.#options = options
    this.#limits = new RequestLimits(options.limits)
  }

  /** Resolves a request before its body is read; transports that do so pass the result on as the request's `target`. */
  resolve(method: string, path: string, query: URLSearchParams): Target {
    const { routes, server, upstreams } = this.#options
    const { registry } = server
    const { epoch } = registry
    const upstream = upstreams?.resolve(path)
    let info: RequestInfo
    try {
      const segments = pathSegments(path)
      info = requestInfo(method, segments, query)
      if (info.isResourceRequest && routes.some((route) => route.owns?.(path))) info = nonResourceInfo(method, segments)
    } catch (error) {
      if (!(error instanceof MalformedPath)) throw error
      return new Target(undefined, error.message, upstream, upstream && 'stream', undefined, epoch)
    }
    const resource = info.isResourceRequest ? registry.find(info.group, info.version, info.plural) : undefined
    const bodyLimit = upstream === undefined ? this.#bodyLimit(path, resource) : 'stream'
    return new Target(info, '', upstream, bodyLimit, resource, epoch)
  }

  async handle(request: ServerRequest): Promise<ServerResponse> {
    beginWork()
    const target = this.#targetOf(request)
    const end = this.#options.metrics.begin(request, target)
    const record = this.#options.audit?.begin(request, target.info)
    const warnings: string[] = []
    const output = new OutputNegotiation(request, this.#options.server.protobuf?.encode)
    let response: ServerResponse
    try {
      response = await this.#respond(request, target, output, warnings, record)
    } catch (error) {
      // Ignore errors after the client disconnected.
      if (!(error instanceof StatusError) && !request.signal.aborted) this.#options.onError(error, request)
      response = errorResponse(error, output.error)
    }
    end(response.status)
    record?.end(response)
    if (request.method === 'HEAD') response = { ...response, body: { kind: 'bytes', bytes: new Uint8Array() } }
    return withWarnings(response, warnings)
  }

  /** Returns whether a request to upgrade goes to {@link upgrade}; for all others the upgrade is ignored. */
  upgrades(request: UpgradeRequest): boolean {
    const { path } = request
    return (
      this.#options.upstreams?.resolve(path) !== undefined ||
      this.#options.routes.some((route) => route.upgrades?.(path) === true) ||
      this.#isWebSocketWatch(request)
    )
  }

  /**
   * Authenticates and authorizes a request to upgrade. Returns the handler of the connection, or a refusal. Never
   * throws.
   */
  async upgrade(request: ServerRequest): Promise<UpgradeHandler | ServerResponse> {
    const output = new OutputNegotiation(request, this.#options.server.protobuf?.encode)
    try {
      const segments = segmentsOf(request.path)
      const { routes, upstreams, authorizer } = this.#options
      const upstream = upstreams?.resolve(request.path)
      if (upstream === undefined && this.#isWebSocketWatch(request)) return await this.#upgradeWatch(request)
      const user = await this.#authenticate(request)
      if (user instanceof StatusError) return forbid(user, output)
      const attributes: Attributes =
        upstream === undefined
          ? { user, verb: 'get', path: request.path }
          : authorizationAttributes(request, requestInfo(request.method, segments, request.query), user)
      const decision = await authorizer.authorize(attributes)
      if (!decision.allowed) return forbid(forbiddenRequest(attributes, decision.reason), output)
      if (upstream !== undefined) return await upstream.upgrade(request, user)
      for (const route of routes) {
        const upgradeHandler = await route.upgrade?.(request, segments, user)
        if (upgradeHandler !== undefined) return upgradeHandler
      }
      return pathNotFound()
    } catch (error) {
      if (!(error instanceof StatusError) && !request.signal.aborted) this.#options.onError(error, request)
      return errorResponse(error, output.error)
    }
  }

  #isWebSocketWatch(request: UpgradeRequest): boolean {
    const { method, path, query } = request
    if (method !== 'GET' || !isWebSocketRequest(request)) return false
    const { info } = this.resolve(method, path, query)
    return info?.isResourceRequest === true && info.verb === 'watch'
  }

  /** Opens a watch like any other, then switches to WebSocket. */
  async #upgradeWatch(request: ServerRequest): Promise<UpgradeHandler | ServerResponse> {
    const response = await this.handle(request)
    const { body } = response
    return body.kind === 'watch' ? webSocketWatch(request, { ...response, body }, this.#options.server.clock) : response
  }

  async #respond(
    request: ServerRequest,
    target: Target,
    output: OutputNegotiation,
    warnings: string[],
    record: AuditRecord | undefined,
  ): Promise<ServerResponse> {
    const { info } = target
    if (info === undefined) throw badRequest(target.problem)
    if (info.verb !== 'watch') checkTimeout(request.query)
    const user = await this.#authenticate(request, record)
    if (user instanceof StatusError) return forbid(user, output)
    const call = { request, target, info, user, output, warnings, record }
    // Requests from this process are bounded by what it does.
    if (request.user !== undefined || isProbe(info)) return this.#serve(call)
    const admitted = this.#limits.admit(user)
    if (admitted === undefined) return tooManyRequests()
    let response: ServerResponse | undefined
    try {
      response = await this.#serve(call, admitted)
      return response
    } finally {
      const isOpen = response?.body.kind === 'json' || response?.body.kind === 'bytes'
      if (isOpen && request.onSent !== undefined) request.onSent(() => admitted.release())
      else admitted.release()
    }
  }

  /** Authorizes a request, then reads its body and responds: nothing is read for a client that may not send it. */
  async #serve(call: AuthenticatedCall, admitted?: AdmittedRequest): Promise<ServerResponse> {
    const { request, target, info, user, output, warnings, record } = call
    const attributes = authorizationAttributes(request, info, user)
    const decision = await this.#options.authorizer.authorize(attributes)
    record?.authorized(decision)
    if (!decision.allowed) return forbid(forbiddenRequest(attributes, decision.reason), output)
    if (target.upstream !== undefined) return target.upstream.forward(request, user)
    const { incoming } = request
    if (incoming === undefined) return this.#dispatch(request, target, info, user, output, warnings)
    if (admitted?.reserve(incoming.maxBytes) === false) return tooManyRequests()
    const body = await incoming.read()
    request.signal.throwIfAborted()
    // The body may have taken so long that the registry has changed.
    const current = this.#targetOf(request)
    return this.#dispatch({ ...request, body }, current, current.info ?? info, user, output, warnings)
  }

  async #dispatch(
    request: ServerRequest,
    target: Target,
    info: RequestInfo,
    user: UserInfo,
    output: OutputNegotiation,
    warnings: string[],
  ): Promise<ServerResponse> {
    if (info.isResourceRequest) {
      const resource = this.#resourceOf(info, target)
      if (resource === 'no-path') return pathNotFound()
      if (info.isWatchPath && request.method !== 'GET') throw methodNotAllowed()
      const isUnplaced = info.name !== '' && info.namespace === '' && resource.definition.namespaced
      if (info.isWatchPath && isUnplaced) throw resourceNotFound()
      return handleResource(this.#options.server, requestScope(request, info, resource, user, output, warnings))
    }
    const { segments } = info
    for (const route of this.#options.routes) {
      const response = await route.handle(request, segments, user)
      if (response !== undefined) return response
    }
    if (segments[0] === 'api' || (segments[0] === 'apis' && this.#hasBuiltinGroup(segments[1])))
      throw resourceNotFound()
    return pathNotFound()
  }

  /** Returns the target that the transport resolved, anew when the registry has changed since. */
  #targetOf({ target, method, path, query }: ServerRequest): Target {
    return target instanceof Target && target.epoch === this.#options.server.registry.epoch
      ? target
      : this.resolve(method, path, query)
  }

  #bodyLimit(path: string, resource: ServedResource | undefined): number | 'stream' | undefined {
    for (const route of this.#options.routes) {
      const limit = route.bodyLimit?.(path)
      if (limit !== undefined) return limit
    }
    return resource?.definition.maxBodyBytes
  }

  /** Returns the user, or the reason why the user may not impersonate the requested one. @throws StatusError 401 */
  async #authenticate(request: ServerRequest, record?: AuditRecord): Promise<UserInfo | StatusError> {
    const { authenticators, authorizer, anonymous } = this.#options
    const user = request.user ?? (await authenticate(authenticators, request.credentials, anonymous))
    if (user === undefined) throw unauthorized()
    const impersonation = readImpersonation(request.headers)
    const acting = impersonation === undefined ? user : await impersonate(user, impersonation, authorizer)
    record?.authenticated(user, acting instanceof StatusError ? user : acting)
    return acting
  }

  /**
   * Returns the resource of a path; `no-path` where the real server has no handler at all and responds in plain text.
   */
  #resourceOf(info: ResourceRequestInfo, { resource }: Target): ServedResource | 'no-path' {
    // The path is another spelling of one that an APIService serves.
    if (resource?.definition.origin === 'remote') return 'no-path'
    if (resource !== undefined && originRules(resource.definition).isUnstructured) {
      return resource.definition.namespaced || info.namespace === '' ? resource : 'no-path'
    }
    if (resource === undefined) {
      if (info.group === '' || this.#hasBuiltinGroup(info.group)) throw resourceNotFound()
      return 'no-path'
    }
    if (!resource.definition.namespaced && info.namespace !== '') throw resourceNotFound()
    if (info.rest.length > 0 && info.subresource !== 'proxy') throw resourceNotFound()
    return resource
  }

  #hasBuiltinGroup(group: string | undefined): boolean {
    for (const definition of this.#options.server.registry.definitions) {
      if (definition.group === group && definition.origin === 'builtin') return true
    }
    return false
  }
}

/** Returns the 429 of the real server, in plain text. */
function tooManyRequests(): ServerResponse {
  return textResponse(429, 'Too many requests, please try again later.\n', { 'retry-after': '1' })
}

/** Returns true for health checks, for which no limit holds. */
function isProbe(info: RequestInfo): boolean {
  return !info.isResourceRequest && probes.has(info.segments[0] ?? '')
}

const probes: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz'])

/** Returns the 403 of an authorizer; unlike other responses it forbids browsers to sniff its type. */
function forbid(error: StatusError, output: OutputNegotiation): ServerResponse {
  const response = errorResponse(error, output.error)
  return { ...response, headers: { ...response.headers, 'x-content-type-options': 'nosniff' } }
}

/** @throws StatusError 400 */
function segmentsOf(path: string): string[] {
  try {
    return pathSegments(path)
  } catch (error) {
    if (error instanceof MalformedPath) throw badRequest(error.message)
    throw error
  }
}

/** @throws StatusError 400 */
function checkTimeout(query: URLSearchParams): void {
  const timeout = query.get('timeout')
  if (timeout === null || timeout === '') return
  try {
    parseGoDurationNanoseconds(timeout)
  } catch {
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(timeout)}`)
  }
}
