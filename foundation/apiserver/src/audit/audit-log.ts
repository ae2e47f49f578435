// The audit log: who did what and with which result, as the events of kube-apiserver at level Metadata
// (audit.k8s.io/v1). Bodies are not in it, so that no Secret is.
import { randomUUID } from 'node:crypto'
import type { Clock, JsonObject, UserInfo } from '@fairlead/kube'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import type { Decision } from '../identity/authorizer.ts'
import type { RequestInfo } from '../request/request-info.ts'

/** Receives the events, one for each request. Must not throw. */
export interface AuditSink {
  write(event: JsonObject): void
}

/** The audit of a server. */
export class AuditLog {
  readonly #sink: AuditSink
  readonly #clock: Pick<Clock, 'now'>

  constructor(sink: AuditSink, clock: Pick<Clock, 'now'>) {
    this.#sink = sink
    this.#clock = clock
  }

  /**
   * Begins the event of a request; undefined for health checks, and for reads of controllers in this process, which
   * would be most of the log.
   */
  begin(request: ServerRequest, info: RequestInfo | undefined): AuditRecord | undefined {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (request.user !== undefined && isRead) return undefined
    if (info?.isResourceRequest === false && probes.has(info.segments[0] ?? '')) return undefined
    return new AuditRecord(this.#sink, this.#clock, request, info)
  }
}

const probes: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz'])

/** The event of one request, until its response. */
export class AuditRecord {
  readonly #sink: AuditSink
  readonly #clock: Pick<Clock, 'now'>
  readonly #request: ServerRequest
  readonly #info: RequestInfo | undefined
  readonly #received: string
  #user: UserInfo | undefined
  #impersonated: UserInfo | undefined
  #decision: Decision | undefined

  constructor(sink: AuditSink, clock: Pick<Clock, 'now'>, request: ServerRequest, info: RequestInfo | undefined) {
    this.#sink = sink
    this.#clock = clock
    this.#request = request
    this.#info = info
    this.#received = microTime(clock.now())
  }

  /** Called with the user of the credentials, and the one that the request acts as. */
  authenticated(user: UserInfo, acting: UserInfo): void {
    this.#user = user
    if (acting !== user) this.#impersonated = acting
  }

  authorized(decision: Decision): void {
    this.#decision = decision
  }

  /** Writes the event. Watches and other streams are written when they begin. */
  end({ status, body }: ServerResponse): void {
    const { method, path, query, headers, remoteAddress } = this.#request
    const search = query.toString()
    const agent = headers['user-agent']
    const isStream = body.kind === 'watch' || body.kind === 'stream'
    this.#sink.write({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: randomUUID(),
      stage: isStream ? 'ResponseStarted' : 'ResponseComplete',
      requestURI: search === '' ? path : `${path}?${search}`,
      verb: this.#info?.verb ?? method.toLowerCase(),
      user: this.#user === undefined ? {} : userOf(this.#user),
      ...(this.#impersonated === undefined ? {} : { impersonatedUser: userOf(this.#impersonated) }),
      ...(remoteAddress === undefined ? {} : { sourceIPs: [remoteAddress] }),
      ...(typeof agent === 'string' ? { userAgent: agent } : {}),
      ...objectRef(this.#info, body),
      responseStatus: { metadata: {}, code: status },
      requestReceivedTimestamp: this.#received,
      stageTimestamp: microTime(this.#clock.now()),
      ...(this.#decision === undefined ? {} : { annotations: annotationsOf(this.#decision) }),
    })
  }
}

function annotationsOf({ allowed, reason }: Decision): JsonObject {
  return {
    'authorization.k8s.io/decision': allowed ? 'allow' : 'forbid',
    'authorization.k8s.io/reason': reason ?? '',
  }
}

function userOf({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined ? {} : { extra: extra as JsonObject }),
  }
}

function objectRef(info: RequestInfo | undefined, body: ServerResponse['body']): JsonObject {
  if (info?.isResourceRequest !== true) return {}
  const { group, version, plural, namespace, subresource } = info
  const name = info.name !== '' ? info.name : info.verb === 'create' ? nameOf(body) : ''
  return {
    objectRef: {
      resource: plural,
      ...(namespace === '' ? {} : { namespace }),
      ...(name === '' ? {} : { name }),
      ...(group === '' ? {} : { apiGroup: group }),
      apiVersion: version,
      ...(subresource === '' ? {} : { subresource }),
    },
  }
}

/** Returns the name that a created object was given. */
function nameOf(body: ServerResponse['body']): string {
  if (body.kind !== 'json') return ''
  const { metadata } = body.value as { readonly metadata?: { readonly name?: unknown } }
  return typeof metadata?.name === 'string' ? metadata.name : ''
}

/** Returns a time with microseconds, which are zeros. */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z')
}
