// The admission plugin RuntimeClass: the overhead and scheduling of a pod's class.
import type { JsonObject, MutableJsonObject } from '@fairlead/kube'
import { forbidden, jsonEqual, marshalGoJson } from '@fairlead/kube'
import type { WriteContext } from '../definition/strategy.ts'
import { has, mapAt, objectAt, objectsAt, stringAt } from '../fields.ts'

/**
 * Adds overhead, node selector and tolerations of the class.
 * @throws StatusError 403 when the class does not exist, or pod and class conflict
 */
export function applyRuntimeClass(spec: MutableJsonObject, pod: JsonObject, context: WriteContext): void {
  const name = stringAt(spec, 'runtimeClassName')
  const refuse = (why: string): never => {
    throw forbidden({ group: '', plural: 'pods' }, stringAt(pod, 'metadata', 'name'), why)
  }
  const found = name === '' ? undefined : context.read('runtimeclasses.node.k8s.io', name)
  if (name !== '' && found === undefined) refuse(`pod rejected: RuntimeClass "${name}" not found`)
  const overhead = objectAt(found, 'overhead', 'podFixed')
  if (has(objectAt(found), 'overhead')) {
    if (has(spec, 'overhead') && !jsonEqual(spec['overhead'] ?? null, overhead))
      refuse("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    spec['overhead'] = { ...overhead }
  } else if (has(spec, 'overhead'))
    refuse('pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead')
  const selector = mapAt(found, 'scheduling', 'nodeSelector')
  const own = mapAt(spec, 'nodeSelector')
  for (const [key, value] of Object.entries(selector))
    if (own[key] !== undefined && own[key] !== value)
      refuse(
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own[key]}`,
      )
  if (Object.keys(selector).length > 0) spec['nodeSelector'] = { ...own, ...selector }
  const tolerations = objectsAt(spec, 'tolerations')
  const present = new Set(tolerations.map((toleration) => marshalGoJson(toleration)))
  const added = objectsAt(found, 'scheduling', 'tolerations').filter(
    (toleration) => !present.has(marshalGoJson(toleration)),
  )
  if (added.length > 0) spec['tolerations'] = [...tolerations, ...added]
}
