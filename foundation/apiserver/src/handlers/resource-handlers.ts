// Subresources that are not the object itself: bindings, evictions, tokens, approvals. Each is an endpoint of its own that the server was given.
import { formatGroupResource, resourceNotFound } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import type { Environment, ResourceCall } from './server-dependencies.ts'
import type { Exchange } from './exchange.ts'

/** Answers one subresource of one resource, all verbs. */
export type SubresourceEndpoint = (
  environment: Environment,
  exchange: Exchange,
  verb: string,
) => Promise<ServerResponse>

/** `pods/eviction` -> endpoint; extended by the server's parts that serve them. */
export type SubresourceEndpoints = Readonly<Record<string, SubresourceEndpoint>>

/** The endpoint of a subresource, or of a resource that is answered and never stored (`subjectaccessreviews.authorization.k8s.io`). */
export function endpointOf(
  environment: Environment,
  { resource: { definition }, subresource }: ResourceCall,
): SubresourceEndpoint | undefined {
  const name = formatGroupResource(definition)
  return environment.subresources[subresource === '' ? name : `${name}/${subresource}`]
}

/**
 * Answers a subresource by its endpoint.
 * @throws StatusError 404 where nothing in this server can serve it (exec, attach, logs without a runner)
 */
export async function connectEndpoint(
  environment: Environment,
  exchange: Exchange,
  verb: string,
): Promise<ServerResponse> {
  const endpoint = endpointOf(environment, exchange.call)
  if (endpoint !== undefined) return endpoint(environment, exchange, verb)
  throw resourceNotFound()
}
