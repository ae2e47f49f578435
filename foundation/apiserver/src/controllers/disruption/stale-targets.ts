// Takes back the condition DisruptionTarget of Pods that were to be disrupted and are still not terminating, as the
// disruption controller of Kubernetes does.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { Informer, Result } from '@fairlead/controller'
import { formatKey, formatTime, isTerminating, keyOf } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { controllerManager, enqueueOn } from '../controller-context.ts'
import type { ControllerContext } from '../controller-context.ts'

/** Time in which a Pod that is to be disrupted must be terminating. Milliseconds. */
const staleAfter = 120_000

/** A Pod, as far as its disruption goes. */
interface TargetedPod extends KubeObject {
  readonly status?: { readonly phase?: string; readonly conditions?: readonly JsonObject[] }
}

const Pod: Kind<TargetedPod> = kind('v1', 'Pod', { plural: 'pods', namespaced: true })

/** Sets up the controller. */
export function setUpStaleDisruptionTargets(context: ControllerContext): void {
  const loop = context.manager.loop<string>({
    name: 'stale-disruption-target',
    id: (key) => key,
    manager: controllerManager,
    run: async (key, { client, clock }): Promise<Result> => {
      const pod = pods.lastKnown.get(key)
      const target = pod && targetOf(pod)
      if (target === undefined) return undefined
      const staleAt = Date.parse(String(target['lastTransitionTime'] ?? '')) + staleAfter
      if (staleAt > clock.now()) return after(new Date(staleAt))
      const { generation } = pod!.metadata
      const withdrawn: JsonObject = {
        type: 'DisruptionTarget',
        status: 'False',
        ...(generation === undefined ? {} : { observedGeneration: generation }),
        lastProbeTime: null,
        lastTransitionTime: formatTime(clock.now()),
      }
      const conditions = pod!.status!.conditions!.map((found) => (found === target ? withdrawn : found))
      await client.update({ ...pod!, status: { ...pod!.status, conditions } }, { subresource: 'status' })
      return undefined
    },
    logFields: (key) => ({ pod: key }),
  })
  const pods: Informer<TargetedPod> = enqueueOn(context, loop, Pod, ({ type, object }) =>
    type !== 'removed' && targetOf(object) !== undefined ? [formatKey(keyOf(object))] : [],
  )
}

/**
 * Returns the condition that says that a Pod is to be disrupted, where the Pod should be terminating soon: not when it
 * has ended, nor when its kubelet set it, which may take long.
 */
function targetOf(pod: TargetedPod): JsonObject | undefined {
  const { phase = '', conditions = [] } = pod.status ?? {}
  if (isTerminating(pod) || phase === 'Succeeded' || phase === 'Failed') return undefined
  return conditions.find(
    ({ type, status, reason }) => type === 'DisruptionTarget' && status === 'True' && reason !== 'TerminationByKubelet',
  )
}
