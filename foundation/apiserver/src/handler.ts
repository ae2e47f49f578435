// The one handler behind all three doors: authenticate, authorize, find what the path means, answer. Every error becomes a Status here.
import { badRequest, parseGoDurationNanoseconds, resourceNotFound, StatusError, unauthorized } from '@fairlead/kube'
import { authenticate } from './auth/authenticators.ts'
import { forbiddenRequest } from './auth/forbidden.ts'
import { impersonate, readImpersonation } from './auth/impersonation.ts'
import type { Attributes, RequestAuthorizer } from './identity/authorizer.ts'
import type { Authenticator } from './identity/credentials.ts'
import type { UserInfo } from '@fairlead/kube'
import type { UpstreamResolver } from './http/upstream.ts'
import type { Environment, ResourceCall } from './handlers/server-dependencies.ts'
import { answerResource, verbOf } from './handlers/resource-handler.ts'
import type { ProtobufCodec } from './handlers/exchange.ts'
import type { ServerRequest, ServerResponse } from './http/message.ts'
import type { Route, UpgradeHandler } from './http/route.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'
import { booleanParameter } from './request/query.ts'
import { MalformedPath, parseRequestPath, pathSegments } from './request/request-info.ts'
import type { ResourcePath } from './request/request-info.ts'
import { answerError, pathNotFound, withWarnings } from './response/response.ts'
import type { AnswerForm } from './response/response.ts'
import { parseAccept } from './http/media-type.ts'

/** The parts of a handler. */
export interface HandlerOptions {
  readonly environment: Environment
  readonly authenticators: readonly Authenticator[]
  readonly authorizer: RequestAuthorizer
  readonly routes: readonly Route[]
  /** Servers behind APIServices. */
  readonly upstreams?: Pick<UpstreamResolver, 'resolve'>
  readonly protobuf: ProtobufCodec | undefined
  readonly metrics: RequestMetrics
  /** Told about errors that no client caused. */
  readonly onError: (error: unknown, request: ServerRequest) => void
}

/** Answers requests; never throws. */
export class Handler {
  readonly #options: HandlerOptions

  constructor(options: HandlerOptions) {
    this.#options = options
  }

  async handle(request: ServerRequest): Promise<ServerResponse> {
    const end = this.#options.metrics.begin(request)
    const warnings: string[] = []
    let answer: ServerResponse
    try {
      answer = await this.#answer(request, warnings)
    } catch (error) {
      // Whoever has gone has ended what was done for him.
      if (!(error instanceof StatusError) && !request.signal.aborted) this.#options.onError(error, request)
      answer = answerError(error, this.#errorForm(request))
    }
    end(answer.status)
    if (request.method === 'HEAD') answer = { ...answer, body: { kind: 'bytes', bytes: new Uint8Array() } }
    return withWarnings(answer, warnings)
  }

  /** How many bytes a body may have, or that it is handed on as it comes; undefined: the usual. */
  bodyLimit(path: string): number | 'stream' | undefined {
    if (this.#options.upstreams?.resolve(path) !== undefined) return 'stream'
    for (const route of this.#options.routes) {
      const limit = route.bodyLimit?.(path)
      if (limit !== undefined) return limit
    }
    return undefined
  }

  /** Whether requests to change the protocol go to {@link upgrade}; all others are answered as if they had not asked. */
  upgrades(path: string): boolean {
    return (
      this.#options.upstreams?.resolve(path) !== undefined ||
      this.#options.routes.some((route) => route.upgrades?.(path) === true)
    )
  }

  /** Authenticates and authorizes a request to change the protocol. Answers what takes the connection over, or why not. Never throws. */
  async upgrade(request: ServerRequest): Promise<UpgradeHandler | ServerResponse> {
    try {
      const segments = segmentsOf(request)
      const upstream = this.#options.upstreams?.resolve(request.path)
      const user = await this.#authenticate(request)
      if (user instanceof StatusError) return this.#forbid(user, request)
      const attributes: Attributes =
        upstream === undefined
          ? { user, verb: 'get', path: request.path }
          : attributesOf(request, pathOf(request), user)
      const decision = await this.#options.authorizer.authorize(attributes)
      if (!decision.allowed) return this.#forbid(forbiddenRequest(attributes, decision.reason), request)
      if (upstream !== undefined) return await upstream.upgrade(request, user)
      for (const route of this.#options.routes) {
        const taken = await route.upgrade?.(request, segments, user)
        if (taken !== undefined) return taken
      }
      return pathNotFound()
    } catch (error) {
      if (!(error instanceof StatusError) && !request.signal.aborted) this.#options.onError(error, request)
      return answerError(error, this.#errorForm(request))
    }
  }

  async #answer(request: ServerRequest, warnings: string[]): Promise<ServerResponse> {
    const path = this.#pathOf(request)
    if (!isLongRunning(request)) checkTimeout(request.query)
    const user = await this.#authenticate(request)
    if (user instanceof StatusError) return this.#forbid(user, request)
    const attributes = attributesOf(request, path, user)
    const decision = await this.#options.authorizer.authorize(attributes)
    if (!decision.allowed) return this.#forbid(forbiddenRequest(attributes, decision.reason), request)
    const upstream = this.#options.upstreams?.resolve(request.path)
    if (upstream !== undefined) return upstream.answer(request, user)
    if (path.kind === 'resource') {
      const found = this.#find(path)
      if (found === 'no-path') return pathNotFound()
      const bodyLimit = found.definition.maxBodyBytes
      return answerResource(this.#options.environment, {
        request: bodyLimit === undefined ? request : { ...request, bodyLimit },
        call: this.#call(request, path, found, user, warnings),
        protobuf: this.#options.protobuf,
        pretty: isPretty(request),
      })
    }
    for (const route of this.#options.routes) {
      const answer = await route.handle(request, path.segments, user)
      if (answer !== undefined) return answer
    }
    if (path.segments[0] === 'api' || (path.segments[0] === 'apis' && this.#hasBuiltinGroup(path.segments[1])))
      throw resourceNotFound()
    return pathNotFound()
  }

  /** @throws StatusError 400 */
  #pathOf(request: ServerRequest): ReturnType<typeof parseRequestPath> {
    const path = pathOf(request)
    if (path.kind === 'other' || !this.#options.routes.some((route) => route.owns?.(request.path))) return path
    return { kind: 'other', segments: pathSegments(request.path) }
  }

  /** What the authorizer refuses; unlike other answers it tells browsers not to guess its type. */
  #forbid(error: StatusError, request: ServerRequest): ServerResponse {
    const answer = answerError(error, this.#errorForm(request))
    return { ...answer, headers: { ...answer.headers, 'x-content-type-options': 'nosniff' } }
  }

  /** The caller, or why the one that it wants to be is not allowed. @throws StatusError 401 */
  async #authenticate(request: ServerRequest): Promise<UserInfo | StatusError> {
    const { authenticators, authorizer } = this.#options
    const user = request.user ?? (await authenticate(authenticators, request.credentials))
    if (user === undefined) throw unauthorized()
    const wanted = readImpersonation(request.headers)
    return wanted === undefined ? user : impersonate(user, wanted, authorizer)
  }

  /** The resource of a path; `no-path` where the real server has no handler at all and answers in plain text. */
  #find(path: ResourcePath): ResourceCall['resource'] | 'no-path' {
    const { registry } = this.#options.environment
    const resource = registry.find(path.group, path.version, path.plural)
    // Another spelling of the path than the one that leads to its server.
    if (resource?.definition.origin === 'remote') return 'no-path'
    if (resource !== undefined && resource.definition.crd !== undefined) {
      return resource.definition.namespaced || path.namespace === '' ? resource : 'no-path'
    }
    if (resource === undefined) {
      if (path.group === '' || this.#hasBuiltinGroup(path.group)) throw resourceNotFound()
      return 'no-path'
    }
    if (!resource.definition.namespaced && path.namespace !== '') throw resourceNotFound()
    if (path.rest.length > 0 && !takesRest(path.subresource)) throw resourceNotFound()
    return resource
  }

  #hasBuiltinGroup(group: string | undefined): boolean {
    for (const definition of this.#options.environment.registry.definitions) {
      if (definition.group === group && definition.origin === 'builtin') return true
    }
    return false
  }

  #call(
    request: ServerRequest,
    path: ResourcePath,
    resource: ResourceCall['resource'],
    user: UserInfo,
    warnings: string[],
  ): ResourceCall {
    const { version } = resource
    if (version.deprecated)
      warnings.push(version.deprecationWarning ?? `${resource.apiVersion} ${resource.definition.kind} is deprecated`)
    const query = path.watch ? watchQuery(request.query, path.name) : request.query
    const agent = request.headers['user-agent']
    return {
      resource,
      namespace: path.namespace,
      name: path.watch ? '' : path.name,
      subresource: path.subresource,
      query,
      user,
      userAgent: typeof agent === 'string' ? agent : '',
      signal: request.signal,
      warnings,
    }
  }

  #errorForm(request: ServerRequest): AnswerForm {
    const { accept } = request.headers
    const { protobuf } = this.#options
    for (const { type, parameters } of parseAccept(typeof accept === 'string' ? accept : '')) {
      if (parameters['as'] !== undefined) continue
      if (type === 'application/json' || type === '*/*' || type === 'application/*') break
      if (type === 'application/yaml') return { encoding: 'yaml', pretty: false, encodeProtobuf: undefined }
      if (type === 'application/vnd.kubernetes.protobuf' && protobuf !== undefined) {
        return { encoding: 'protobuf', pretty: false, encodeProtobuf: protobuf.encode }
      }
    }
    return { encoding: 'json', pretty: isPretty(request), encodeProtobuf: undefined }
  }
}

function pathOf(request: ServerRequest): ReturnType<typeof parseRequestPath> {
  try {
    return parseRequestPath(request.path)
  } catch (error) {
    if (error instanceof MalformedPath) throw badRequest(error.message)
    throw error
  }
}

function segmentsOf(request: ServerRequest): string[] {
  try {
    return pathSegments(request.path)
  } catch (error) {
    if (error instanceof MalformedPath) throw badRequest(error.message)
    throw error
  }
}

function attributesOf(request: ServerRequest, path: ReturnType<typeof parseRequestPath>, user: UserInfo): Attributes {
  if (path.kind === 'other') return { user, verb: request.method.toLowerCase(), path: request.path }
  const { group, version, plural, subresource, namespace } = path
  const isWatch =
    path.watch || (request.method === 'GET' && path.name === '' && (booleanParameter(request.query, 'watch') ?? false))
  const name = path.name === '' ? selectedName(request) : path.name
  // A Namespace itself is authorized within itself, as the real server does.
  const inside = plural === 'namespaces' && group === '' && namespace === '' ? path.name : namespace
  return {
    user,
    verb: verbOf(request.method, path.name !== '', isWatch),
    group,
    version,
    resource: plural,
    ...(subresource === '' ? {} : { subresource }),
    ...(inside === '' ? {} : { namespace: inside }),
    ...(name === '' ? {} : { name }),
  }
}

/** A list or watch of one name counts as a request for that name. */
function selectedName(request: ServerRequest): string {
  if (request.method !== 'GET') return ''
  return /^metadata\.name==?([^,=!\\]+)$/.exec(request.query.get('fieldSelector') ?? '')?.[1] ?? ''
}

/** The deprecated `/watch/` paths: the same resource with `watch=true`, and the name as a field selector. */
function watchQuery(query: URLSearchParams, name: string): URLSearchParams {
  const out = new URLSearchParams(query)
  out.set('watch', 'true')
  if (name !== '') out.set('fieldSelector', `metadata.name=${name}`)
  return out
}

function isLongRunning({ method, query, path }: ServerRequest): boolean {
  return method === 'GET' && ((booleanParameter(query, 'watch') ?? false) || path.includes('/watch/'))
}

/** @throws StatusError 400 */
function checkTimeout(query: URLSearchParams): void {
  const text = query.get('timeout')
  if (text === null || text === '') return
  try {
    parseGoDurationNanoseconds(text)
  } catch {
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`)
  }
}

function takesRest(subresource: string): boolean {
  return subresource === 'proxy'
}

/** `pretty`, or a client that people read the answers of. */
function isPretty({ query, headers }: ServerRequest): boolean {
  const asked = booleanParameter(query, 'pretty')
  if (asked !== undefined) return asked
  const agent = headers['user-agent']
  return typeof agent === 'string' && /^(curl|Wget|Mozilla)\//.test(agent)
}
