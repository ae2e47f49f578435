// `pods/exec`, `attach`, `portforward` and `proxy` of pods, services and nodes: connections to what a kubelet runs.
import { resourceName } from '@fairlead/builtin-kinds'
import { badRequest, failure, goQuote, notFound } from '@fairlead/kube'
import type { ResourceHandler } from '../resource-handlers.ts'
import { objectKey } from '../request-scope.ts'
import { nodeOf, readPod } from './pod.ts'

/** Refuses every connection. @throws StatusError 400 for a pod without a node, 501 */
export const refuseConnection: ResourceHandler = async (server, scope) => {
  const pod = await readPod(server, scope)
  if (nodeOf(pod) === '') throw badRequest(`pod ${scope.name} does not have a host assigned`)
  throw failure(
    501,
    'NotImplemented',
    `this server has no kubelets: ${scope.subresource} into containers is not possible`,
  )
}

/** Refuses the proxy of a service or node. @throws StatusError 404, 501 for a node, 503 for a service */
export const refuseProxy: ResourceHandler = async ({ store }, scope) => {
  const { definition } = scope.resource
  // The name may have a scheme and a port beside it: `https:name:port`.
  const [first = '', second] = scope.name.split(':')
  const name = second ?? first
  if ((await store.get(resourceName(definition), objectKey(scope, name), undefined, scope.signal)) === undefined)
    throw notFound(definition, name)
  if (definition.plural === 'services')
    throw failure(503, 'ServiceUnavailable', `no endpoints available for service ${goQuote(scope.name)}`)
  throw failure(501, 'NotImplemented', 'this server has no kubelets: a proxy to nodes is not possible')
}
