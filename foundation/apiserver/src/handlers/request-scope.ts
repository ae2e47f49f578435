// RequestScope: one request to a resource after routing and authorization. Every handler reads it; nothing in it is
// parsed a second time.
import type { JsonObject, KubeObject, UserInfo } from '@fairlead/kube'
import { maxBodyBytes } from '../http/request-body.ts'
import type { ServedResource } from '../registry/registry.ts'
import type { RequestBody } from '../request/body-decoder.ts'
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
