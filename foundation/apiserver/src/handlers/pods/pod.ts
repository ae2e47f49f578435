// Pods as their subresources read and change them.
import { resourceName } from '@fairlead/builtin-kinds'
import { isJsonObject, notFound } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { objectKey } from '../request-scope.ts'
import type { RequestScope } from '../request-scope.ts'
import type { ServerDependencies } from '../server-dependencies.ts'

/** Returns the pod of the request. @throws StatusError 404 */
export async function readPod({ store, views }: ServerDependencies, scope: RequestScope): Promise<KubeObject> {
  const { definition } = scope.resource
  const entry = await store.get(resourceName(definition), objectKey(scope))
  if (entry === undefined) throw notFound(definition, scope.name)
  return (await views.of(entry, scope.resource)).object
}

/** Returns the node of a pod, '' before it is bound. */
export function nodeOf(pod: KubeObject): string {
  return (pod['spec'] as { nodeName?: string } | undefined)?.nodeName ?? ''
}

/** Sets a condition of a pod, in place; its transition time changes with its status only. */
export function setPodCondition(pod: { [field: string]: JsonValue }, next: JsonObject, now: string): void {
  const status = isJsonObject(pod['status']) ? pod['status'] : {}
  const conditions = (status['conditions'] ?? []) as readonly JsonObject[]
  const old = conditions.find((item) => item['type'] === next['type'])
  const placed = {
    ...next,
    lastProbeTime: null,
    lastTransitionTime: old?.['status'] === next['status'] ? (old?.['lastTransitionTime'] ?? now) : now,
  }
  pod['status'] = {
    ...status,
    conditions: old === undefined ? [...conditions, placed] : conditions.map((item) => (item === old ? placed : item)),
  }
}
