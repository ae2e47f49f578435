// `pods/exec`, `attach`, `portforward` and `proxy`: connections into containers, which need a kubelet.
import { badRequest, failure } from '@fairlead/kube'
import type { ResourceHandler } from '../resource-handlers.ts'
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
