// RequestScope: one request to a resource after routing and authorization. Every handler reads it; nothing in it is
// parsed a second time.
import type { JsonObject, KubeObject, UserInfo } from '@fairlead/kube'
import { maxBodyBytes } from '../http/request-body.ts'
import type { ServerRequest } from '../http/message.ts'
import type { ServedResource } from '../registry/registry.ts'
import type { RequestBody } from '../request/body-decoder.ts'
import type { ResourceRequestInfo } from '../request/request-info.ts'
import { OutputNegotiation } from '../response/output-negotiation.ts'

/** Converts between an object and the form in which a subresource presents it. */
export interface PresentedForm {
  of(object: KubeObject): KubeObject
  /** Writes a changed form back into the object, in place. */
  writeBack(object: JsonObject, presented: KubeObject): void
}

/** A request to a resource. */
export interface RequestScope extends RequestBody {
  readonly method: string
  /** As RBAC names it; `watch` for watches. */
  readonly verb: string
  readonly resource: ServedResource
  /** '' for cluster-scoped resources and for lists over all namespaces. */
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly query: URLSearchParams
  readonly user: UserInfo
  readonly userAgent: string
  readonly signal: AbortSignal
  /** Values of `Warning` headers, in order; handlers add to it. */
  readonly warnings: string[]
  /** The representation of the response. */
  readonly output: OutputNegotiation
  /** The object is one of a collection that is deleted. */
  readonly isCollection?: boolean
  /** The form of the object that admission receives, for subresources of another kind (Scale). */
  readonly presented?: PresentedForm
}

/** Returns the key in the store of a name in the namespace of the request. */
export function objectKey({ namespace, name: own }: RequestScope, name: string = own): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

/** Returns the scope of a request to a resource. */
export function requestScope(
  request: ServerRequest,
  info: ResourceRequestInfo,
  resource: ServedResource,
  user: UserInfo,
  output: OutputNegotiation,
  warnings: string[],
): RequestScope {
  const { version, definition } = resource
  if (version.deprecated)
    warnings.push(version.deprecationWarning ?? `${resource.apiVersion} ${definition.kind} is deprecated`)
  const agent = request.headers['user-agent']
  const contentType = request.headers['content-type']
  return {
    method: request.method,
    verb: info.verb,
    resource,
    namespace: info.namespace,
    // The deprecated `/watch/` paths carry their name in the field selector.
    name: info.isWatchPath ? '' : info.name,
    subresource: info.subresource,
    query: info.isWatchPath ? watchQuery(request.query, info.name) : request.query,
    user,
    userAgent: typeof agent === 'string' ? agent : '',
    signal: request.signal,
    warnings,
    body: request.body,
    contentType: typeof contentType === 'string' ? contentType : '',
    bodyLimit: definition.maxBodyBytes ?? maxBodyBytes,
    output,
  }
}

/** Returns the scope of a write that the server itself makes: no client, no body, no options. */
export function internalScope(
  target: Pick<RequestScope, 'resource' | 'namespace' | 'name' | 'subresource' | 'user' | 'signal'>,
): RequestScope {
  return {
    ...target,
    method: '',
    verb: '',
    query: new URLSearchParams(),
    userAgent: '',
    warnings: [],
    body: undefined,
    contentType: '',
    bodyLimit: maxBodyBytes,
    output: new OutputNegotiation({ headers: {}, query: new URLSearchParams() }, undefined),
  }
}

/** Returns the query of a deprecated `/watch/` path: its name becomes a field selector. */
function watchQuery(query: URLSearchParams, name: string): URLSearchParams {
  if (name === '') return query
  const out = new URLSearchParams(query)
  out.set('fieldSelector', `metadata.name=${name}`)
  return out
}
