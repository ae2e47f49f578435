// Handlers of resources and subresources that are not objects in the store: bindings, evictions, tokens, reviews, and
// those of resource storages.
import { formatGroupResource, resourceNotFound } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'

/** Handles every verb of one resource or subresource. */
export type ResourceHandler = (server: ServerDependencies, scope: RequestScope) => Promise<ServerResponse>

/** Handlers by `pods/eviction` or `subjectaccessreviews.authorization.k8s.io`. */
export type ResourceHandlers = Readonly<Record<string, ResourceHandler>>

/** Returns the handler of a subresource, or of a resource that is never stored; undefined for objects in the store. */
export function findHandler(
  { handlers }: ServerDependencies,
  { resource: { definition }, subresource }: RequestScope,
): ResourceHandler | undefined {
  const name = formatGroupResource(definition)
  return handlers[subresource === '' ? name : `${name}/${subresource}`]
}

/**
 * Calls the handler of a subresource.
 * @throws StatusError 404 where this server has none (exec, attach, logs without a runner)
 */
export async function connect(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  const handler = findHandler(server, scope)
  if (handler !== undefined) return handler(server, scope)
  throw resourceNotFound()
}
